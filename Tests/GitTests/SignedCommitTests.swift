import Git
import Glibc
import SystemPackage
import Testing

@Suite struct SignedCommitTests {
    @Test func gpgVerifiesASignedCommit() throws {
        let work = try TestRepository()
        let folder = work.folder
        let home = folder.path.appending("gnupg")
        mkdir(home.string, 0o700)
        defer { _ = try? folder.run(["gpgconf", "--homedir", home.string, "--kill", "all"]) }
        let made = try folder.run([
            "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "someone@example.org",
            "ed25519",
            "sign", "never",
        ])
        #expect(made.status == 0, "\(made.error)")
        let repository = try work.open()
        try work.write("a", "one")
        func commit(_ parent: ObjectID?, _ message: String, sign: @escaping ([UInt8]) throws -> [UInt8])
            throws
        {
            let (tree, changes) = try repository.preparedTree(parent: parent, paths: ["a"])
            try repository.updateIndex(paths: changes.map(\.path), to: tree)
            try repository.commit(
                tree: tree, parent: parent, message: message, author: someone, committer: someone,
                onto: "refs/heads/main", sign: sign)
        }
        let gpg = { (content: [UInt8]) in
            try folder.run(
                ["gpg", "--batch", "--armor", "--detach-sign", "-u", "someone@example.org"], input: content
            ).output
        }
        try commit(nil, "Signed\n\nÄ body.\n", sign: gpg)
        try work.write("a", "two")
        try commit(try repository.tip(), "Signed again", sign: gpg)
        let shown = try folder.run(["git", "log", "--format=%G? %GK %s"], in: work.path)
        let lines = shown.text.split(separator: "\n")
        #expect(
            lines.count == 2 && lines.allSatisfy { $0.hasPrefix("U ") || $0.hasPrefix("G ") }, "\(shown.text)"
        )
        try work.git("verify-commit", "HEAD", "HEAD^")
        #expect(
            try work.git("cat-file", "commit", "HEAD").contains("\ngpgsig -----BEGIN PGP SIGNATURE-----\n "))
        #expect(try work.git("fsck", "--strict", "--no-dangling") == "")
        #expect(try work.status == "")
        // A signer that fails moves nothing.
        let tip = try repository.tip()
        try work.write("a", "three")
        let error = expectGitError(.other) {
            try commit(tip, "Unsigned") { _ in throw Errno.permissionDenied }
        }
        #expect(error?.message.hasPrefix("cannot sign the commit: ") == true)
        #expect(try repository.tip() == tip)
    }
}
