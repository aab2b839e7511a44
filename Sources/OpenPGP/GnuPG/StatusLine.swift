/// One line that gpg wrote to its status descriptor (GnuPG's doc/DETAILS).
struct StatusLine {
    let keyword: String
    let arguments: [Substring]

    init(keyword: String, arguments: String) {
        self.keyword = keyword
        self.arguments = arguments.split(separator: " ")
    }
}

extension [StatusLine] {
    func contains(_ keyword: String) -> Bool { contains { $0.keyword == keyword } }

    /// The error codes (libgpg-error, without the source) that gpg gave for failed private key operations.
    var decryptionFailures: [UInt32] {
        filter { $0.keyword == "ERROR" && $0.arguments.first == "pkdecrypt_failed" }
            .compactMap { $0.arguments.dropFirst().first.flatMap { UInt32($0) } }
    }
}
