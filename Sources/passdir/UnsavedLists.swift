import Daemon

/// What the commands about recipients say first: that a list was edited in the mount and is not saved.
enum UnsavedLists {
    static func tell(_ sharing: Sharing, at path: String) {
        tell(sharing.unsavedLists(at: path))
    }

    static func tell(_ sharing: Sharing, ofStore name: String) {
        tell(sharing.unsavedLists(ofStore: name))
    }

    private static func tell(_ sentences: [String]) {
        for sentence in sentences { StandardError.print("passdir: \(sentence)") }
    }
}
