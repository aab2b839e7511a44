import Daemon
import Glibc
import SystemPackage
import TestKit
import Testing

/// Starting the daemon, with sh in its place.
@Suite struct DetachedTests {
    private func start(
        _ script: String, in home: TestHome, limit: Duration = .seconds(20)
    ) throws(Detached.Failure) -> Int32 {
        try Detached.start(
            arguments: ["-c", script, "sh"], environment: home.environment, logFile: home.path("log"),
            limit: limit, executable: "/bin/sh")
    }

    @Test func returnsWhenTheDaemonIsReady() throws {
        try TestHome.with { home in
            let pid = try start("echo $1 $2 >> ~/arguments; echo ready >&3; exec sleep 60", in: home)
            defer {
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
            }
            #expect(try home.text(of: "arguments") == "--ready-fd 3\n")
            #expect(getsid(pid) == pid)
        }
    }

    @Test func outputGoesToTheLog() throws {
        try TestHome.with { home in
            let script = "cat; echo out; echo err >&2; echo 'no store is there' >&3"
            let error = #expect(throws: Detached.Failure.self) { try start(script, in: home) }
            #expect(error?.code == .reported)
            #expect(error?.message == "no store is there")
            #expect(try home.text(of: "log") == "out\nerr\n")
            var facts = stat()
            try #require(stat(home.path("log").string, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o600)
        }
    }

    /// Who tries again at once does not meet the one that has just said no.
    @Test func aRefusalIsToldWhenTheDaemonHasEnded() throws {
        try TestHome.with { home in
            let script = "echo $$ >~/pid; echo no >&3; exec 3>&-; sleep 0.5; touch ~/ended"
            let error = #expect(throws: Detached.Failure.self) { try start(script, in: home) }
            #expect(error?.message == "no")
            #expect(access(home.path("ended").string, F_OK) == 0)
        }
    }

    @Test(arguments: [
        ("exit 7", "exit status 7"), ("kill -KILL $$", "signal 9"),
        ("printf rea >&3; kill -TERM $$", "signal 15"),
    ])
    func aDeathIsToldAtOnce(_ script: String, _ reason: String) throws {
        try TestHome.with { home in
            let error = #expect(throws: Detached.Failure.self) {
                try start(script, in: home)
            }
            #expect(error?.code == .died)
            #expect(error?.message.contains(reason) == true)
        }
    }

    @Test func aStartThatTakesTooLongIsEnded() throws {
        try TestHome.with { home in
            let error = #expect(throws: Detached.Failure.self) {
                try start("echo $$ > ~/pid; exec sleep 60", in: home, limit: .milliseconds(500))
            }
            #expect(error?.code == .timedOut)
            let pid = try #require(pid_t(home.text(of: "pid").dropLast()))
            #expect(kill(pid, 0) != 0)
        }
    }

    @Test func aProgramThatIsNotThereIsToldAtOnce() throws {
        try TestHome.with { home in
            let error = #expect(throws: Detached.Failure.self) {
                try Detached.start(
                    arguments: [], environment: [:], logFile: home.path("log"), executable: "/nonexistent")
            }
            #expect(error?.code == .notStarted)
        }
    }
}
