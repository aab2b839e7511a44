import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Access

/// What a process says that it is.
@Suite struct SaidNameTests {
    /// A process that runs this, in the folder of the home, when its script is under way.
    private func reader(_ words: [String], in home: TestHome) throws -> Reader {
        unlink(home.path("ready").string)
        let program = try home.start(words)
        defer {
            program.signal(SIGTERM)
            _ = try? program.wait(limit: .seconds(20))
        }
        try home.waitUntil("the script runs") { access(home.path("ready").string, F_OK) == 0 }
        return Reader(ofThread: program.pid)
    }

    /// Its names.
    private func names(_ words: [String], in home: TestHome) throws -> [String] {
        let reader = try reader(words, in: home)
        let rule = AccessRule(.deny, under: ["agent"])
        #expect(rule.matches(reader) == reader.saidNames.contains("agent"), "\(reader)")
        #expect(!AccessRule(.allow, under: ["agent"]).matches(reader))
        return reader.saidNames
    }

    /// Options of an interpreter, with and without values, hide no script.
    @Test func aScriptIsKnownBehindOptions() throws {
        try TestHome.with { home in
            try home.succeed(["mkdir", "python", "shell", "perl"])
            try home.write("open('ready', 'w').close()\nimport time\ntime.sleep(100)\n", to: "python/agent")
            try home.succeed(["mkfifo", "gate"])
            let shell = ": > ready\nread word < gate\n"
            try home.write(shell, to: "shell/agent")
            try home.write("open(F, '>ready'); close F; sleep 100;\n", to: "perl/agent")
            for words in [
                ["python3", "python/agent"], ["python3", "-u", "python/agent"],
                ["python3", "-uW", "ignore", "python/agent"],
                ["python3", "-X", "dev", "-B", "--", "python/agent", "word"],
                ["bash", "-e", "shell/agent"], ["bash", "-o", "pipefail", "+x", "shell/agent"],
                ["sh", "-ef", "shell/agent", "-x"], ["env", "-S", "bash -e", "shell/agent"],
                ["perl", "-w", "perl/agent"],
            ] {
                #expect(try names(words, in: home).contains("agent"), "\(words)")
            }
            // What a script is told is not what it is.
            try home.write(shell, to: "shell/other")
            #expect(try !names(["bash", "shell/other", "agent"], in: home).contains("agent"))
        }
    }

    /// Nor do options that are of one word with their values, or of which one word has several values behind it.
    @Test func aScriptIsKnownInItsOption() throws {
        try TestHome.with { home in
            try home.succeed(["mkdir", "shell", "awk"])
            try home.succeed(["mkfifo", "gate"])
            let shell = ": > ready\nread word < gate\n"
            try home.write(shell, to: "shell/agent")
            try home.write(shell, to: "shell/other")
            try home.write("open('ready', 'w').close()\nimport time\ntime.sleep(100)\n", to: "agent.py")
            try home.write("all:\n\t@: > ready; read word < gate\n", to: "agent")
            try home.write(
                "BEGIN { printf \"\" > \"../ready\"; close(\"../ready\"); getline < \"../gate\" }\n",
                to: "awk/agent")
            func isBelowAgent(_ words: [String]) throws -> Bool {
                let reader = try reader(words, in: home)
                #expect(!AccessRule(.allow, under: ["agent"]).matches(reader), "\(words)")
                #expect(!AccessRule(.deny, under: ["gentle", "/opt/tent"]).matches(reader), "\(words)")
                return AccessRule(.deny, under: ["/opt/agent"]).matches(reader)
            }
            for words in [
                ["python3", "-magent"], ["python3", "-umagent"], ["python3", "-BuWignore", "-umagent"],
                ["bash", "-oO", "nounset", "extglob", "shell/agent"],
                ["bash", "-eoO", "nounset", "extglob", "+oO", "posix", "dotglob", "shell/agent"],
                ["bash", "-coO", "nounset", "extglob", ". shell/other", "shell/agent"],
                ["make", "-fagent"], ["make", "-sfagent"], ["make", "--file=agent"], ["make", "-f./agent"],
                ["make", "-j", "2", "-I", "awk", "-f", "agent"],
                ["env", "-C", "awk", "awk", "-fagent"],
                ["env", "-C", "shell", "awk", "-vx=1", "-f../awk/agent"],
            ] {
                #expect(try isBelowAgent(words), "\(words)")
            }
            // What a script is told is not what it is.
            for words in [
                ["bash", "-e", "shell/other", "tool", "agent"],
                ["bash", "-oO", "nounset", "extglob", "shell/other", "agent"],
                ["bash", "--norc", "shell/other", "tool", "agent"],
            ] {
                #expect(try !isBelowAgent(words), "\(words)")
            }
        }
    }

    /// A dash ends the options of a shell, or is one that says nothing; it is no script.
    @Test func aScriptIsKnownBehindALoneDash() throws {
        try TestHome.with { home in
            try home.succeed(["mkdir", "shell", "line"])
            try home.succeed(["mkfifo", "gate"])
            let shell = ": > ready\nread word < gate\n"
            try home.write(shell, to: "shell/agent")
            try home.write("#!/bin/sh -\n" + shell, to: "line/agent", mode: [.ownerReadWriteExecute])
            for words in [
                ["bash", "-", "shell/agent"], ["sh", "-", "shell/agent"], ["zsh", "-", "shell/agent"],
                ["bash", "-o", "errexit", "-", "shell/agent"], ["bash", "+", "shell/agent"],
                ["env", "-S", "bash -", "shell/agent"], ["env", "-", "/bin/bash", "-", "shell/agent"],
                [home.path("line/agent").string],
            ] {
                #expect(try names(words, in: home).contains("agent"), "\(words)")
            }
            try home.write(shell, to: "shell/other")
            #expect(try !names(["bash", "-", "shell/other", "agent"], in: home).contains("agent"))
        }
    }

    /// Neither many options hide a script nor a long way to it.
    @Test func aScriptIsKnownBehindMuch() throws {
        try TestHome.with { home in
            try home.succeed(["mkdir", "python"])
            try home.write("open('ready', 'w').close()\nimport time\ntime.sleep(100)\n", to: "python/agent")
            let path = "python/" + String(repeating: "./", count: 1000) + "agent"
            let options = [String](repeating: "-u", count: 5000)
            for words in [["python3", path], ["python3"] + options + ["python/agent"]] {
                #expect(try names(words, in: home).contains("agent"), "\(words.count) words")
            }
            // A script that its options put out of sight may be any.
            let many = options + options + options + options + options
            let hidden = try reader(["python3"] + many + ["python/agent"], in: home)
            #expect(AccessRule(.deny, under: ["agent"]).matches(hidden))
            #expect(!AccessRule(.allow, under: ["agent"]).matches(hidden))
            #expect(!AccessRule(.deny, program: "/opt/agent").matches(hidden))
            // What a script in sight is told doesn't matter.
            let told = try reader(["python3", "-u", "python/agent", "a"] + many, in: home)
            #expect(!AccessRule(.deny, under: ["other"]).matches(told))
            #expect(hidden.words.allSatisfy { $0.utf8.count <= 256 })
        }
    }

    /// A shell is often given a script of tens of thousands of signs, and each reader below it is looked at with it: what takes
    /// long for each sign holds up every read.
    @Test func aLongScriptInTheCommandIsNoName() throws {
        try TestHome.with { home in
            try home.succeed(["mkfifo", "gate"])
            let text = String(repeating: ": a/b//c ;\n", count: 5500) + ": > ready; read word < gate; :"
            #expect(try Set(names(["bash", "-c", text, "shell/agent/"], in: home)) == ["bash", "agent"])
        }
    }
}
