import Glibc
public import SystemPackage

extension FilePath {
    /// The bytes of the path, whatever they are, without the NUL at the end.
    public var bytes: [UInt8] {
        withPlatformString { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }

    /// The path that these bytes are, up to a NUL.
    public init(bytes: some Sequence<UInt8>) {
        self.init(platformString: bytes.map { CChar(bitPattern: $0) } + [0])
    }
}
