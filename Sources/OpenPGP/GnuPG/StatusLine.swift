/// One line that gpg wrote to its status descriptor (GnuPG's doc/DETAILS).
struct StatusLine {
    let keyword: String
    let arguments: [Substring]

    /// Whether gpg-agent has opened a prompt; the first argument is its process.
    var isPrompt: Bool { keyword == "PINENTRY_LAUNCHED" }

    init(keyword: String, arguments: String) {
        self.keyword = keyword
        self.arguments = arguments.split(separator: " ")
    }
}

extension [StatusLine] {
    /// More than gpg has to say about any message that is looked at.
    static let maximalCount = 10_000

    func contains(_ keyword: String) -> Bool { contains { $0.keyword == keyword } }

    /// The error codes (libgpg-error, with their source) of lines that begin so.
    func codes(_ keyword: String, _ location: String) -> [UInt32] {
        filter { $0.keyword == keyword && $0.arguments.first.map { $0 == location } == true }
            .compactMap { $0.arguments.dropFirst().first.flatMap { UInt32($0) } }
    }
}

/// Makes lines of what gpg writes to its status descriptor.
struct StatusReader {
    /// Longer lines are cut: none that counts is.
    private static let maximalLength = 4096
    private static let prefix = Array("[GNUPG:] ".utf8)
    private(set) var status: [StatusLine] = []
    private var line: [UInt8] = []

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                end()
            } else if line.count < Self.maximalLength {
                line.append(byte)
            }
        }
    }

    private mutating func end() {
        defer { line.removeAll(keepingCapacity: true) }
        guard line.starts(with: Self.prefix), status.count < [StatusLine].maximalCount else { return }
        let rest = line.dropFirst(Self.prefix.count)
        let keyword = String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        guard !keyword.isEmpty else { return }
        // The name of the plaintext file could be a secret's name.
        let isTold = keyword != "PLAINTEXT"
        let arguments = isTold ? String(decoding: rest.dropFirst(keyword.utf8.count + 1), as: UTF8.self) : ""
        status.append(StatusLine(keyword: keyword, arguments: arguments))
    }
}
