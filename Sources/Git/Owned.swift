import CGit
import Glibc
import System
import SystemPackage

/// One object of libgit2 and the duty to free it.
struct Owned: ~Copyable {
    let pointer: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    /// Takes what `make` puts into its argument.
    /// - Throws: libgit2's reason when `make` returns a negative code.
    init(
        _ doing: @autoclosure () -> String, free: @escaping (OpaquePointer?) -> Void,
        _ make: (inout OpaquePointer?) -> Int32
    ) throws(GitError) {
        var made: OpaquePointer?
        let code = make(&made)
        guard code >= 0, let made else { throw GitError.last(code, doing()) }
        pointer = made
        self.free = free
    }

    deinit {
        free(pointer)
    }
}

/// The text that libgit2 writes into a buffer of its own.
func bufferText(
    _ doing: @autoclosure () -> String, _ fill: (inout git_buf) -> Int32
) throws(GitError) -> [UInt8] {
    var buffer = git_buf()
    defer { git_buf_dispose(&buffer) }
    try check(fill(&buffer), doing())
    return Array(UnsafeRawBufferPointer(start: buffer.ptr, count: buffer.size))
}

/// Lends the strings as libgit2's array of C strings.
func withStringArray<R>(_ strings: [String], _ use: (inout git_strarray) -> R) -> R {
    var pointers = strings.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { buffer in
        var array = git_strarray(strings: buffer.baseAddress, count: buffer.count)
        return use(&array)
    }
}

/// A path of the repository: relative, no `.` or `..`, nothing inside `.git`.
func checkedPath(_ path: FilePath) throws(GitError) {
    let plain = path.components.allSatisfy { $0.kind == .regular && $0.string.lowercased() != ".git" }
    guard path.isRelative, !path.isEmpty, plain else {
        throw GitError(code: .invalid, message: "'\(path)' is not a path inside the repository")
    }
}

extension FilePath {
    /// The path with bytes added to its last component: `index` and `.lock` give `index.lock`.
    func withSuffix(_ suffix: String) -> FilePath {
        FilePath(bytes: bytes + suffix.utf8)
    }
}
