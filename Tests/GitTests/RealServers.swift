import Glibc
import SystemPackage
import TestKit
import Testing

/// A program that serves; ended with its life, and two minutes after its start at the latest.
final class Server {
    private let process: pid_t
    let log: FilePath

    init(_ folder: TestFolder, _ name: String, _ arguments: [String]) throws {
        log = folder.path.appending(name + ".log")
        let null = open("/dev/null", O_RDWR)
        let output = open(log.string, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer {
            close(null)
            close(output)
        }
        process = try folder.spawn(
            ["timeout", "-k", "5", "120"] + arguments, in: folder.path, files: [null, output, output])
    }

    deinit {
        kill(-process, SIGTERM)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Waits until the condition holds, five seconds at most: these servers have no way to say that they are ready.
    static func wait(_ condition: () -> Bool) {
        var patience = 500
        while !condition(), patience > 0 {
            usleep(10_000)
            patience -= 1
        }
    }
}

/// nginx with git-http-backend: HTTPS with a certificate of its own, and a name and password (`tester`, `right`).
final class SecureWebServer {
    let port: UInt16
    private let servers: [Server]

    init(_ folder: TestFolder) throws {
        let free = try Listener().port
        port = free
        let top = folder.path.string
        try folder.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days",
            "2", "-subj", "/CN=localhost", "-keyout", "\(top)/key.pem", "-out", "\(top)/cert.pem",
        ])
        let password = try folder.run(["openssl", "passwd", "-apr1", "right"]).text
        let programs = try folder.run(["git", "--exec-path"]).text.split(separator: "\n").first ?? ""
        let configuration = """
            daemon off; master_process off; pid \(top)/nginx.pid; error_log \(top)/nginx-error.log;
            events {}
            http {
              access_log off;
              client_body_temp_path \(top)/t1; proxy_temp_path \(top)/t2; fastcgi_temp_path \(top)/t3;
              uwsgi_temp_path \(top)/t4; scgi_temp_path \(top)/t5;
              server {
                listen 127.0.0.1:\(free) ssl;
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
            """
        try folder.write("passwords", "tester:\(password)")
        try folder.write("nginx.conf", configuration)
        let gateway = try Server(folder, "fcgiwrap", ["fcgiwrap", "-s", "unix:\(top)/cgi"])
        Server.wait { access("\(top)/cgi", F_OK) == 0 }
        let web = try Server(
            folder, "nginx",
            ["/usr/sbin/nginx", "-p", top, "-c", "\(top)/nginx.conf", "-e", "\(top)/nginx-error.log"])
        Server.wait { Listener.answers(free) }
        servers = [web, gateway]
    }

    func url(_ path: String) -> String { "https://localhost:\(port)/\(path)" }
}

/// sshd with a host key of its own, which lets in the key `client` of the folder (`client-locked` has the passphrase
/// `open sesame`; `stranger` is unknown).
final class SecureShellServer {
    let port: UInt16
    let user: String
    private let server: Server
    private let separation: PrivilegeSeparation

    init(_ folder: TestFolder) throws {
        let free = try Listener().port
        port = free
        let top = folder.path.string
        for (name, phrase) in [
            ("host", ""), ("client", ""), ("client-locked", "open sesame"), ("stranger", ""),
        ] {
            try folder.run([
                "ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-C", name, "-f", "\(top)/\(name)",
            ])
        }
        let allowed = try folder.run(["cat", "\(top)/client.pub", "\(top)/client-locked.pub"])
        try folder.write("authorized", allowed.text)
        try folder.write(
            "sshd_config",
            """
            Port \(free)
            ListenAddress 127.0.0.1
            HostKey \(top)/host
            AuthorizedKeysFile \(top)/authorized
            PidFile none
            StrictModes no
            PermitRootLogin yes
            PasswordAuthentication no
            KbdInteractiveAuthentication no

            """)
        user = try folder.run(["id", "-un"]).text.split(separator: "\n").first.map(String.init) ?? ""
        separation = try PrivilegeSeparation()
        server = try Server(folder, "sshd", ["/usr/sbin/sshd", "-D", "-e", "-f", "\(top)/sshd_config"])
        Server.wait { Listener.answers(free) }
    }

    func url(_ path: FilePath) -> String { "ssh://\(user)@localhost:\(port)\(path)" }
}
