import ArgumentParser
import Contents
import Daemon
import Stores
import System
import SystemPackage

extension Escaping: ExpressibleByArgument {}

/// `passdir render`: a template with its values, on standard output.
struct RenderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render",
        abstract: "Print a file with a value for each reference to a secret in it.",
        discussion: """
            A reference is passdir://STORE/PATH for a whole secret, with #first for its first line, #KEY for a field or ?otp for \
            its present one-time code behind it. Values are escaped for the kind of file that the name's ending says, or --for. \
            If a reference has no value, nothing is printed.

            A reference ends at the first character that is no letter or digit of ASCII and none of -._~%!$*+=:@/?#, which must \
            be white space or one of "'`,;)]}><|& with no part of a name behind it. passdir://{...} holds spaces and all else \
            up to the brace, with #first, #KEY or ?otp inside: passdir://{work/R&D#first}.

            A value is escaped for the file's own kind only, not for another interpreter that reads a part of it, such as SQL, \
            awk or a shell on another host. A reference where a shell itself would run the value (eval, let, [[ ]], bash -c) is \
            refused.

            The access rules apply to the program that runs this command. There is no option for a file to write to: the secrets \
            would stay on disk. A program that can be given its variables needs no file: see 'passdir help run'.

            Examples:
              passdir render app.yaml.tpl | kubectl apply -f -
              echo 'user = "me:passdir://work/web#first"' | passdir render - | curl -K - URL
            """
    )

    @Argument(help: "The template; - is standard input.", completion: .file())
    var file: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("The kind of file. (default: by the name's ending, else raw)", valueName: "kind"))
    var kind: Escaping?

    func run() throws {
        let environment = CallerEnvironment.variables()
        let input = try TemplateInput(file, orStandardInput: true)
        let template = try input.naming { (bytes) throws(ContentsError) in try Template(bytes) }
        let kind = kind ?? Escaping(fileName: file)
        let stores = template.resolved(for: kind).map(\.target.store)
        let text = try LockedStore.during(reading: stores, environment: environment) { cancellation in
            let values = try ReferencedValues(cancellation: cancellation, environment: environment)
            return try input.naming { (_) throws(ContentsError) in
                try template.render(for: kind) {
                    try values.value(of: $0.target)
                }
            }
        }
        Output.write(secret: text)
    }
}
