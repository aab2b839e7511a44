import ArgumentParser
import Daemon
import Glibc
import System
import SystemPackage

/// The command: reads its arguments, asks the daemon's parts, prints. It holds no rule of its own.
@main
struct Passdir: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passdir",
        abstract: "Mount the password stores of 'pass' as directories of plain files.",
        discussion: """
            Every store is a directory under the mount point, and every secret is a file. Reading a file decrypts it. Saving \
            it encrypts it to the recipients in .gpg-id; the change is then committed and pushed in the background.

            Without any setup, 'passdir mount' shows your password store (~/.password-store, or \
            $PASSWORD_STORE_DIR) as ~/passdir/default.

            On a terminal, commands report what they did in one line; elsewhere, and with -q or --quiet, they do not. What \
            you ask for, questions, warnings and errors are always printed.
            """,
        version: "passdir \(Version.number)",
        subcommands: [
            StoreCommand.self, MountCommand.self, UnmountCommand.self, StatusCommand.self, SyncCommand.self,
            DiscardCommand.self, LockCommand.self, UnlockCommand.self,
            ShowCommand.self, OTPCommand.self, GenerateCommand.self, InsertCommand.self, EditCommand.self,
            RemoveCommand.self,
            MoveCommand.self, CopyCommand.self, FindCommand.self, GrepCommand.self,
            RenderCommand.self, RunCommand.self, TemplateCommand.self, LinkCommand.self, UnlinkCommand.self,
            ListCommand.self, SearchCommand.self, LogCommand.self, RestoreCommand.self, ConflictsCommand.self,
            AccessCommand.self, RecipientsCommand.self, KeysCommand.self, CredentialCommand.self,
            HealthCommand.self, AuditCommand.self,
            EraseCommand.self, TransferSubcommand.self, HoldClipboardSubcommand.self,
        ]
    )

    /// Runs the command that the arguments name. Exit status: 0 success, 1 failure, 64 wrong usage.
    static func main() {
        CrashSignals.useDefaults()
        ProcessProtection.forbidCoreDumps()
        do {
            let arguments = MisspelledOption.withNegativeValues(
                try NestedCommand.resolved(
                    PassOptions.rewritten(withoutQuiet(CommandLine.arguments.dropFirst()))))
            var command = try parseAsRoot(arguments)
            if PassWords.areOfPass(arguments) {
                try FirstStep.check(arguments)
                StoreVariable.tell()
            }
            try command.run()
        } catch let wrong as WrongUsage {
            StandardError.print("passdir: " + wrong.message)
            Glibc.exit(EX_USAGE)
        } catch let error as ControlError where error.code == .noDaemon {
            fail(CommandFailure.noDaemon())
        } catch let error as any SentenceError {
            fail(error)
        } catch let error as Errno {
            fail(error)
        } catch let code as ExitCode {
            Glibc.exit(code.rawValue)
        } catch {
            exitWithParserMessage(error)
        }
    }

    /// The arguments but for `--quiet`, which every command takes, and which is heeded here.
    private static func withoutQuiet(_ arguments: ArraySlice<String>) -> [String] {
        let command = arguments.firstIndex { !$0.hasPrefix("-") } ?? arguments.endIndex
        // All that follows is grep's.
        let isGrep = command < arguments.endIndex && arguments[command] == "grep"
        let end = isGrep ? command : arguments.firstIndex(of: "--") ?? arguments.endIndex
        var kept: [String] = []
        for argument in arguments[..<end] {
            guard argument == "--quiet" || isBundle(argument), argument.contains("q") else {
                kept.append(argument)
                continue
            }
            Output.beQuiet()
            let rest = argument.filter { $0 != "q" }
            if argument != "--quiet", rest != "-" { kept.append(rest) }
        }
        return kept + arguments[end...]
    }

    /// Short options in one word, as `-rfq`.
    private static func isBundle(_ argument: String) -> Bool {
        argument.count > 1 && argument.first == "-"
            && argument.dropFirst().allSatisfy { $0.isASCII && $0.isLetter }
    }

    /// A page of help, with the option that is taken out before the parser sees it.
    private static func withQuiet(_ text: String) -> String {
        let help = "\n  -h, --help "
        guard text.contains("OPTIONS:"), !text.contains("USAGE: passdir grep"),
            let place = text.ranges(of: help).first
        else { return text }
        let column = text[place.upperBound...].prefix { $0 == " " }.count + help.count - 1
        let option = "  -q, --quiet "
        let padding = String(repeating: " ", count: max(0, column - option.count))
        let line = "\n" + option + padding + "Do not say what was done."
        return text.replacing(help, with: line + help, maxReplacements: 1)
    }

    private static func fail(_ error: some CustomStringConvertible) -> Never {
        StandardError.print("passdir: \(error)")
        Glibc.exit(EXIT_FAILURE)
    }

    /// Help and version go to standard output; wrong usage goes to standard error, the message first.
    private static func exitWithParserMessage(_ error: any Error) -> Never {
        let code = exitCode(for: error)
        var text = Substring(fullMessage(for: error))
        guard code != .success else {
            Output.print(ownText: CompletionScript.finished(withQuiet(String(text))))
            Glibc.exit(EXIT_SUCCESS)
        }
        // What went wrong is said already.
        if text.isEmpty { Glibc.exit(code.rawValue) }
        if text.hasPrefix("Error: ") { text = text.dropFirst(7) }
        // The message quotes arguments; how the command is used, below it, does not.
        let quoting = message(for: error)
        let rest = text.hasPrefix(quoting) ? String(text.dropFirst(quoting.count)) : ""
        // Of several lines, which the parser makes where a word may mean two things, one is made.
        let said = (rest.isEmpty ? String(text) : quoting).split(separator: "\n")
            .map { $0.drop { $0 == " " } }.joined(separator: " ")
        let line =
            code == .validationFailure
            ? MisspelledOption.sentence(on: Array(CommandLine.arguments.dropFirst())) ?? said : said
        StandardError.print("passdir: \(line)", ownText: rest)
        Glibc.exit(code.rawValue)
    }
}
