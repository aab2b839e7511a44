import Glibc

/// The functions of sys/xattr.h, which Swift's Glibc module leaves out.
enum Xattr {
    typealias Set =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32
    typealias Get =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    typealias List = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    typealias Remove = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32

    static let set = unsafeBitCast(dlsym(nil, "setxattr"), to: Set.self)
    static let get = unsafeBitCast(dlsym(nil, "getxattr"), to: Get.self)
    static let list = unsafeBitCast(dlsym(nil, "listxattr"), to: List.self)
    static let remove = unsafeBitCast(dlsym(nil, "removexattr"), to: Remove.self)
}
