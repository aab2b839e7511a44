import SystemPackage
import TestKit
import Testing

/// Real editors save a secret: the bytes are right, it is one commit, and nothing of their own files is left.
@Suite struct EditorTests {
    private static let vim =
        "vim -N -u NONE -i NONE -es -c 'set directory=. backupdir=. undodir=. backupskip='"

    private static let vimSaves = ["auto", "yes", "no", "auto,breaksymlink,breakhardlink"].flatMap { copy in
        ["undofile", "noundofile"].flatMap { undo in
            ["backup", "nobackup"].map { backup in
                SaveCase(
                    "vim backupcopy=\(copy) \(undo) \(backup)",
                    "\(vim) -c 'set \(backup) \(undo) backupcopy=\(copy)' -c '%s/one/uno/' -c wq f")
            }
        }
    }

    @Test(.slow) func vimSavesInEveryWay() throws {
        try Mounted.with { mounted in
            for save in Self.vimSaves { try mounted.check(save) }
            try mounted.checkNothingElse()
        }
    }

    @Test(.slow) func editorsWithoutATerminal() throws {
        try Mounted.with { mounted in
            for save in [
                SaveCase(
                    "neovim",
                    "nvim --headless -u NONE -c 'set backup backupdir=. backupskip= undofile undodir=. directory=.'"
                        + " -c '%s/one/uno/' -c wq f"),
                SaveCase("neovim as it comes", "nvim --headless -u NONE -c '%s/one/uno/' -c wq f"),
                SaveCase("emacs", Self.emacs("")),
                SaveCase("emacs without backups", Self.emacs("(setq make-backup-files nil)")),
                SaveCase("emacs, precious", Self.emacs("(setq file-precious-flag t)")),
                SaveCase("emacs, backup by copying", Self.emacs("(setq backup-by-copying t)")),
                SaveCase("ed", "printf '1s/one/uno/\\nw\\nq\\n' | ed -s f"),
                SaveCase("ex", "printf '1s/one/uno/\\nwq\\n' | ex -s -u NONE -i NONE f"),
            ] { try mounted.check(save) }
            try mounted.checkNothingElse()
        }
    }

    private static func emacs(_ setting: String) -> String {
        """
        emacs -Q --batch --eval '(progn (setq backup-enable-predicate (quote always)) \(setting) (find-file "f") (goto-char 1) (search-forward "one")
        (replace-match "uno") (do-auto-save) (save-buffer))'
        """
    }

    /// A session: several saves, a commit each, and its files of its own beside it all the time.
    @Test(.slow) func vimInATerminal() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            let command =
                "vim -N -u NONE -i NONE -c 'set directory=. backup backupdir=. backupskip= undofile undodir=.' f"
            try Terminal.with(mounted.home, command, in: mounted.folder.appending("e")) { vim in
                try vim.wait(for: "two")
                try vim.type(":1s/ .*/ 0/", "Enter")
                try mounted.home.waitUntil("vim's swap file") {
                    try mounted.names(in: "e").contains(".f.swp")
                }
                for number in 1...3 {
                    try vim.type(":1s/ .*/ \(number)/", "Enter", ":w", "Enter")
                    try mounted.home.waitUntil("save \(number)") {
                        // Between vim's two renames there is no such file.
                        (try? mounted.read("e/f")) == "\(mounted.marker) \(number)\ntwo\n"
                    }
                    // What vim has written is read before it is saved, so the commit itself is waited for.
                    try mounted.home.waitUntil("commit \(number)") {
                        try mounted.subjects(since: start).count == number
                    }
                }
                let names = try mounted.names(in: "e")
                #expect(names == [".f.swp", ".f.un~", "f", "f~"])
                #expect(try mounted.backingFiles() == ["e/f.gpg"])
                try vim.type(":1s/ .*/ uno/", "Enter", ":wq", "Enter")
                try vim.waitForEnd()
            }
            let subject = "Edit password for e/f using passdir."
            try mounted.check(
                SaveCase("vim in a terminal", "", subjects: Array(repeating: subject, count: 4)), since: start
            )
            try mounted.checkNothingElse()
        }
    }

    @Test(.slow) func emacsInATerminal() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            // Under /tmp emacs makes no backups.
            let command = "emacs -nw -Q --eval \"(setq backup-enable-predicate 'always)\" f"
            try Terminal.with(mounted.home, command, in: mounted.folder.appending("e")) { emacs in
                try emacs.wait(for: "two")
                try emacs.type("X")
                try mounted.home.waitUntil("the lock of emacs") { try mounted.names(in: "e").contains(".#f") }
                #expect(try mounted.bash("readlink 'e/.#f'").contains("@"))
                try emacs.type("M-x", "do-auto-save", "Enter")
                try mounted.home.waitUntil("the autosave of emacs") {
                    try mounted.names(in: "e").contains("#f#")
                }
                #expect(try mounted.read("e/#f#").hasPrefix("X\(mounted.marker)"))
                #expect(try mounted.backingFiles() == ["e/f.gpg"])
                try emacs.type("C-a", "C-d")
                try emacs.type("M-x", "replace-string", "Enter", "one", "Enter", "uno", "Enter")
                try emacs.type("C-x", "C-s")
                try emacs.wait(for: "Wrote")
                try emacs.type("C-x", "C-c")
                try emacs.waitForEnd()
            }
            try mounted.check(SaveCase("emacs in a terminal", ""), since: start)
            let names = try mounted.names(in: "e")
            try #require(names == ["f", "f~"], "\(names)")
            #expect(try mounted.read("e/f~") == "\(mounted.marker) one\ntwo\n")
            try mounted.checkNothingElse()
        }
    }

    @Test(.slow, arguments: ["", "-B"])
    func nano(_ option: String) throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            let command = "nano -I \(option) f"
            try Terminal.with(mounted.home, command, in: mounted.folder.appending("e")) { nano in
                try nano.wait(for: "two")
                try nano.type("C-e", "BSpace", "BSpace", "BSpace", "uno")
                try nano.wait(for: "uno")
                try nano.type("C-o")
                try nano.wait(for: "File Name to Write")
                try nano.type("Enter")
                try nano.wait(for: "Wrote 2 lines")
                try nano.type("C-x")
                try nano.waitForEnd()
            }
            try mounted.check(SaveCase("nano \(option)", ""), since: start)
            #expect(try mounted.names(in: "e") == (option.isEmpty ? ["f"] : ["f", "f~"]))
            try mounted.checkNothingElse()
        }
    }

    @Test func micro() throws {
        try Mounted.with { mounted in
            let start = try mounted.prepare()
            try Terminal.with(mounted.home, "micro f", in: mounted.folder.appending("e")) { micro in
                try micro.wait(for: "two")
                try micro.type("End", "BSpace", "BSpace", "BSpace", "uno")
                try micro.wait(for: "uno")
                try micro.type("C-s")
                try micro.wait(for: "Saved")
                try micro.type("C-q")
                try micro.waitForEnd()
            }
            try mounted.check(SaveCase("micro", ""), since: start)
            try mounted.checkNothingElse()
        }
    }
}
