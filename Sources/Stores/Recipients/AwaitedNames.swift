import OpenPGP
import System
import SystemPackage

/// Names in a list that meant no key when the store was first looked at: with a wrong GNUPGHOME, or before any key was
/// imported, nobody can be agreed to. The first look that finds their keys agrees to them, and to no name that came later.
///
/// Others can bring a key of such a name. So in a home in which it had none only a key of the user's own is agreed to: no
/// secret key is imported from anybody. Any other counts in a home in which it was never missing, where what is there was
/// not brought because it was missed here. Where the list's name of the user's own had its key, the home was the right one, and
/// whatever comes later is asked about.
struct AwaitedNames: Equatable {
    /// The homes of GnuPG that were asked and had no key.
    private(set) var homes: [String]
    /// The lines.
    private(set) var lines: [String]

    /// Stands for all homes.
    private static let everywhere = "*"

    /// More homes than these are not kept; then only keys of one's own count.
    private static let mostHomes = 100

    private init(homes: [String], lines: [String]) {
        self.homes = homes
        self.lines = lines
    }

    /// Those of a list that mean no key here; nil where it has none.
    /// - Parameter isRight: whether another name of the list means a key of the user's own here.
    init?(_ unknown: [UnknownName], in home: FilePath, isRight: Bool) {
        guard !unknown.isEmpty else { return nil }
        lines = unknown.map(\.name)
        homes = unknown.contains(where: \.wasAsked) ? [isRight ? Self.everywhere : Self.name(of: home)] : []
    }

    /// Those that the record has of a list; nil where it has none.
    init?(_ entries: [RecordContent.Entry], of file: FilePath) {
        guard let entry = entries.first(where: { $0.file == file && $0.kind == .awaited }) else { return nil }
        self.init(entry)
    }

    /// nil where an entry is none of them.
    init?(_ entry: RecordContent.Entry) {
        guard entry.kind == .awaited, let first = entry.fingerprints.first, let count = Int(first),
            count >= 0,
            count < entry.fingerprints.count
        else { return nil }
        homes = Array(entry.fingerprints[1...].prefix(count))
        lines = Array(entry.fingerprints[(count + 1)...])
    }

    func entry(store: String, file: FilePath) -> RecordContent.Entry {
        RecordContent.Entry(
            kind: .awaited, store: store, file: file, fingerprints: ["\(homes.count)"] + homes + lines)
    }

    /// Those of them that are among these lines; nil where none is.
    func only(_ others: [String]) -> AwaitedNames? {
        let kept = lines.filter(others.contains)
        return kept.isEmpty ? nil : AwaitedNames(homes: homes, lines: kept)
    }

    private static func name(of home: FilePath) -> String {
        PercentText.encoded(((try? home.resolvingLinks()) ?? home).bytes)
    }

    /// What a look has found.
    struct Found {
        /// The fingerprints of the keys that are agreed to by it.
        var keys: [String] = []
        /// What is still awaited; nil where nothing is.
        var rest: AwaitedNames?
    }

    /// Looks for their keys now.
    func look(in engine: any Keyring) -> Found {
        let home = Self.name(of: engine.home)
        let isNew =
            !homes.contains(home) && !homes.contains(Self.everywhere) && homes.count < Self.mostHomes
        var found: [String] = []
        var rest: [String] = []
        var isMissed = false
        var isRight = false
        for line in lines {
            do throws(OpenPGPError) {
                let meant = try engine.resolve(line)
                isRight = isRight || meant.contains(where: \.isSurelyOwn)
                found += meant.filter { isNew || $0.isSurelyOwn }.map(\.key.fingerprint.description)
            } catch {
                rest.append(line)
                if [.missingKey, .ambiguousKey].contains(error.code) { isMissed = true }
            }
        }
        guard !rest.isEmpty else { return Found(keys: found) }
        let asked = isNew && isMissed ? homes + [isRight ? Self.everywhere : home] : homes
        return Found(keys: found, rest: AwaitedNames(homes: asked, lines: rest))
    }
}

extension Store {
    /// Agrees to the keys of names that were awaited and are here now. Before anybody is told of a key that nobody agreed to.
    func recordAwaitedNames() {
        let awaited = options.record?.awaited(of: recordNames) ?? []
        guard !awaited.isEmpty else { return }
        let looks = awaited.map { ($0, AwaitedNames($0)?.look(in: engine) ?? AwaitedNames.Found()) }
        let id = identifier
        guard
            looks.contains(where: { entry, found in
                found.rest?.entry(store: entry.store, file: entry.file) != entry
            })
        else { return }
        // What cannot be noted is asked for.
        try? updateRecord { entries in
            var entries = entries
            // What another process has done meanwhile stays.
            for (entry, found) in looks {
                guard let place = entries.firstIndex(of: entry) else { continue }
                entries.remove(at: place)
                if let rest = found.rest { entries.append(rest.entry(store: id, file: entry.file)) }
                guard let agreed = entries.firstIndex(where: { $0.kind == .agreed && $0.file == entry.file })
                else {
                    continue
                }
                let new = found.keys.filter { !entries[agreed].fingerprints.contains($0) }
                entries[agreed].fingerprints += new
                for index in entries.indices
                where entries[index].kind == .offered && entries[index].file == entry.file {
                    entries[index].fingerprints.removeAll(where: new.contains)
                }
            }
            return entries.filter { $0.kind != .offered || !$0.fingerprints.isEmpty }
        }
    }

    /// Forgets the awaited names that a list no longer has, because the user changed it.
    func forgetAwaitedNames(of file: FilePath) throws(StoreError) {
        guard let old = AwaitedNames(options.record?.awaited(of: recordNames) ?? [], of: file) else { return }
        let rest = old.only(try recipientFileContent(file, isVerified: false).lines)
        let id = identifier
        try updateRecord { entries in
            entries.filter { $0.kind != .awaited || $0.file != file }
                + (rest.map { [$0.entry(store: id, file: file)] } ?? [])
        }
    }
}
