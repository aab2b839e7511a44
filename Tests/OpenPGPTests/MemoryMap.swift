import Glibc

/// The mappings of this process, as /proc/self/smaps tells them.
enum MemoryMap {
    struct Mapping {
        let range: Range<UInt>
        let isWritable: Bool
        var flags: Set<Substring> = []
    }

    static func mappings() throws -> [Mapping] {
        var mappings: [Mapping] = []
        for line in String(decoding: try File.read("/proc/self/smaps"), as: UTF8.self).split(separator: "\n")
        {
            if line.hasPrefix("VmFlags:") {
                mappings[mappings.count - 1].flags = Set(line.dropFirst(8).split(separator: " "))
                continue
            }
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").map { UInt($0, radix: 16) }
            guard ends.count == 2, let start = ends[0], let end = ends[1] else { continue }
            mappings.append(Mapping(range: start..<end, isWritable: words[1].dropFirst().first == "w"))
        }
        return mappings
    }

    /// Counts a marker in all writable memory that a core dump would hold.
    /// - Parameters:
    ///   - masked: The marker, each byte changed by `mask`, so that the search itself holds no copy.
    static func count(masked: [UInt8], mask: UInt8) throws -> Int {
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw Failed(description: "/proc/self/mem") }
        defer { close(memory) }
        // What is read here is itself out of the search.
        let size = 1 << 20
        let chunk = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
        defer {
            explicit_bzero(chunk, size)
            munmap(chunk, size)
        }
        madvise(chunk, size, 16)
        var found = 0
        for mapping in try mappings() where mapping.isWritable && !mapping.flags.contains("dd") {
            var position = mapping.range.lowerBound
            while position < mapping.range.upperBound {
                let count = pread(
                    memory, chunk, min(size, Int(mapping.range.upperBound - position)), Int(position))
                guard count > 0 else { break }
                found += occurrences(masked, mask, in: UnsafeRawBufferPointer(start: chunk, count: count))
                if count < size || position + UInt(count) >= mapping.range.upperBound { break }
                position += UInt(count - masked.count)
            }
        }
        return found
    }

    private static func occurrences(_ masked: [UInt8], _ mask: UInt8, in bytes: UnsafeRawBufferPointer) -> Int
    {
        var found = 0
        var offset = 0
        while offset + masked.count <= bytes.count,
            let hit = memchr(bytes.baseAddress! + offset, Int32(masked[0] ^ mask), bytes.count - offset)
        {
            let start = UnsafeRawPointer(hit) - bytes.baseAddress!
            if start + masked.count <= bytes.count,
                masked.indices.allSatisfy({ bytes[start + $0] ^ mask == masked[$0] })
            {
                found += 1
            }
            offset = start + 1
        }
        return found
    }
}
