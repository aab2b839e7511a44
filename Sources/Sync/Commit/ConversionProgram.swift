import Git
import Stores
import System
import SystemPackage

/// Asks git for what its filters make of a file (gitattributes(5)): those that the user's configuration defines, and no
/// others. What is pushed can name one of them, as it can for git.
enum ConversionProgram {
    static func run(_ request: ConversionRequest) throws(GitError) -> [UInt8] {
        switch request.direction {
        case .toGit:
            let path = "--path=\(request.path)"
            do throws(GitError) {
                let name = name(try git(["hash-object", "-w", "--stdin", path], request, request.bytes))
                return try git(["cat-file", "blob", name], request)
            } catch {
                // An encoding that iconv does not know, or that is not the file's: git stores nothing, and takes the file
                // for what it is, byte for byte, whenever it looks at it. A filter that must not fail fails here, too.
                let looked = try git(["hash-object", "--stdin", path], request, request.bytes)
                guard try name(looked) == Repository.blobID(of: request.bytes).hex else { throw error }
                return request.bytes
            }
        case .toWorkingTree:
            let id = try Repository.blobID(of: request.bytes)
            return try git(["cat-file", "--filters", "--path=\(request.path)", id.hex], request)
        }
    }

    private static func name(_ output: [UInt8]) -> String {
        String(decoding: output.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func git(
        _ words: [String], _ request: ConversionRequest, _ input: [UInt8] = []
    ) throws(GitError) -> [UInt8] {
        var environment = ProcessEnvironment.forGit
        environment["LC_ALL"] = "C"
        environment["GIT_DIR"] = request.gitDirectory.string
        environment["GIT_WORK_TREE"] = request.top.string
        let outcome: ChildProcess.Outcome
        outcome = try rethrowing(
            ChildProcess.run(
                ["git"] + words, environment: environment, directory: request.top, input: input,
                timeout: .seconds(60))
        ) { (error: Errno) in
            GitError(
                code: .other,
                message: "cannot start git to convert \(request.path): \(error)")
        }
        guard outcome.status == 0 else {
            let said = outcome.errors.split(whereSeparator: \.isNewline).joined(separator: "; ")
            throw GitError(code: .other, message: "git cannot convert \(request.path): \(said.prefix(400))")
        }
        return outcome.output
    }
}
