import Access
import Fuse
import Glibc
import Settings
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// Renames to where other rules apply, in the middle of an open.
@Suite struct RuledMoveTests {
    /// A gate that does something first when an open is judged, once.
    private final class MeddlingJudge: ReadJudge {
        let gate: AccessGate
        let meddling = Mutex<(@Sendable () -> Void)?>(nil)

        init(_ gate: AccessGate) { self.gate = gate }

        func judge(_ thread: Int32, reading secret: String, after note: ReadNote) -> Judgement {
            let body = meddling.withLock { meddling in
                defer { meddling = nil }
                return meddling
            }
            body?()
            return gate.judge(thread, reading: secret, after: note)
        }

        var isWatching: Bool { gate.isWatching }
        var inForce: AccessGate.InForce { gate.inForce }
        func refuse(_ thread: Int32, reading store: String) -> Judgement {
            gate.refuse(thread, reading: store)
        }
        func judge(_ thread: Int32, changing list: String, mayAsk: Bool, after note: ReadNote) -> Judgement {
            gate.judge(thread, changing: list, mayAsk: mayAsk, after: note)
        }
        func allows(_ thread: Int32, reading secret: String) -> ReadNote? {
            gate.allows(thread, reading: secret)
        }
        func ruledPlaces(below folder: String) -> [String] { gate.ruledPlaces(below: folder) }
        func hasRules(at place: String) -> Bool { gate.hasRules(at: place) }
        func hasRules(over place: String) -> Bool { gate.hasRules(over: place) }
        func rulesDiffer(_ place: String, _ other: String) -> Bool { gate.rulesDiffer(place, other) }
        func rulesHold(forLinkIn place: String, to other: String) -> Bool {
            gate.rulesHold(forLinkIn: place, to: other)
        }
        func allows(_ thread: Int32, moving place: String, to other: String) -> Bool {
            gate.allows(thread, moving: place, to: other)
        }
    }

    /// Behind the open's judgement by the old name, and before it counts as open.
    @Test func noRenameGetsIntoAnOpen() throws {
        let gate = AccessGate(log: try MountKeys.shared.get().home.path("ruled.sqlite"))
        var rules = AccessOptions()
        rules.rules = try AccessRules([
            AccessSection(
                place: "work/ruled", file: "config", line: 1,
                rules: [AccessSection.Item(key: "deny", value: "under agent")])
        ])
        gate.use(rules)
        let judge = MeddlingJudge(gate)
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        options.judge = judge
        try TestMount.with(options) { mount in
            try mount.makeDirectory("work/ruled")
            try mount.save("text\n", "work/a")
            let refused = Mutex<Errno?>(nil)
            judge.meddling.withLock {
                $0 = {
                    let error = mount.failure { () throws(Errno) in try mount.rename("work/a", "work/ruled/a")
                    }
                    refused.withLock { $0 = error }
                }
            }
            let file = try mount.open("work/a", O_RDONLY)
            #expect(judge.meddling.withLock { $0 == nil })
            #expect(refused.withLock { $0 } == .improperLink)
            #expect(try file.text == "text\n")
            file.release()
            // Nothing of it is left in the way.
            try mount.rename("work/a", "work/ruled/a")
        }
    }

    /// Between a rename's look at what is open and its end.
    @Test func noOpenGetsIntoARename() throws {
        try TestMount.with { mount in
            try mount.save("text\n", "work/a")
            try mount.at("work/a") { inode throws(Errno) in
                let (node, subtree) = try mount.filesystem.find(inode)
                guard let store = subtree as? MountedStore else { throw .invalidArgument }
                func opensAtOnce() -> Bool {
                    guard
                        let opened = mount.filesystem.openAtOnce(
                            inode, flags: OpenFlags(rawValue: O_RDONLY), for: getpid())
                    else { return false }
                    mount.filesystem.release(
                        inode, handle: opened.handle, flags: OpenFlags(rawValue: O_RDONLY))
                    return true
                }
                let file = try mount.open("work/a", O_RDONLY)
                file.release()
                #expect(opensAtOnce())
                guard let move = RuledMove([node], in: store.ruledMoves) else { throw .improperLink }
                #expect(!opensAtOnce())
                move.end()
                #expect(opensAtOnce())
            }
        }
    }
}
