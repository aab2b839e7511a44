/// Lines of the log that are not in its file yet: they wait while another program holds that. There are not more than a bound; what
/// is more goes from the program with the most lines, its oldest first, and is counted.
struct WaitingLines {
    private(set) var lines: [AccessLine] = []
    /// By their programs, what is gone.
    private(set) var dropped: [String: DroppedLines] = [:]
    private let most: Int

    init(most: Int) { self.most = most }

    var isEmpty: Bool { lines.isEmpty && dropped.isEmpty }

    /// Takes lines in, behind the others.
    mutating func add(_ new: [AccessLine]) {
        lines += new
        while lines.count > most { dropFromMost() }
    }

    /// Counts reads that are in no line.
    mutating func drop(_ count: Int, of program: String, last: Int64) {
        let known = dropped[program]
        dropped[program] = DroppedLines(
            program: program, count: (known?.count ?? 0) + count, last: max(known?.last ?? 0, last))
    }

    /// They are in the file.
    mutating func clear() { (lines, dropped) = ([], [:]) }

    private mutating func dropFromMost() {
        var counts: [String: Int] = [:]
        for line in lines { counts[line.program, default: 0] += 1 }
        // Of equals always the same one.
        let order = counts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
        guard let (program, count) = order.first else { return }
        let tooMany = lines.count - most
        let next = order.count > 1 ? order[1].value : 0
        // Until another has as many; where several have, some at once, as each look is one at all lines.
        var left = min(tooMany, max(count - next, tooMany / 20, 1))
        var kept: [AccessLine] = []
        for line in lines {
            guard left > 0, line.program == program else {
                kept.append(line)
                continue
            }
            left -= 1
            drop(1, of: program, last: line.last)
        }
        lines = kept
    }
}
