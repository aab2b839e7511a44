import ArgumentParser
import Daemon
import Glibc
import Stores
import System
import SystemPackage

/// `passdir edit`: the mount's file in an editor, so that no temporary file ever holds the text.
struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Edit a secret in your editor.",
        discussion: """
            Runs $VISUAL, else $EDITOR, else vi, on the secret's file in the mount, so your stores must be mounted. A secret \
            that cannot be read is not opened. The exit status is that of the editor. docs/editors.md says what editors \
            leave behind.

            Example: passdir edit work/mail/imap
            """
    )

    @Argument(
        help: "The secret, which may be new: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    func run() throws {
        let environment = CallerEnvironment.variables()
        let place = try NewPlace.find(path, environment: environment)
        if place.kind == .nothing, place.isBesideFolder {
            throw CommandFailure("\(place.name) is a folder: name a secret in it")
        }
        let known = try place.lookToSave(environment: environment)
        let note = place.noteOfNewFolder
        let file = try MountedFile.path(of: place, environment: environment)
        defer { place.removeUnusedFolders() }
        // An editor would show an error, or a new file, which it may save over the secret.
        if known != nil {
            _ = try LockedStore.during(reading: place, environment: environment) {
                try place.text(cancellation: $0, environment: environment)
            }
        }
        let editor =
            [environment["VISUAL"], environment["EDITOR"]].compactMap(\.self).first { !$0.isEmpty } ?? "vi"
        // The variable may hold options, as for git and pass.
        let words = ["sh", "-c", "exec \(editor) \"$1\"", "sh", file.string]
        let end: ChildProcess.End
        do throws(Errno) {
            end = try ChildProcess(
                words, environment: environment, descriptors: (STDIN_FILENO...STDERR_FILENO).map { $0 },
                group: .ours
            ).wait()
        } catch {
            throw CommandFailure("cannot run sh: \(error)")
        }
        let isSame = Result { try place.lookToSave(environment: environment) == known }
        guard end == .exited(0) else {
            let outcome = try? isSame.get() ? "nothing changed in \(place.name)" : "\(place.name) was saved"
            let words = ["\(editor) ended with status \(end.status)", outcome].compactMap(\.self)
            StandardError.print("passdir: \(words.joined(separator: "; "))")
            throw ExitCode(end.status)
        }
        guard try !isSame.get() else { return Output.success("nothing changed in \(place.name)") }
        Output.success("saved \(place.name)")
        Output.tell(note)
    }
}
