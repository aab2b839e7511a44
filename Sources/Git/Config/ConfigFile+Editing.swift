import CGit
import SystemPackage

extension ConfigFile {
    /// Makes all edits at once: the file is replaced by one that holds all of them, or left as it was.
    ///
    /// Folders above it are made (0700); a new file has the mode 0600, an old one keeps its mode. A symbolic link at
    /// `path` stays, its target is replaced.
    /// - Throws: `.locked` when another process edits the file now, `.invalid` for an impossible name.
    public func edit(_ edits: [Edit]) throws(ConfigFileError) {
        for edit in edits { try checkName(edit) }
        let replacement = try ConfigReplacement(of: path)
        for edit in edits {
            switch edit {
            case .set(let name, let value):
                // A key may stand in the file more than once, where the last one counts; one line takes their place.
                let found = try variables(of: replacement.copy)
                if found.count(where: { ConfigName.areSame($0.name, name) }) > 1 {
                    try delete(name, in: replacement)
                }
                try change(replacement.copy, "cannot set \(name)") { git_config_set_string($0, name, value) }
                try checkThat(name, is: value, in: replacement.copy)
            case .delete(let name):
                try delete(name, in: replacement)
            case .setValues(let name, let subsection, let values):
                let text = try ConfigReplacement.bytes(of: replacement.copy) ?? []
                try replacement.write(ConfigScan(text).setting(values, in: name.lowercased(), subsection))
            case .removeSection(let name, let subsection):
                let text = try ConfigReplacement.bytes(of: replacement.copy) ?? []
                try replacement.write(ConfigScan(text).removing(name.lowercased(), subsection, from: text))
            case .renameSection(let name, let from, let to):
                let text = try ConfigReplacement.bytes(of: replacement.copy) ?? []
                try replacement.write(ConfigScan(text).renaming(name.lowercased(), from, to))
            case .moveSection(let name, let subsection, let place):
                let text = try ConfigReplacement.bytes(of: replacement.copy) ?? []
                try replacement.write(ConfigScan(text).moving(name.lowercased(), subsection, place))
            }
        }
        try replacement.commit()
        try reload()
    }

    /// Refuses a name that would make the file one that nobody can read: a header ends with its line.
    private func checkName(_ edit: Edit) throws(ConfigFileError) {
        let name: String? =
            switch edit {
            case .set(let name, _): name
            case .setValues(_, let subsection, _): subsection
            case .renameSection(_, _, let to): to
            case .delete, .removeSection, .moveSection: nil
            }
        guard let name, name.unicodeScalars.contains(where: { ["\n", "\r", "\0"].contains($0) }) else {
            return
        }
        throw ConfigFileError(
            code: .invalid, message: "'\(name)' contains a line break, which no name in this file may",
            file: path)
    }

    /// Every line of it.
    private func delete(_ name: String, in replacement: borrowing ConfigReplacement) throws(ConfigFileError) {
        try giveValues(to: name, in: replacement)
        try change(replacement.copy, "cannot remove \(name)") {
            git_config_delete_multivar($0, name, ".*")
        }
        // libgit2 passes over one that stands in the line of its section's header.
        guard try variables(of: replacement.copy).contains(where: { ConfigName.areSame($0.name, name) })
        else { return }
        throw ConfigFileError(
            code: .invalid,
            message:
                "\(name) cannot be removed: it is on the same line as a header; put it on a line of its own",
            file: path)
    }

    /// Writes `=` behind a key that stands alone (`[commit] delay`, which means true): libgit2 1.5 compares the value that it
    /// does not have with a pattern, and dies.
    private func giveValues(to name: String, in replacement: borrowing ConfigReplacement)
        throws(ConfigFileError)
    {
        let found = try variables(of: replacement.copy)
        let isMeant = found.map { $0.value == nil && ConfigName.areSame($0.name, name) }
        guard isMeant.contains(true) else { return }
        var text = try ConfigReplacement.bytes(of: replacement.copy) ?? []
        let places = ConfigScan(text).variables
        guard places.count == found.count else {
            throw ConfigFileError(
                code: .invalid, message: "\(name) cannot be removed: add a = after it first", file: path)
        }
        for (place, _) in zip(places, isMeant).filter({ $0.1 }).reversed() {
            text.insert(UInt8(ascii: "="), at: place.end)
        }
        try replacement.write(text)
    }

    /// libgit2 writes behind a line that a backslash continues, and behind the first of two headers in a line: what it
    /// wrote is then part of something else.
    private func checkThat(_ name: String, is value: String, in file: FilePath) throws(ConfigFileError) {
        guard ConfigName(name) != nil else { return }
        let written = try variables(of: file).last { ConfigName.areSame($0.name, name) }
        guard written?.value != value else { return }
        throw ConfigFileError(
            code: .invalid,
            message:
                "\(name) cannot be set: look for a backslash at the end of the last line of a section, and for two "
                + "headers in one line", file: path)
    }

    private func change(
        _ file: FilePath, _ doing: String, _ body: (OpaquePointer) -> Int32
    ) throws(ConfigFileError) {
        do {
            let config = try Owned(doing, free: git_config_free) { made in
                file.withPlatformString { git_config_open_ondisk(&made, $0) }
            }
            try check(body(config.pointer), doing)
        } catch {
            throw located(error)
        }
    }
}
