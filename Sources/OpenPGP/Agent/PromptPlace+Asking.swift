import Glibc
import System
import SystemPackage

extension PromptPlace {
    /// Where the person sits who runs a program: its controlling terminal, and what the environment that it was started
    /// with says of a display and a language.
    ///
    /// nil where it has neither a terminal nor a display, is gone, may not be looked into, or is in another mount
    /// namespace, whose `/dev/pts/0` is another terminal than ours.
    /// - Parameter id: of a process or of one of its threads.
    public static func of(process id: Int32) -> PromptPlace? {
        guard let folder = ProcessFolder(id), let space = folder.target(of: "ns/mnt"),
            space == FilePath("/proc/self/ns/mnt").linkTarget,
            let environment = folder.environment(of: Self.countingNames)
        else { return nil }
        let terminal = terminal(of: folder)
        guard terminal != nil || ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0] != nil })
        else { return nil }
        return PromptPlace(
            terminal: terminal, terminalType: environment["TERM"], environment: environment)
    }

    /// The terminal that a process's keys come from.
    static func terminal(of folder: borrowing ProcessFolder) -> String? {
        guard let facts = ProcessFacts(of: folder), let path = facts.terminal else { return nil }
        // The C library has such a number as the kernel has it here.
        guard let file = FilePath(path).facts(), file.st_mode & S_IFMT == S_IFCHR,
            file.st_rdev == dev_t(facts.terminalNumber), access(path, R_OK | W_OK) == 0
        else { return nil }
        return path
    }
}
