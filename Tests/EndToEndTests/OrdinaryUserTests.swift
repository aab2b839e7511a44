import Glibc
import SystemPackage
import TestKit
import Testing

/// The way through the product as a user who is not root, with fusermount3 and without rights on anything else.
///
/// Where the tests run as an ordinary user, all the others show it too.
@Suite struct OrdinaryUserTests {
    /// nobody's user and group, with nothing of root's.
    private static let become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    /// Holds:
    /// - A mount that a crash has left stale is mended by the next mount, for root and for ordinary users.
    /// - The daemon makes no core dump, and programs of the same user cannot trace it.
    @Test func anOrdinaryUserMountsReadsSavesAndUnmounts() throws {
        try TestHome.guarded { home in
            let isRoot = geteuid() == 0
            let user = isRoot ? Self.become : []
            let device = try isRoot ? DeviceAccess() : nil
            defer { device?.restore() }
            if isRoot {
                try home.succeed(["chown", "-R", "65534:65534", home.folder.string])
                guard try home.run(user + ["passdir", "--version"], in: "/").exitCode == 0 else {
                    print("not run: another user cannot run passdir where it was built")
                    return
                }
            }
            let script = """
                set -e
                gpg --batch -q --pinentry-mode loopback --passphrase '' \
                    --quick-gen-key 'u <u@example.org>' future-default default never 2>/dev/null
                export PASSWORD_STORE_DIR=$HOME/work
                pass init u@example.org; pass git init; git init -q --bare work.git
                git -C work remote add origin $HOME/work.git; git -C work push -q -u origin main
                echo imap | pass insert --multiline mail/imap; git -C work push -q
                passdir store add work --path ~/work
                passdir mount ~/mnt
                ls -lR ~/mnt
                test "$(cat ~/mnt/work/mail/imap)" = imap
                echo smtp > ~/mnt/work/mail/smtp; test "$(pass show mail/smtp)" = smtp
                mkdir ~/mnt/work/web; cp ~/mnt/work/mail/smtp ~/mnt/work/web/site
                mv ~/mnt/work/web/site ~/mnt/work/web/page; rm ~/mnt/work/mail/imap
                sed -i s/smtp/SMTP/ ~/mnt/work/web/page; test "$(pass show web/page)" = SMTP
                test "$(stat -c %U:%a ~/mnt/work/web/page)" = "$(id -un):600"
                passdir status
                # No other program of the same user reads the daemon's memory, or what it was started with.
                pid=$(passdir status --json | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                for file in environ mem maps; do
                    if head -c 1 /proc/$pid/$file >/dev/null 2>&1; then echo "$file of the daemon can be read"; exit 9; fi
                done
                # A crash and a stale mount are mended by an ordinary user, too.
                kill -9 $(passdir status --json | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
                while passdir status >/dev/null 2>&1; do :; done
                passdir mount ~/mnt; test "$(cat ~/mnt/work/web/page)" = SMTP
                passdir unmount
                test -z "$(git -C work status --porcelain)"; git -C work fsck
                test $(git -C work rev-parse main) = $(git -C work.git rev-parse main)
                """
            let result = try home.run(user + ["bash", "-c", script], limit: .seconds(120))
            #expect(result.exitCode == 0, "\(result.output)\n\(result.errors)")
            // Ends as its user: root's gpgconf would not find its agent.
            try home.succeed(user + ["gpgconf", "--kill", "all"])
        }
    }
}

/// Lets everybody use /dev/fuse for as long as a test needs it; on most systems everybody may.
private struct DeviceAccess {
    private static let path = "/dev/fuse"
    private let mode: mode_t

    init() throws {
        var facts = stat()
        guard stat(Self.path, &facts) == 0, chmod(Self.path, facts.st_mode | 0o666) == 0 else {
            throw Errno(rawValue: errno)
        }
        mode = facts.st_mode
    }

    func restore() { _ = chmod(Self.path, mode & 0o7777) }
}
