import Glibc
public import SystemPackage

/// What a secret's name ends with on disk: `.gpg`.
extension FilePath.Component {
    /// The bytes of `.gpg`.
    public static let secretSuffix = Array(".gpg".utf8)

    /// How many bytes the name has.
    public var byteCount: Int { withPlatformString { string in strlen(string) } }

    /// The bytes of the name.
    public var bytes: [UInt8] {
        withPlatformString { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }

    /// A name of these bytes; nil when they cannot be one.
    public init?(bytes: some Sequence<UInt8>) {
        self.init(platformString: bytes.map { CChar(bitPattern: $0) } + [0])
    }

    /// The name with `.gpg` behind it.
    public func appendingSuffix() -> FilePath.Component {
        FilePath.Component(bytes: bytes + Self.secretSuffix)!
    }

    /// The name without `.gpg`; nil when it does not end so, or no name would be left.
    public func strippingSuffix() -> FilePath.Component? {
        let bytes = bytes
        guard bytes.count > Self.secretSuffix.count, bytes.suffix(4).elementsEqual(Self.secretSuffix) else {
            return nil
        }
        let bare = FilePath.Component(bytes: bytes.dropLast(Self.secretSuffix.count))
        return bare?.kind == .regular ? bare : nil
    }
}

extension FilePath {
    /// Whether the last component ends with `.gpg` and has a name before it, as that of a secret on disk.
    public var isSecretName: Bool { lastComponent?.strippingSuffix() != nil }

    /// Whether passdir commits a regular file of that name: a secret, or a list of recipients. Other files are the user's.
    public var isCommitted: Bool { isSecretName || lastComponent == Store.recipientFileName }

    /// The path without the `.gpg` of a secret: how pass and its commit messages name it.
    public var withoutSuffix: FilePath {
        guard let bare = lastComponent?.strippingSuffix() else { return self }
        return removingLastComponent().appending(bare)
    }
}
