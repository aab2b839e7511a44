import Git
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Forms of git's index that libgit2 does not read.
@Suite struct IndexFormatTests {
    enum Form: String, CaseIterable, Sendable {
        case split = "git update-index --split-index"
        case sparse =
            "git sparse-checkout set --cone --sparse-index mail"
        case unknown = """
            python3 - <<'.'
            import hashlib
            index = open('.git/index', 'rb').read()[:-20] + b'abcd' + bytes(4)
            open('.git/index', 'wb').write(index + hashlib.sha1(index).digest())
            .
            """

        var advice: String {
            switch self {
            case .split: "git update-index --no-split-index"
            case .sparse: "git sparse-checkout reapply --no-sparse-index"
            case .unknown: "rm .git/index && git reset"
            }
        }
    }

    @Test(arguments: sampled(Form.allCases)) func whatIsSaidOfAnUnreadableIndexHelps(_ form: Form)
        async throws
    {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for name in ["mail/imap", "other/deep", "top"] { try machine.save(name, "1\n") }
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["bash", "-c", form.rawValue], in: machine.path)
            try machine.save("mail/imap", "2\n")
            let complaint = await machine.committer.synchronizeNow() ?? "in step"
            #expect(complaint.contains(form.advice), "\(complaint)")
            #expect(machine.committer.status.lastError?.contains(form.advice) == true)
            let next = try Machine(home, machine.path)
            await next.committer.start()
            #expect(next.committer.status.lastError?.contains(form.advice) == true)
            try home.succeed(["bash", "-c", form.advice], in: machine.path)
            let after = await machine.committer.synchronizeNow()
            #expect(after == nil, "\(after ?? "")")
            #expect(try machine.dirt == "")
            #expect(try machine.read("mail/imap") == "2\n")
            #expect(
                try machine.git("-C", home.path("m0.git").string, "rev-parse", "main")
                    == machine.git("rev-parse", "main"))
            #expect(try machine.git("ls-tree", "HEAD", "other/deep.gpg") != "")
        }
    }
}
