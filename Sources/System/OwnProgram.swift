import Glibc

/// The program that this process runs.
public enum OwnProgram {
    /// Its path; its link in /proc when the file was replaced since we started. The path is preferred, as the last part of it
    /// becomes the name in `ps`.
    public static var path: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return count > 0 && access(path, X_OK) == 0 ? path : "/proc/self/exe"
    }
}
