import Dispatch
import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Daemon

@Suite struct ControlServerTests {
    /// Runs a test with a server in a home of its own.
    private func serving(
        _ service: ChosenService = ChosenService(), _ body: (FilePath, ControlServer) throws -> Void
    ) throws {
        try TestHome.with { home in
            let socket = home.path("run/passdir/control")
            let server = try ControlServer(socket: socket, service: service)
            try server.start()
            defer { server.stop() }
            try body(socket, server)
        }
    }

    @Test func statusComesBackAsItIs() throws {
        try serving { socket, _ throws in
            #expect(try ControlClient(socket: socket).status() == .sample)
        }
    }

    /// An upgrade replaces the command at once, and the daemon at the next mount.
    @Test(arguments: [Version.number, "0.0.9", nil]) func statusTellsTheDaemonsVersion(_ version: String?)
        throws
    {
        try TestHome.with { home in
            let mount = MountReport(
                path: home.mountPoint.string, pid: 1, version: version, since: Timestamp(seconds: 0))
            let server = try ControlServer(
                socket: Daemon.controlSocket(environment: home.environment),
                service: ChosenService(report: StatusReport(mount: mount, stores: [])))
            try server.start()
            defer { server.stop() }
            let text = String(decoding: try home.succeed(["passdir", "status"]), as: UTF8.self)
            let line = "version  \(version ?? "unknown")"
            if version == Version.number {
                #expect(text.contains(line + "\n"))
            } else {
                #expect(text.contains(line + ", while this command is \(Version.number): "))
            }
        }
    }

    @Test func unmountHandsOverTheFlag() throws {
        let service = ChosenService()
        try serving(service) { socket, _ throws in
            let client = ControlClient(socket: socket)
            try client.unmount(discardUnsaved: true)
            try client.unmount(discardUnsaved: false)
            #expect(service.unmounts == [true, false])
        }
    }

    @Test(arguments: [
        ControlError(.busy, "file x is open"), ControlError.unsaved(["work/a", "work/b"]),
        ControlError(.failed, "no"),
    ])
    func unmountErrorsComeBack(_ error: ControlError) throws {
        try serving(ChosenService(failure: error)) { socket, _ throws in
            let thrown = #expect(throws: ControlError.self) {
                try ControlClient(socket: socket).unmount(discardUnsaved: false)
            }
            #expect(thrown == error)
        }
    }

    @Test func statusIsAnsweredWhileAnUnmountWaits() throws {
        let gate = DispatchSemaphore(value: 0)
        try serving(ChosenService(gate: { gate.wait() })) { socket, _ throws in
            let client = ControlClient(socket: socket)
            let unmount = Background { try client.unmount(discardUnsaved: false) }
            #expect(try client.status() == .sample)
            gate.signal()
            #expect(try unmount.value() != nil)
        }
    }

    @Test func stopLetsAReplyInProgressGoOut() throws {
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let service = ChosenService(gate: {
            entered.signal()
            gate.wait()
        })
        try serving(service) { socket, server throws in
            let client = ControlClient(socket: socket)
            let unmount = Background { try client.unmount(discardUnsaved: false) }
            entered.wait()
            let stop = Background { server.stop() }
            gate.signal()
            #expect(try unmount.value() != nil)
            #expect(try stop.value() != nil)
            #expect(access(socket.string, F_OK) != 0)
        }
    }

    @Test func stopEndsIdleConnectionsAtOnce() throws {
        try serving { socket, server throws in
            let idle = try RawConnection(to: socket)
            #expect(idle.ask(#"{"method":"org.passdir.Control.Status"}"#) != nil)
            let begin = ContinuousClock.now
            server.stop()
            #expect(ContinuousClock.now - begin < .seconds(3))
            #expect(idle.receive() == nil)
            #expect(throws: ControlError.self) { try ControlClient(socket: socket).status() }
        }
    }

    @Test func socketAndFolderAreOursAlone() throws {
        try serving { socket, _ throws in
            var facts = stat()
            try #require(stat(socket.string, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o600)
            try #require(stat(socket.removingLastComponent().string, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o700)
        }
    }

    @Test func aFolderOpenToOthersIsClosed() throws {
        try TestHome.with { home in
            let folder = home.path("open")
            try #require(mkdir(folder.string, 0o700) == 0 && chmod(folder.string, 0o755) == 0)
            let server = try ControlServer(socket: folder.appending("control"), service: ChosenService())
            defer { server.stop() }
            var facts = stat()
            try #require(stat(folder.string, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o700)
        }
    }

    @Test func aLiveSocketIsNotReplaced() throws {
        try serving { socket, _ throws in
            let error = #expect(throws: ControlError.self) {
                _ = try ControlServer(socket: socket, service: ChosenService())
            }
            #expect(error?.code == .alreadyRunning)
            #expect(try ControlClient(socket: socket).status() == .sample)
        }
    }

    @Test func aStaleSocketIsReplaced() throws {
        try TestHome.with { home in
            let socket = home.path("run/passdir/control")
            do {
                let crashed = try ControlSocket(listeningAt: socket)
                // What a crash leaves: the file is there, the descriptors are closed, the lock by its own end.
                close(crashed.listening)
            }
            try #require(access(socket.string, F_OK) == 0)
            let error = #expect(throws: ControlError.self) { try ControlClient(socket: socket).status() }
            #expect(error?.code == .noDaemon)
            let server = try ControlServer(socket: socket, service: ChosenService())
            try server.start()
            defer { server.stop() }
            #expect(try ControlClient(socket: socket).status() == .sample)
        }
    }

    @Test func aFileInTheWayIsLeftAlone() throws {
        try TestHome.with { home in
            try home.write("mine", to: "run/control")
            let error = #expect(throws: ControlError.self) {
                _ = try ControlServer(socket: home.path("run/control"), service: ChosenService())
            }
            #expect(error?.code == .refused)
            #expect(try home.text(of: "run/control") == "mine")
        }
    }

    @Test func aPathLongerThanASocketAddressWorks() throws {
        try TestHome.with { home in
            let folder = home.folder.appending(String(repeating: "d", count: 200))
            let socket = folder.appending("control")
            let server = try ControlServer(socket: socket, service: ChosenService())
            try server.start()
            defer { server.stop() }
            #expect(try ControlClient(socket: socket).status() == .sample)
        }
    }

    @Test func aSilentServerIsNotWaitedForForever() throws {
        try TestHome.with { home in
            // Listens, and never accepts.
            let socket = try ControlSocket(listeningAt: home.path("run/control"))
            let begin = ContinuousClock.now
            let error = #expect(throws: ControlError.self) {
                try ControlClient(socket: home.path("run/control")).status(limit: .milliseconds(200))
            }
            socket.end()
            #expect(error?.code == .timedOut)
            #expect(ContinuousClock.now - begin < .seconds(5))
        }
    }

    @Test func oneConnectionTooManyEndsTheLongestIdle() throws {
        try serving { socket, _ throws in
            let status = #"{"method":"org.passdir.Control.Status"}"#
            let connections = try (0..<ControlServer.connectionLimit).map { _ in
                let connection = try RawConnection(to: socket)
                try #require(connection.ask(status) != nil)
                return connection
            }
            #expect(connections[0].ask(status) != nil)
            #expect(try RawConnection(to: socket).ask(status) != nil)
            #expect(connections[1].ask(status) == nil)
            #expect(connections[0].ask(status) != nil)
        }
    }

    /// As many as there are places for wait for the answer to their only call.
    @Test func oneConnectionTooManyWaitsForAnAnswer() throws {
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let service = ChosenService(gate: {
            entered.signal()
            gate.wait()
        })
        try serving(service) { socket, _ throws in
            let unmounts = try (0..<ControlServer.connectionLimit).map { _ in
                let connection = try RawConnection(to: socket)
                connection.send(Array(#"{"method":"org.passdir.Control.Unmount"}"#.utf8) + [0])
                entered.wait()
                return connection
            }
            let status = try RawConnection(to: socket)
            status.send(Array(#"{"method":"org.passdir.Control.Status"}"#.utf8) + [0])
            #expect(!status.isReadable(within: .milliseconds(200)))
            for _ in unmounts { gate.signal() }
            #expect(status.receive() != nil)
            for unmount in unmounts { #expect(unmount.receive() != nil) }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become somebody else"))
    func anotherUsersProcessIsTurnedAway() throws {
        try serving { socket, _ throws in
            // The folder's mode would turn it away as well; here the peer's user id is to do so.
            try #require(chmod(socket.string, 0o666) == 0)
            for folder in [
                socket.removingLastComponent(), FilePath("/").appending(socket.components.dropLast(2)),
            ] {
                try #require(chmod(folder.string, 0o755) == 0)
            }
            try #require(chmod(FilePath("/").appending(socket.components.prefix(2)).string, 0o755) == 0)
            let other = try Program(
                [
                    "setpriv", "--reuid", "65534", "--clear-groups", "perl", "-MIO::Socket::UNIX", "-e",
                    #"""
                    $SIG{PIPE} = "IGNORE";
                    alarm 10;
                    my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!;
                    $socket->syswrite("{\"method\":\"org.passdir.Control.Status\"}\0");
                    my $count = $socket->sysread(my $answer, 10) // 0;
                    print "answer of $count bytes\n";
                    """#, socket.string,
                ], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
            let result = try other.wait(limit: .seconds(20))
            #expect(result.output == "answer of 0 bytes\n", "\(result.errors)")
        }
    }
}
