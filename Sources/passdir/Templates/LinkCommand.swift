import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// `passdir link`: a symbolic link to a file of the mount, where a program looks for its file.
struct LinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Place a symbolic link to a rendered file or a secret.",
        discussion: """
            For programs that read a file at a fixed path, such as ~/.netrc, ~/.npmrc or ~/.aws/credentials. NAME is a template \
            ('passdir help template'), else a secret. What has the path already is left alone, unless --replace keeps it under \
            another name beside it; 'passdir unlink' puts it back.

            A program that saves its file by a rename replaces the link by a file of its own: --list shows that.

            Examples:
              passdir link npmrc ~/.npmrc --replace
              passdir link work/ssh/id_deploy ~/.ssh/id_deploy
              passdir link --list
            """
    )

    @Argument(help: "A template's name, or a secret.", completion: .words(complete))
    var name: String?

    @Argument(help: "Where the link is placed.", completion: .file())
    var path: String?

    @Flag(help: "Keep what is there under another name, and put the link in its place.")
    var replace = false

    @Flag(help: "List the links that were placed.")
    var list = false

    @Flag(help: "With --list: print a JSON array with an object for each link.")
    var json = false

    func validate() throws {
        guard list else {
            if json { throw ValidationError("--json requires --list") }
            guard name != nil, path != nil else {
                throw ValidationError("name a template or a secret, and where the link is placed")
            }
            return
        }
        guard name == nil, !replace else { throw ValidationError("--list takes no other arguments") }
    }

    func run() throws {
        let links = LinkPlacement(environment: CallerEnvironment.variables())
        guard !list else { return try show(links) }
        guard let name, let path else { return }
        let target = try links.target(name)
        switch try links.place(target, at: FilePath(path), isReplacing: replace) {
        case .placed, .wasThere: Output.success("\(path) leads to \(target)")
        case .replaced(let kept): Output.success("\(path) leads to \(target); what was there is \(kept)")
        }
    }

    private func show(_ links: LinkPlacement) throws {
        let reports = try links.reports()
        guard !json else { return Output.print(json: reports) }
        guard !reports.isEmpty else { return }
        var table = TextTable(["PATH", "STATE", "TARGET", "KEPT"])
        for link in reports {
            table.add([link.path, Self.word(link.state), link.target, link.kept ?? "-"])
        }
        Output.print(table)
    }

    private static func word(_ state: LinkReport.State) -> String {
        switch state {
        case .works: "works"
        case .leadsNowhere: "leads nowhere"
        case .missing: "missing"
        case .replaced: "another file"
        }
    }

    @Sendable private static func complete(_ prefix: String) -> [String] {
        TemplateCommand.names(prefix) + PlaceCompletion.anywhere(prefix, foldersOnly: false)
    }
}

/// `passdir unlink`.
struct UnlinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlink",
        abstract: "Remove a link that passdir placed, and put back what was there.",
        discussion: """
            Only links that 'passdir link' has placed are removed. If a program has put a file of its own in the link's place, \
            that file stays; nothing is changed while there is something to put back.

            Example: passdir unlink ~/.npmrc
            """
    )

    @Argument(help: "The link.", completion: .words(complete))
    var path: String

    func run() throws {
        switch try LinkPlacement(environment: CallerEnvironment.variables()).remove(FilePath(path)) {
        case .removed: Output.success("removed the link \(path)")
        case .restored: Output.success("\(path) is what it was before the link")
        case .forgotten: Output.success("\(path) is another program's file, and stays as it is")
        case .lost(let kept):
            Output.success("removed the link \(path)")
            StandardError.warn("what was there before is no longer at \(kept)")
        }
    }

    @Sendable private static func complete(_ prefix: String) -> [String] {
        let links = try? LinkPlacement(environment: CallerEnvironment.variables()).reports()
        return (links ?? []).map(\.path).filter { $0.hasPrefix(prefix) }
    }
}
