import CGPGME

/// What gpgme tells of a key, as values.
extension Key {
    /// nil for a key without a version 4 fingerprint.
    init?(_ pointer: UnsafeMutablePointer<_gpgme_key>) {
        let key = pointer.pointee
        var subkeys: [Subkey] = []
        var nextSubkey = key.subkeys
        while let subkey = nextSubkey {
            if let listed = Subkey(subkey.pointee) { subkeys.append(listed) }
            nextSubkey = subkey.pointee.next
        }
        var userIDs: [UserID] = []
        var nextUserID = key.uids
        while let userID = nextUserID {
            userIDs.append(UserID(userID.pointee))
            nextUserID = userID.pointee.next
        }
        guard let primary = subkeys.first, primary.fingerprint.description == string(key.fpr) else {
            return nil
        }
        self.init(
            fingerprint: primary.fingerprint, userIDs: userIDs, isRevoked: key.revoked != 0,
            isExpired: key.expired != 0, isDisabled: key.disabled != 0, isInvalid: key.invalid != 0,
            canEncrypt: key.can_encrypt != 0, hasSecret: subkeys.contains(where: \.hasSecret),
            created: primary.created, expires: primary.expires, subkeys: subkeys)
    }
}

extension Subkey {
    fileprivate init?(_ subkey: _gpgme_subkey) {
        guard let fingerprint = Fingerprint(string(subkey.fpr)) else { return nil }
        self.init(
            fingerprint: fingerprint, keyID: fingerprint.keyID, canEncrypt: subkey.can_encrypt != 0,
            isRevoked: subkey.revoked != 0,
            isInvalid: subkey.invalid != 0, created: Int64(subkey.timestamp),
            expires: subkey.expires > 0 ? Int64(subkey.expires) : nil, hasSecret: subkey.secret != 0,
            keygrip: string(subkey.keygrip))
    }
}

extension UserID {
    fileprivate init(_ userID: _gpgme_user_id) {
        // `address` is the normalised address and also set where the whole user id is an address.
        let address = string(userID.address)
        self.init(
            text: string(userID.uid), name: string(userID.name),
            email: address.isEmpty ? string(userID.email) : address,
            isRevoked: userID.revoked != 0, isInvalid: userID.invalid != 0, validity: Trust(userID.validity))
    }
}

extension Trust {
    fileprivate init(_ validity: gpgme_validity_t) {
        self = Trust(rawValue: Int(validity.rawValue)) ?? .unknown
    }
}

private func string(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
}
