import Glibc
import SystemPackage
import TestKit
import Testing

/// A store on a disk that does not answer: bindfs shows its folder, and is stopped.
@Suite struct HungDiskTests {
    /// Looks for a file in the folder in which it was started, once it is told to.
    private static let looker = """
        : > "$1.started"
        while [ ! -e "$2" ]; do sleep 0.05; done
        : > "$1.looking"
        [ ! -e nothing ]
        """

    /// Many more than the mount has receivers, each in a folder of its own: the kernel looks up one name of a folder at a
    /// time.
    private static let lookers = 32

    /// Mounts two stores, `hung` and `other`, and runs `body` while the disk of `hung` does not answer and programs wait
    /// for it.
    private func withHungDisk(_ body: (TestHome) throws -> Void) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let hung = try home.makeStore("hung", recipients: [key])
            let other = try home.makeStore("other", recipients: [key])
            try other.insert("one", "first\n")
            let folder = home.path("disk")
            try home.succeed(["mkdir", folder.string])
            try home.succeed(["mkdir"] + (0..<Self.lookers).map { "hung/\($0)" })
            let disk = try home.start(["bindfs", "-f", hung.path.string, folder.string])
            // What a stopped process serves can neither be read nor unmounted.
            defer { disk.signal(SIGCONT) }
            try home.waitUntil("the disk is mounted") { home.mountPoints().contains(folder.string) }
            try home.succeed(["passdir", "store", "add", "hung", "--path", folder.string])
            try home.addStores([other])
            try home.mount()
            // What is done in the background after a mount.
            try home.succeed(["passdir", "sync"])
            try home.succeed(["passdir", "status"])

            let marks = (0..<Self.lookers).map { home.path("looker\($0)").string }
            let waiting = try (0..<Self.lookers).map { number in
                try home.start(
                    ["sh", "-c", Self.looker, "sh", marks[number], home.path("go").string],
                    in: home.mountPoint.pushing(FilePath("hung/\(number)")))
            }
            try home.waitUntil("the programs have started") {
                marks.allSatisfy { access($0 + ".started", F_OK) == 0 }
            }
            disk.signal(SIGSTOP)
            try home.write("", to: "go")
            try home.waitUntil("the programs look") {
                marks.allSatisfy { access($0 + ".looking", F_OK) == 0 }
            }
            for program in waiting { try home.waitUntilBlocked(program) }
            try body(home)
            for program in waiting { #expect(!program.hasEnded) }

            disk.signal(SIGCONT)
            for program in waiting { #expect(try program.wait().exitCode == 0) }
            try home.unmount()
            try home.succeed(["fusermount3", "-u", folder.string])
            #expect(try disk.wait(limit: .seconds(20)).exitCode == 0)
        }
    }

    @Test func aDiskThatDoesNotAnswerHoldsNobodyElseUp() throws {
        try withHungDisk { home in
            try home.workEveryday(in: "other", during: "disk")
        }
    }

    /// It says which store cannot be looked at and how that store was before, and of the other what there is to say.
    @Test func statusDoesNotWaitForADiskThatDoesNotAnswer() throws {
        try withHungDisk { home in
            let first = try status(home)
            #expect(first.contains("its disk has not responded yet; this report is"))
            #expect(first.contains("main"), "the branch is known from before: \(first)")
            try home.waitUntil("the disk counts as one that does not answer") {
                try status(home).contains(
                    "its disk is not responding: reads and saves wait until it does")
            }
        }
    }

    private func status(_ home: TestHome) throws -> String {
        let text = String(
            decoding: try home.succeed(["passdir", "status"], limit: .seconds(30)), as: UTF8.self)
        #expect(text.contains("hung") && text.contains("other"))
        return text
    }
}
