import Glibc
import SystemPackage
import TestKit

@testable import Sync

/// Many cells of the matrix in one store: in each, every machine does its own deed, and then all machines meet.
///
/// A cell is a folder, so that one merge settles hundreds of them. What must hold in a cell:
/// - What a machine wrote last is in the tip, whatever the others did to the file meanwhile, and so is what lay there at
///   first and all have left. Where commits are rebased, one of them may replace what it would replace in git's rebase.
/// - What a machine had committed in between is in the tip's history.
/// - A mode that one machine set stands where the others left the file.
struct MatrixBatch {
    struct Cell {
        var name: String
        /// One for each machine.
        var deeds: [MatrixDeed]
    }

    let home: TestHome
    let machines: [Machine]
    private let rebases: Bool
    let keys: [String]
    let texts = MatrixTexts()
    var cells: [Cell] = []
    /// What does not hold.
    private(set) var complaints: [String] = []
    private var number = 0

    init(_ home: TestHome, machines count: Int, rebases: Bool) throws {
        self.home = home
        self.rebases = rebases
        machines = try home.machines(count) { $0.rebases = rebases }
        keys =
            [try home.text(of: "m0/.gpg-id").split(separator: "\n").joined()]
            + (try ["two", "three"].map { try home.makeKey("\($0)@example.org").fingerprint })
    }

    private func hand(_ machine: Int, in cell: Cell) -> MatrixHand {
        MatrixHand(
            machine: machines[machine], cell: cell.name, writer: "m\(machine)", keys: keys, texts: texts)
    }

    /// Tries cells, each with one deed for each machine.
    mutating func run(_ deeds: [[MatrixDeed]], turn: Int) async throws {
        number += 1
        cells = deeds.enumerated().map { Cell(name: "c\(number)-\($0.offset)", deeds: $0.element) }
        for cell in cells {
            try hand(0, in: cell).begin(cell.deeds.reduce(into: []) { $0.formUnion($1.needs) })
        }
        try await distribute()
        let base = try MatrixTree("HEAD", of: machines[0])
        var steps: [[MatrixTree]] = []
        for machine in machines.indices { steps.append(try await work(machine)) }
        let order = machines.indices.map { ($0 + turn) % machines.count }
        try await meet(order)
        let tip = try MatrixTree("HEAD", of: machines[0])
        try texts.learn(tip.blobs, from: machines[0])
        let history = try texts.tokens(inHistoryOf: machines[0])
        for cell in cells {
            judge(cell, base, steps, tip)
            let lost = steps.joined().reduce(into: Set<String>()) {
                $0.formUnion(texts.tokens(of: $1.cells[cell.name]))
            }.subtracting(history)
            if !lost.isEmpty { complaints.append("\(title(cell))\n    not in the history: \(lost.sorted())") }
        }
        // Nothing is stuck: each can still be worked on.
        for machine in machines.indices {
            try machines[machine].save("later/\(machine)", "\(number)\n")
        }
        try await meet(order)
    }

    /// Gives every machine what the first one has begun, by git alone.
    private func distribute() async throws {
        try await machines[0].commit()
        try machines[0].git("push", "-q", "origin", "main")
        for machine in machines.dropFirst() { try machine.git("pull", "-q", "--ff-only") }
    }

    /// A machine does all its deeds.
    /// - Returns: what each of its commits holds.
    private func work(_ machine: Int) async throws -> [MatrixTree] {
        var trees: [MatrixTree] = []
        for step in 0..<(cells.map { $0.deeds[machine].steps.count }.max() ?? 0) {
            for cell in cells where step < cell.deeds[machine].steps.count {
                do {
                    try cell.deeds[machine].steps[step](hand(machine, in: cell))
                } catch {
                    throw TestFailure("\(cell.name), \(cell.deeds[machine].name): \(error)")
                }
            }
            try await machines[machine].commit()
            try expectClean(machines[machine])
            trees.append(try MatrixTree("HEAD", of: machines[machine]))
        }
        return trees
    }

    private func expectClean(_ machine: Machine) throws {
        let dirt = try machine.dirt
        guard dirt.isEmpty else {
            throw TestFailure(
                "\(machine.path.lastComponent!) is not clean:\n\(named(String(dirt.prefix(2000))))")
        }
    }

    /// All machines end at one commit, which is the remote's.
    private func meet(_ order: [Int]) async throws {
        for machine in order + order.dropLast() {
            if let complaint = try await synchronize(machines[machine]) {
                throw TestFailure("m\(machine) is stuck: \(named(complaint))")
            }
        }
        var tips = Set(try machines.map { try $0.git("rev-parse", "HEAD") })
        tips.insert(try machines[0].git("-C", home.path("m0.git").string, "rev-parse", "main"))
        guard tips.count == 1 else { throw TestFailure("the machines do not come together") }
        for machine in machines { try expectClean(machine) }
        _ = try machines[0].git("fsck", "--strict", "--no-dangling")
    }

    /// Lists of recipients that both sides changed are the user's to settle: here, each keeps its own.
    private func synchronize(_ machine: Machine) async throws -> String? {
        let complaint = await machine.committer.synchronizeNow()
        guard complaint?.contains("passdir recipients settle") == true else { return complaint }
        return await machine.committer.synchronizeKeeping(try machine.committer.partedLists())
    }

    /// A sentence with the deeds of the cells that it names.
    private func named(_ sentence: String) -> String {
        let told = cells.filter { cell in
            sentence.firstRange(of: cell.name + "/") != nil
        }
        return sentence + told.map { "\n    " + title($0) }.joined()
    }

    private func title(_ cell: Cell) -> String {
        "\(cell.name): " + cell.deeds.map(\.name).joined(separator: " | ")
    }

    // MARK: what must hold

    /// What a commit of one machine has replaced at a path that is the only one where another machine has it in the end: a
    /// rebase, git's as well, replays that commit on the other's path, be it that both had copied it there.
    private func replaced(in steps: [[[String: MatrixTree.Item]]]) -> Set<String> {
        var found: Set<String> = []
        for (machine, states) in steps.enumerated() {
            for (before, after) in zip(states, states.dropFirst()) {
                for (path, item) in before {
                    let now = after[path].map { texts.tokens(of: [path: $0]) } ?? []
                    for token in texts.tokens(of: [path: item]).subtracting(now) {
                        let isOnlyThere = steps.enumerated().contains { other, states in
                            let holders = (states.last ?? [:]).filter {
                                texts.tokens(of: [$0.key: $0.value]).contains(token)
                            }
                            return other != machine && Array(holders.keys) == [path]
                        }
                        if isOnlyThere { found.insert(token) }
                    }
                }
            }
        }
        return found
    }

    private mutating func judge(
        _ cell: Cell, _ base: MatrixTree, _ steps: [[MatrixTree]], _ tip: MatrixTree
    ) {
        let first = base.cells[cell.name] ?? [:]
        let last = tip.cells[cell.name] ?? [:]
        let before = texts.tokens(of: first)
        let finals = steps.map { $0.last?.cells[cell.name] ?? [:] }
        let held = finals.map { texts.tokens(of: $0) }
        var wanted = held.reduce(before) { $0.intersection($1) }
        for tokens in held { wanted.formUnion(tokens.subtracting(before)) }
        var missing = wanted.subtracting(texts.tokens(of: last))
        if rebases { missing.subtract(replaced(in: steps.map { $0.map { $0.cells[cell.name] ?? [:] } })) }
        if !missing.isEmpty {
            complaints.append("\(title(cell))\n    lost: \(missing.sorted()); there: \(last.keys.sorted())")
        }
        // A list that one of them has changed.
        for path in Set((finals + [first]).flatMap(\.keys)) where path.hasSuffix(".gpg-id") {
            let changed = finals.filter { $0[path] != first[path] }
            if changed.count == 1, last[path] != changed[0][path] {
                complaints.append("\(title(cell))\n    the change of \(path) is not there")
            }
        }
        for (path, item) in first where item.isFile {
            for (machine, final) in finals.enumerated() {
                guard let mode = final[path]?.mode, mode != item.mode, final[path]?.isFile == true,
                    let found = last[path]?.mode, found != mode
                else { continue }
                let others = finals.indices.filter { $0 != machine }
                let isLeft = others.flatMap { steps[$0] }.allSatisfy {
                    $0.cells[cell.name]?[path]?.mode == item.mode
                }
                if isLeft { complaints.append("\(title(cell))\n    \(path) has mode \(found), not \(mode)") }
            }
        }
    }
}
