import Glibc
public import SystemPackage

/// How long a path in a repository may be. What is longer can be placed on no other machine; every passdir refuses a
/// branch that holds it.
public enum PathBounds {
    /// The bytes of a path relative to the top of the repository: PATH_MAX of Linux without the NUL.
    public static let bytes = 4095
    /// How many names a path may have.
    public static let depth = 100

    /// Why a path can be in no repository, in words that follow it; nil when it can.
    public static func objection(to path: FilePath) -> String? {
        if path.length > bytes { return "has a path of more than \(bytes) bytes" }
        return path.components.count > depth ? "is more than \(depth) folders deep" : nil
    }
}

extension Repository {
    /// Why no other machine would take a file of this path from a branch, in words that follow the path; nil when it would.
    /// - Parameter path: relative to the top of the repository.
    public static func objection(toCommitting path: FilePath, isLink: Bool) -> String? {
        if let objection = PathBounds.objection(to: path) { return objection }
        let names = path.components
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            if let objection = objection(toName: name, isLink: isLast && isLink, isTree: !isLast) {
                return objection
            }
        }
        return nil
    }

    /// Why no other machine would take something of this name, in words that follow it; nil when it would.
    /// - Parameters:
    ///   - name: one component, as it is on disk.
    ///   - isTree: it is a folder.
    public static func objection(toName name: FilePath.Component, isLink: Bool, isTree: Bool) -> String? {
        IncomingName.objection(name.bytes, isLink: isLink, isTree: isTree)
    }

    /// As `objection(toCommitting:isLink:)`, of an entry of a folder of which that is known.
    public static func objection(toEntry path: FilePath, isLink: Bool, isTree: Bool) -> String? {
        guard let name = path.lastComponent else { return nil }
        return PathBounds.objection(to: path) ?? objection(toName: name, isLink: isLink, isTree: isTree)
    }
}

extension FilePath {
    /// In bytes.
    fileprivate var length: Int { withPlatformString { start in strlen(start) } }
}

extension FilePath.Component {
    var bytes: [UInt8] {
        withPlatformString { start in
            UnsafeBufferPointer(start: start, count: strlen(start)).map { UInt8(bitPattern: $0) }
        }
    }
}
