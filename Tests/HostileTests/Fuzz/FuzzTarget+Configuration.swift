import Git
import Settings
import SystemPackage

extension FuzzTarget {
    /// The configuration file, which people and other programs edit.
    static let configuration = FuzzTarget(
        name: "configuration", most: 1 << 14,
        tokens: [
            "[", "]", "[store \"work\"]\n", "[store.other]\n", "\"", "\\", "\\\"", "\\\n", "=", " = ", "#",
            ";",
            "\n", "\r\n", "\t", "\u{feff}", "[include]\n", "path = ~/x\n", "\\n", "\\t", "\\b", "k", "m", "g",
            "ms", "h", ".", "[commit] delay = 1s\n", "é",
        ],
        item: { configurationFile(&$0) },
        read: { input, random in try readConfiguration(input, &random) })

    private static func configurationFile(_ random: inout FuzzRandom) -> [UInt8] {
        var text = random.once(in: 12) ? "\u{feff}" : ""
        for setting in Catalogue.all where setting.place == .configuration && random.once(in: 8) {
            let parts = setting.name.split(separator: ".").map(String.init)
            text += "[\(parts[0])]\(random.pick(["\n\t", " ", "\n"]))\(parts[1]) = \(setting.defaultText)"
            text += random.pick(["\n", "\r\n", " # why\n", "\n; a comment\n"])
        }
        for number in 0..<random.below(4) {
            text += random.pick(["", "# the next\n"])
            text += random.pick(["[store \"s\(number)\"]\n", "[Store \"a \\\"b\\\\ \(number)\"]\n"])
            text += "\tpath = \(random.pick(["~/.password-store", "\"/a b\"", "/x\\\n  y", "/s\(number)"]))\n"
            if random.once(in: 2) { text += "\tid = 0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7\(number)\n" }
            if random.once(in: 2) { text += "\tcommitDelay = \(random.below(99))s\n" }
        }
        return Array(text.utf8)
    }

    private static func readConfiguration(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        let path = try input.write(to: "config")
        let read: Configuration
        do {
            read = try Configuration(file: path)
        } catch {
            try claim(!"\(error)".contains("changed while"), "nobody changed the file: \(error)")
            return
        }
        _ = try? read.validate()
        let stores = try read.stores()
        for store in stores {
            _ = try? read.value(Catalogue.commitDelay, store: store.name)
            try claim(store.line > 0, "a store on no line")
        }
        _ = try? read.value(Catalogue.commitDelay)
        guard random.once(in: 4) else { return }
        try editConfiguration(read, stores.map(\.name), &random)
        // Everything that was written is read again, by who knows nothing of it.
        let again = try Configuration(file: path)
        try claim(try again.stores() == read.stores(), "stores are not those that were written")
    }

    private static func editConfiguration(
        _ configuration: Configuration, _ names: [String], _ random: inout FuzzRandom
    ) throws {
        do {
            switch random.below(6) {
            case 0:
                try configuration.set("commit.delay", "7s")
                try claim(try configuration.value(Catalogue.commitDelay) == .seconds(7), "another delay")
            case 1: try configuration.unset("commit.delay")
            case 2:
                try configuration.addStore(name: "n\"e\\w", values: [("path", "/n#e;w \"x\"")])
                let path = try configuration.stores().first { $0.name == "n\"e\\w" }?.text("path")?.value
                try claim(path == "/n#e;w \"x\"", "the path of a new store is \(path ?? "nil")")
            case 3 where !names.isEmpty:
                let name = random.pick(names)
                try configuration.renameStore(name: name, to: "other \"name\"")
                let now = try configuration.stores().map(\.name)
                try claim(
                    now == names.map { $0 == name ? "other \"name\"" : $0 },
                    "renamed to \(now), from \(names)")
            case 4 where names.count > 1:
                try configuration.moveStore(name: names[0], to: .after(names[names.count - 1]))
                try claim(try Set(configuration.stores().map(\.name)) == Set(names), "moving loses a store")
            default:
                guard let name = names.first else { return }
                try configuration.removeStore(name: name)
                try claim(try configuration.stores().map(\.name) == names.filter { $0 != name }, "removed")
            }
        } catch let error as SettingsError {
            // A name that is taken, or a value that is not allowed, is for the user to put right.
            guard [.storeExists, .name, .value, .unknown, .syntax].contains(error.code) else { throw error }
        }
    }
}
