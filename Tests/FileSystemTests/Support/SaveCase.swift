import SystemPackage
import TestKit
import Testing

/// One save by one program: what the files are before and after, and what history says of it.
struct SaveCase: Sendable, CustomTestStringConvertible {
    /// Which program, and how.
    var name: String
    /// A script that saves, run in the folder `e` of the mount, which holds the secret `f`.
    var script: String
    /// What `f` holds afterwards, with the marker before it; nil when it is gone.
    var after: String?
    /// What another file holds then, named and with the marker before its content.
    var other: (name: String, content: String)?
    /// The subjects of the commits.
    var subjects: [String]

    init(
        _ name: String, _ script: String, after: String? = "uno\ntwo\n",
        other: (name: String, content: String)? = nil,
        subjects: [String] = ["Edit password for e/f using passdir."]
    ) {
        self.name = name
        self.script = script
        self.after = after
        self.other = other
        self.subjects = subjects
    }

    var testDescription: String { name }
}

extension Mounted {
    /// `e/f` holds two lines, is committed, and nothing else is in the folder.
    func prepare() throws -> String {
        try bash("mkdir -p e; cd e; find . -mindepth 1 -not -name f -delete; rm -rf \"$D\"/* \"$D\"/.??*")
        try save("\(marker) one\ntwo\n", to: "e/f")
        try waitUntilCommitted()
        return try head()
    }

    /// Bytes in the mount and by pass, and the subjects of the commits.
    func check(_ save: SaveCase, since commit: String) throws {
        for (name, content) in [
            ("e/f", save.after), save.other.map { ("e/\($0.name)", Optional($0.content)) },
        ]
        .compactMap(\.self) {
            let wanted = content.map { "\(marker) \($0)" }
            #expect((try? read(name)) == wanted, "\(save.name): \(name) in the mount")
            #expect((try? show(name)) == wanted, "\(save.name): \(name) by pass")
        }
        try waitUntilCommitted()
        let subjects = try subjects(since: commit)
        #expect(subjects == save.subjects, "\(save.name)")
        #expect(try store.git("status", "--porcelain") == "", "\(save.name)")
        let wanted = (save.after == nil ? [] : ["e/f.gpg"]) + (save.other.map { ["e/\($0.name).gpg"] } ?? [])
        #expect(try backingFiles() == wanted.sorted(), "\(save.name)")
    }

    /// Runs the save of a program and checks everything about it.
    func check(_ save: SaveCase) throws {
        let commit = try prepare()
        let result = try run("cd e; \(save.script)")
        #expect(result.exitCode == 0, "\(save.name): \(result.errors)\(result.output)")
        try check(save, since: commit)
    }

    /// After all saves: no other name in history, no plaintext anywhere.
    func checkNothingElse(names: Set<String> = ["e/f.gpg"]) throws {
        #expect(try namesInHistory() == names)
        #expect(try plaintext() == [])
        try store.git("fsck", "--strict", "--full")
    }
}
