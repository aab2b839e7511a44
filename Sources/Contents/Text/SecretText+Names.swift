extension SecretText {
    /// The field of a name: the first that is written just so, else the first that is when upper and lower case of ASCII are one.
    public func field(named name: String) -> Field? {
        fields.first { $0.name == name } ?? fields.first { $0.name.equalsIgnoringCase(name) }
    }

    /// The field that holds the user name, by the names that browserpass looks for: the first of `login`, `username`, `user` and
    /// `email` that there is. Without one, browserpass takes the name of the file, which is the caller's to know.
    public var userName: Field? { firstField(of: ["login", "username", "user", "email"]) }

    /// The field that holds the address where the secret is used, by the names that browserpass looks for: the first of `url`, `uri`
    /// and `website` that there is.
    public var webAddress: Field? { firstField(of: ["url", "uri", "website"]) }

    private func firstField(of names: [String]) -> Field? {
        for name in names {
            if let field = field(named: name) { return field }
        }
        return nil
    }
}

extension String {
    /// Whether two names are one when upper and lower case of ASCII are.
    func equalsIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
    }
}
