import Git
import Glibc

/// Who commits where git has no user.name and user.email: the login and the host, as git itself would guess.
enum FallbackIdentity {
    static func signature(now: Int64) -> Signature {
        var seconds = time_t(now)
        var local = tm()
        localtime_r(&seconds, &local)
        return Signature(
            name: name(), email: "\(login())@\(host())", time: now, offsetMinutes: Int(local.tm_gmtoff) / 60)
    }

    private static func login() -> String {
        guard let entry = getpwuid(geteuid()) else { return "passdir" }
        return String(cString: entry.pointee.pw_name)
    }

    private static func name() -> String {
        guard let entry = getpwuid(geteuid()), let text = entry.pointee.pw_gecos else { return login() }
        let name = String(cString: text).prefix { $0 != "," }
        return name.isEmpty ? login() : String(name)
    }

    private static func host() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, 255) == 0 else { return "localhost" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "localhost" : name
    }
}
