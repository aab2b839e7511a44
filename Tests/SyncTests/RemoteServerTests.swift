import Glibc
import SystemPackage
import TestKit
import Testing

/// The short forms of what scripts/soak-sync runs for long: real servers, several machines, kills, pass beside the
/// mount. Each brings its own world and ends it.
@Suite(.serialized) struct RemoteServerTests {
    private static let programs: [String] = [
        "/usr/sbin/sshd", "/usr/sbin/nginx", "/usr/sbin/fcgiwrap", "/usr/bin/openssl",
    ]
    private static let hasServers = programs.allSatisfy { access($0, X_OK) == 0 }

    private func soak(_ words: String...) throws {
        let script = FilePath(#filePath).removingLastComponent().removingLastComponent()
            .removingLastComponent()
            .pushing("scripts/soak_sync.py")
        let environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "SEED": "1",
        ]
        let program = try Program(
            ["python3", script.string, try TestHome.passdirBinary().string] + words, environment: environment,
            directory: "/tmp")
        let result = try program.wait(limit: .seconds(240))
        #expect(result.exitCode == 0, "\(words): \(result.output)\(result.errors)")
    }

    @Test func gitDaemonHooksSilenceAndFullDisks() throws { try soak("git") }

    @Test(.enabled(if: hasServers)) func secureShellKeysAndHosts() throws { try soak("ssh") }

    @Test(.enabled(if: hasServers)) func webServerCertificateAndPassword() throws { try soak("https") }

    @Test(.slow) func threeMachines() throws { try soak("machines", "60") }

    @Test func kills() throws { try soak("kill", "6") }

    @Test(.slow) func passBesideTheMount() throws { try soak("pass", "6") }
}
