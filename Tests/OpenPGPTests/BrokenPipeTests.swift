import Glibc
import System
import Testing

@testable import OpenPGP

/// gpgme writes to a gpg that may have ended, and asks the program to live on.
@Suite struct BrokenPipeTests {
    @Test func aWriteToAProgramThatEndedIsAnError() throws {
        _ = try Keys.shared.get().home.engine
        let (reading, writing) = try Pipe().release()
        defer { close(writing) }
        close(reading)
        var byte: UInt8 = 0
        #expect(write(writing, &byte, 1) == -1 && errno == EPIPE)
    }

    /// Nothing of it is handed on to programs that are started.
    @Test func programsAreStillEndedByIt() throws {
        _ = try Keys.shared.get().home.engine
        let ended = try Program.run("sh", ["-c", "kill -PIPE $$; echo alive"])
        #expect(ended.status == 128 + SIGPIPE && ended.output.isEmpty)
    }
}
