import Glibc
import SystemPackage
import TestKit
import Testing

/// Folders and names that others push in any number: each command says them in a few lines, and `--json` has all.
@Suite struct FloodTests {
    private static func with(_ body: (SharedStore) throws -> Void) throws {
        try SharedStore.with { shared in
            try shared.push(
                "for i in $(seq 100 119); do mkdir f$i; seq -f \"z$i-%g@example.org\" 10 >f$i/.gpg-id; cp a.gpg f$i/; done"
            )
            try body(shared)
        }
    }

    @Test(.slow) func aFloodOfListsTakesAFewLines() throws {
        try Self.with { shared in
            let keys = try shared.succeed(["keys", "work"])
            #expect(keys.split(separator: "\n").count < 60, "\(keys.prefix(3000))")
            #expect(
                keys.contains("and 190 more that are not in the keyring, named in work/f101, "),
                "\(keys.suffix(600))")
            #expect(keys.contains("passdir keys list work --json shows all"))
            #expect(try shared.succeed(["keys", "work", "--json"]).contains("z119-10@example.org"))

            let check = try shared.run(["recipients", "check", "work"]).output
            #expect(check.split(separator: "\n").count < 60, "\(check.prefix(3000))")
            #expect(
                check.contains("and 10 more problems: passdir recipients check work --json shows all"),
                "\(check)")
            #expect(check.contains("and 190 more keys that are not in the keyring"), "\(check)")
            #expect(
                try shared.run(["recipients", "check", "work", "--json"]).output.contains(
                    "z119-10@example.org"))

            // A look that takes longer than status waits for is told later.
            try shared.home.waitUntil("status tells the lists") {
                let status = try shared.run(["status"]).output
                return status.contains("and 10 more lists (f110/.gpg-id, ")
                    && status.split(separator: "\n").count < 60
            }
            try shared.home.waitUntil("all are in its object") {
                try shared.run(["status", "--json"]).output.contains("f119")
            }

            let confirm = try shared.run(["recipients", "confirm", "work"])
            #expect(
                confirm.output.contains("and 10 more lists that cannot be used as they are (f110/"),
                "\(confirm)")
            #expect(confirm.errors.utf8.count < 1000, "\(confirm.errors)")
        }
    }

    /// What can be approved is shown to the last key.
    @Test(.slow) func whatIsApprovedIsShownInFull() throws {
        try Self.with { shared in
            try shared.push("for i in $(seq 119 -1 115); do echo $EVE >f$i/.gpg-id; done")
            let confirm = try shared.run(["recipients", "confirm", "work"])
            for number in 115...119 {
                #expect(confirm.output.contains("f\(number)/.gpg-id: changed"), "\(number) \(confirm)")
            }
            #expect(
                confirm.output.contains("and 5 more lists that cannot be used as they are"), "\(confirm)"
            )
        }
    }

    /// A folder that somebody pushed is no trouble of the store, and its keys are nothing to be imported.
    @Test func savingFailsOnlyWhereTheListIs() throws {
        try SharedStore.with { shared in
            try shared.push(
                "mkdir evil .public-keys; echo mallory@example.org >evil/.gpg-id; touch .public-keys/x")
            let status = try shared.run(["status"]).output
            let saving = status.split(separator: "\n").filter { $0.contains("saving ") }.joined()
            #expect(saving.contains("only in work/evil, and works elsewhere"), "\(status)")
            #expect(
                saving.contains("mallory@example.org") && saving.contains("you have not approved this list"))
            #expect(
                saving.contains("passdir recipients confirm work") && !saving.contains("import"), "\(saving)")
            #expect(!status.contains("ready to be read"), "\(status)")
            #expect(try shared.run(["insert", "work/new"], input: "x\n").exitCode == 0)
            let own = try shared.run(["insert", "work/evil/new"], input: "x\n")
            #expect(own.exitCode != 0)
        }
    }

    /// Whose commits say nothing of what they did.
    @Test func theLogNamesWhatAChangeOfOthersWasOf() throws {
        try SharedStore.with { shared in
            try shared.push("for i in 1 2 3 4 5 6 7; do cp a.gpg n$i.gpg; done")
            let log = try shared.succeed(["log", "work"]).split(separator: "\n")
            #expect(log.first?.hasSuffix("Change. (n1, n2, n3, n4, n5 and 2 more)") == true, "\(log)")
            // What its subject says is not said again.
            #expect(log.last?.hasSuffix(")") == false, "\(log)")
        }
    }

    /// Many lists that say the same hide nobody who is in one of them only.
    @Test(.slow) func whoIsInOneListOnlyIsShownFirst() throws {
        try SharedStore.with { shared in
            try shared.succeed(["recipients", "show", "work"])
            try shared.push(
                """
                for n in $(seq 10 24); do mkdir f$n; printf 'ann@example.org\\nbob@example.org\\n' >f$n/.gpg-id; done
                mkdir z; printf 'ann@example.org\\neve@example.org\\n' >z/.gpg-id
                """)
            let synced = try shared.run(["sync"])
            #expect(
                synced.exitCode == 0 && synced.errors.contains("passdir recipients confirm work"), "\(synced)"
            )
            let status = try shared.run(["status"]).output
            #expect(status.contains("+ eve") && status.contains("more lists"), "\(status)")
            let confirm = try shared.run(["recipients", "confirm", "work"])
            let end = confirm.output.split(separator: "\n").suffix(3)
            #expect(
                end.first == "In all, this approves 2 readers:"
                    && end.last?.hasSuffix(" in z/.gpg-id") == true,
                "\(confirm)")
            #expect(end.contains { $0.contains("bob@") && $0.contains("and 12 more") }, "\(confirm)")
        }
    }
}
