import Dispatch
import Glibc
import SystemPackage
import TestKit

/// Real servers on loopback, for a test's home: sshd, and nginx with git-http-backend.
final class Servers {
    private let home: TestHome
    private var running: [Program] = []
    private var separation: PrivilegeSeparation?

    init(_ home: TestHome) {
        self.home = home
    }

    /// Ends them and waits until they are gone.
    func end() throws {
        for program in running { kill(-program.pid, SIGTERM) }
        for program in running { _ = try program.wait(limit: .seconds(10)) }
        running = []
        separation = nil
    }

    /// An SSH server that lets in the key `client` of the home. Returns the URL of a path on it; its host key is in
    /// `~/.ssh/known_hosts`.
    func startSSH() throws -> (FilePath) -> String {
        let port = try Self.freePort()
        let top = home.folder.string
        for name in ["host", "client"] {
            try home.succeed([
                "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", "\(top)/\(name)",
            ])
        }
        try home.succeed(["cp", "\(top)/client.pub", "\(top)/authorized"])
        try home.write(
            """
            Port \(port)
            ListenAddress 127.0.0.1
            HostKey \(top)/host
            AuthorizedKeysFile \(top)/authorized
            PidFile none
            StrictModes no
            PermitRootLogin yes
            PasswordAuthentication no
            KbdInteractiveAuthentication no

            """, to: "sshd_config")
        let key = try home.text(of: "host.pub").split(separator: " ").prefix(2).joined(separator: " ")
        try home.succeed(["mkdir", "-p", "-m", "700", "\(top)/.ssh"])
        try home.write("[localhost]:\(port) \(key)\n", to: ".ssh/known_hosts")
        separation = try PrivilegeSeparation()
        running.append(try home.start(["/usr/sbin/sshd", "-D", "-e", "-f", "\(top)/sshd_config"]))
        try home.waitUntil("sshd listens") { Self.answers(port) }
        let user = String(decoding: try home.succeed(["id", "-un"]), as: UTF8.self).dropLast()
        return { "ssh://\(user)@localhost:\(port)\($0)" }
    }

    /// An HTTPS server that serves the bare repositories of the home to `tester` with the password `token`. Returns the
    /// URL of a repository on it; git's configuration of the home trusts its certificate.
    func startHTTPS() throws -> (String) -> String {
        let port = try Self.freePort()
        let top = home.folder.string
        try home.succeed([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "\(top)/key.pem",
            "-out",
            "\(top)/cert.pem",
        ])
        try home.succeed(["git", "config", "--global", "http.sslCAInfo", "\(top)/cert.pem"])
        let hash = String(decoding: try home.succeed(["openssl", "passwd", "-apr1", "token"]), as: UTF8.self)
        try home.write("tester:\(hash)", to: "passwords", mode: [.ownerReadWrite, .groupRead, .otherRead])
        let programs = String(decoding: try home.succeed(["git", "--exec-path"]), as: UTF8.self).dropLast()
        try home.write(
            """
            daemon off; master_process off; pid \(top)/nginx.pid; error_log \(top)/nginx-error.log;
            events {}
            http {
              access_log off; client_max_body_size 0;
              client_body_temp_path \(top)/t1; proxy_temp_path \(top)/t2; fastcgi_temp_path \(top)/t3;
              uwsgi_temp_path \(top)/t4; scgi_temp_path \(top)/t5;
              server {
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(top)/cert.pem; ssl_certificate_key \(top)/key.pem;
                auth_basic git; auth_basic_user_file \(top)/passwords;
                location / {
                  fastcgi_pass unix:\(top)/cgi;
                  fastcgi_param SCRIPT_FILENAME \(programs)/git-http-backend;
                  fastcgi_param GIT_PROJECT_ROOT \(top); fastcgi_param GIT_HTTP_EXPORT_ALL 1;
                  fastcgi_param PATH_INFO $uri; fastcgi_param QUERY_STRING $query_string;
                  fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
                  fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_USER $remote_user;
                  fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
                }
              }
            }
            """, to: "nginx.conf")
        running.append(try home.start(["fcgiwrap", "-s", "unix:\(top)/cgi"]))
        try home.waitUntil("fcgiwrap listens") { access("\(top)/cgi", F_OK) == 0 }
        running.append(
            try home.start([
                "/usr/sbin/nginx", "-p", top, "-c", "\(top)/nginx.conf", "-e", "\(top)/nginx-error.log",
            ]))
        try home.waitUntil("nginx listens") { Self.answers(port) }
        return { "https://localhost:\(port)/\($0)" }
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw Errno(rawValue: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func answers(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
