extension ConfigScan {
    /// The text with another subsection in all headers of this section; nothing else changes.
    func renaming(_ name: String, _ from: String, _ to: String) -> [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        for (section, header) in zip(sections, headers)
        where section.name == name && section.subsection == from {
            result += text[copied..<header.lowerBound]
            result += Array("[\(section.name) \"\(Self.escaped(to))\"]".utf8)
            copied = header.upperBound
        }
        return result + text[copied...]
    }

    /// The text with all sections of this subsection moved beside those of another one; unchanged where there is no
    /// such neighbour, or where two headers share a line, which nothing can part.
    func moving(_ name: String, _ subsection: String, _ place: ConfigPlace) -> [UInt8] {
        let blocks = self.blocks
        func belongs(_ block: Block, _ wanted: String) -> Bool {
            block.section.map { sections[$0].name == name && sections[$0].subsection == wanted } ?? false
        }
        guard subsection != place.neighbour, Set(starts).count == starts.count,
            blocks.contains(where: { belongs($0, place.neighbour) })
        else { return text }
        let moved = blocks.filter { belongs($0, subsection) }
        var rest = blocks.filter { !belongs($0, subsection) }
        switch place {
        case .before(let other):
            guard let index = rest.firstIndex(where: { belongs($0, other) }) else { return text }
            rest.insert(contentsOf: moved, at: index)
        case .after(let other):
            guard let index = rest.lastIndex(where: { belongs($0, other) }) else { return text }
            rest.insert(contentsOf: moved, at: index + 1)
        }
        var result: [UInt8] = []
        for block in rest {
            result += text[block.range]
            if let last = result.last, last != UInt8(ascii: "\n") { result.append(UInt8(ascii: "\n")) }
        }
        return result
    }

    /// A piece of the text that moves as one: a section with the comments right above its header, or what stands
    /// before the first.
    private struct Block {
        /// Which section; nil for what stands before the first.
        var section: Int?
        var range: Range<Int>
    }

    private var blocks: [Block] {
        var begins: [Int] = []
        for start in starts {
            begins.append(commentsAbove(start, after: begins.last ?? 0).startIndex)
        }
        var found: [Block] = []
        if begins.first != 0 { found.append(Block(section: nil, range: 0..<(begins.first ?? text.count))) }
        for (index, begin) in begins.enumerated() {
            let end = index + 1 < begins.count ? begins[index + 1] : text.count
            found.append(Block(section: index, range: begin..<end))
        }
        return found
    }
}
