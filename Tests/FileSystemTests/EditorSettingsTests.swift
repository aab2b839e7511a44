import Glibc
import SystemPackage
import TestKit
import Testing

/// The settings in `share/editors` keep what an editor remembers of a secret off the disk, however the user has set it
/// up; without them it is there, so the test can fail.
@Suite struct EditorSettingsTests {
    private static let settings = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .removingLastComponent().appending("share/editors")

    /// Whether the settings are used.
    private static let both = [true, false]

    private func checkLeaks(_ isProtected: Bool, _ mounted: Mounted) throws {
        #expect(try mounted.read("e/f").contains("\(mounted.marker) typed"), "the editor has saved")
        // All of the home but the mount itself.
        let found = try mounted.home.run(
            ["bash", "-c", "shopt -s dotglob; GLOBIGNORE=mnt; grep -arlF \(mounted.marker) *"])
        if isProtected {
            #expect(found.output == "")
        } else {
            #expect(found.output != "", "nothing is to be kept off the disk")
        }
    }

    @Test(.slow, arguments: ["vim", "nvim"], both)
    func vim(_ editor: String, _ isProtected: Bool) throws {
        try Mounted.with { mounted in
            let home = mounted.home
            _ = try mounted.prepare()
            try home.succeed(["mkdir", "-p", "v/undo", "v/backup", "v/swap", "config/nvim"])
            let common = """
                set nocompatible undofile undodir=~/v/undo backup backupdir=~/v/backup backupskip=
                set directory=~/v/swap history=100 shortmess+=A

                """
            try home.write(
                common
                    + (isProtected ? "source \(Self.settings.appending("passdir.vim"))\n" : ""),
                to: editor == "vim" ? ".vimrc" : "config/nvim/init.vim")
            try Terminal.with(
                home, "PASSDIR_MOUNT=\(home.mountPoint) \(editor) f", in: mounted.folder.appending("e")
            ) {
                vim in
                try vim.wait(for: "two")
                try vim.type("yy", "/\(mounted.marker)", "Enter", "Go\(mounted.marker) typed", "Escape")
                try vim.type(":preserve", "Enter", ":w", "Enter")
                try home.waitUntil("vim's save") {
                    // Between the two renames of its save the file is not there.
                    (try? mounted.read("e/f"))?.contains("typed") == true
                }
                // While it runs.
                try checkLeaks(isProtected, mounted)
                try vim.type(":wq", "Enter")
                try vim.waitForEnd()
            }
            try checkLeaks(isProtected, mounted)
        }
    }

    @Test(.slow, arguments: both)
    func emacs(_ isProtected: Bool) throws {
        try Mounted.with { mounted in
            let home = mounted.home
            _ = try mounted.prepare()
            try home.succeed(["mkdir", "-p", "x/backup", "x/autosave", ".emacs.d"])
            try home.write(
                """
                (setq backup-directory-alist '(("." . "~/x/backup/")) backup-enable-predicate (lambda (_) t)
                      auto-save-file-name-transforms '((".*" "~/x/autosave/" t)) lock-file-name-transforms nil
                      inhibit-startup-screen t)
                (setq savehist-additional-variables '(kill-ring search-ring))
                (savehist-mode 1)
                (recentf-mode 1)
                (save-place-mode 1)
                \(isProtected ? "(load \"\(Self.settings.appending("passdir.el"))\")" : "")
                """, to: ".emacs.d/init.el")
            // By name: where USER is not who runs it, emacs looks for that user's own.
            let command = "PASSDIR_MOUNT=\(home.mountPoint) emacs -nw -q -l ~/.emacs.d/init.el f"
            try Terminal.with(home, command, in: mounted.folder.appending("e")) { emacs in
                try emacs.wait(for: "two")
                try emacs.type("C-k", "C-y", "C-s", mounted.marker, "Enter", "M->")
                try emacs.type("\(mounted.marker) typed", "Enter", "M-x", "do-auto-save", "Enter")
                try emacs.type("C-x", "C-s")
                try home.waitUntil("emacs' save") {
                    (try? mounted.read("e/f"))?.contains("typed") == true
                }
                try emacs.type("C-x", "C-c")
                try emacs.waitForEnd()
            }
            try checkLeaks(isProtected, mounted)
            let names = try home.run(["grep", "-rlF", "mnt/work", ".emacs.d", "x"]).output
                .split(separator: "\n").filter { !$0.hasSuffix("init.el") }
            #expect(names.isEmpty == isProtected, "places and recent files: \(names)")
        }
    }

    @Test(arguments: both)
    func nano(_ isProtected: Bool) throws {
        try Mounted.with { mounted in
            let home = mounted.home
            _ = try mounted.prepare()
            try home.succeed(["mkdir", "-p", "n", "data/nano", ".local/share"])
            try home.write(
                "set backup\nset backupdir \(home.path("n"))\nset historylog\nset positionlog\n",
                to: ".nanorc")
            let option = isProtected ? "--rcfile=\(Self.settings.appending("passdir.nanorc"))" : ""
            try Terminal.with(home, "nano \(option) f", in: mounted.folder.appending("e")) { nano in
                try nano.wait(for: "two")
                try nano.type("C-w")
                try nano.wait(for: "Search")
                try nano.type(mounted.marker, "Enter", "\(mounted.marker) typed ", "C-o")
                try nano.wait(for: "File Name to Write")
                try nano.type("Enter")
                try nano.wait(for: "Wrote")
                try nano.type("C-x")
                try nano.waitForEnd()
            }
            try checkLeaks(isProtected, mounted)
        }
    }
}
