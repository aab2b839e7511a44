import System

/// Words of a command that people copy from a sentence of ours into a shell, where others may have written the words.
public enum ShellWord {
    /// One word: in quotes unless it holds nothing that a shell would look at. What printers make visible of it
    /// (`VisibleText`) is quoted, too.
    public static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "@"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return isPlain && !text.isEmpty ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
