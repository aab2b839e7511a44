import ArgumentParser
import Contents
import Daemon
import Settings
import Stores
import System
import SystemPackage

/// `passdir template`: templates that the mount shows as files with their values.
struct TemplateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "template",
        abstract: "Have the mount show a template as a file with its values.",
        discussion: """
            A template is a file of yours with references to secrets, as in 'passdir render'. Once it is registered, the file \
            .passdir/rendered/NAME in the mount has a value for each reference. It is made when a program opens it: the \
            template and each secret are read then, the access rules apply to that program for every secret, and the values \
            are kept in memory only. Programs that read a fixed path need a link to it: see 'passdir help link'.

            Whoever can change a template decides which of your secrets are put into it.

            Examples:
              passdir template add env ~/project/.env.tpl
              passdir template add npmrc ~/.config/npmrc.tpl --for ini
              docker compose --env-file ~/passdir/.passdir/rendered/env up
            """,
        subcommands: [TemplateAddCommand.self, TemplateListCommand.self, TemplateRemoveCommand.self]
    )

    /// The names of templates, as shells complete them.
    static let completion = CompletionKind.words { names($0) }

    static func names(_ prefix: String) -> [String] {
        let environment = CallerEnvironment.variables()
        let file = Configuration.defaultPath(environment: environment)
        let names = (try? Configuration(file: file))?.templateSections.map(\.name) ?? []
        return names.filter { $0.hasPrefix(prefix) }
    }
}

/// `passdir template add`.
struct TemplateAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register a template.",
        discussion: """
            The template stays where it is, and is read anew each time the file with its values is opened. A template that has \
            this name already is replaced by this one. Values are escaped for the kind of file, as in 'passdir render'.

            Example: passdir template add env ~/project/.env.tpl
            """
    )

    @Argument(help: "The name of the file with the values.")
    var name: String

    @Argument(help: "The template.", completion: .file())
    var file: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "The kind of file. (default: by the template's ending, else by the name's, else raw)",
            valueName: "kind"))
    var kind: Escaping?

    func run() throws {
        let context = try StoreContext()
        let hasReference = try context.templates.add(name, file: FilePath(file), for: kind)
        context.daemon.reload()
        Output.success("\(name): \(FilePath(file).absolute)")
        if !hasReference {
            Output.success("it has no reference to a secret yet, such as passdir://STORE/PATH#first")
        }
    }
}

/// `passdir template list`.
struct TemplateListCommand: ParsableCommand, CommandWithoutArguments {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the templates.",
        discussion: """
            Lists the name of each template, the kind of file, the template, and what went wrong if the file with its values \
            could not be made when it was opened last.

            Example: passdir template list --json | jq -r '.[].path'
            """, aliases: OtherNames.of("list"))

    @Flag(help: "Print a JSON array with an object for each template.")
    var json = false

    func run() throws {
        let reports = try StoreContext().templates.reports()
        guard !json else { return Output.print(json: reports) }
        guard !reports.isEmpty else { return }
        var table = TextTable(["NAME", "KIND", "TEMPLATE", "ERROR"])
        for report in reports { table.add([report.name, report.kind, report.file, report.error ?? "-"]) }
        Output.print(table)
    }
}

/// `passdir template remove`.
struct TemplateRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "No longer show a file with the values of a template.",
        discussion: """
            The template itself stays. So do links to the file with its values, which then lead nowhere: 'passdir unlink' \
            removes them.

            Example: passdir template remove env
            """, aliases: OtherNames.of("remove"))

    @Argument(help: "The name.", completion: TemplateCommand.completion)
    var name: String

    func run() throws {
        let context = try StoreContext()
        let links = try context.templates.remove(name)
        context.daemon.reload()
        Output.success("\(name) is no longer a template")
        for link in links {
            Output.success(
                "the link \(link) leads nowhere now: passdir unlink \(ShellWord.quoted(link.string)) removes it"
            )
        }
    }
}

extension StoreContext {
    /// The templates that are registered.
    var templates: TemplateRegistry {
        TemplateRegistry(registry.configuration, environment: environment)
    }
}
