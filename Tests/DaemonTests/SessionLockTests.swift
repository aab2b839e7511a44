import Glibc
import SystemPackage
import TestKit
import Testing

/// Stores are locked when the user goes away, as logind and screen savers say on a real bus. Both are python-dbusmock's.
@Suite struct SessionLockTests {
    /// Functions of bash for a session in which logind and the screen saver of GNOME answer on one bus.
    private static let session = """
        set -e
        trap 'passdir unmount 2> /dev/null || true; kill $(jobs -p) 2> /dev/null || true; wait' EXIT
        export DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS
        /usr/bin/python3 -m dbusmock --template logind > ~/mock1 2>&1 &
        /usr/bin/python3 -m dbusmock --template gnome_screensaver > ~/mock2 2>&1 &
        for name in org.freedesktop.login1 org.gnome.ScreenSaver; do gdbus wait --session --timeout 20 $name; done
        call() { gdbus call --session -d org.freedesktop.login1 -o "$1" -m "$2" -- "${@:3}" > /dev/null; }
        mock() { call /org/freedesktop/login1 org.freedesktop.DBus.Mock."$@"; }
        soon() { for i in $(seq 400); do "$@" && return; sleep 0.05; done; echo "in vain: $*" >&2; return 1; }
        delays() {
            gdbus call --session -d org.freedesktop.login1 -o /org/freedesktop/login1 \\
                -m org.freedesktop.login1.Manager.ListInhibitors | grep -q "'sleep', 'passdir', .*'delay'"
        }
        lets_go() { ! delays; }
        # What waits is answered before passdir lets go, and has only to end.
        sleeps_though_it_waits() { signal PrepareForSleep b '[<true>]'; soon lets_go; soon ended $1; ! wait $1; }
        ended() { ! [ -e /proc/$1/stat ] || grep -q '^State:.Z' /proc/$1/status; }
        signal() { mock EmitSignal org.freedesktop.login1.Manager "$@"; }
        screen() {
            gdbus call --session -d org.gnome.ScreenSaver -o /org/gnome/ScreenSaver \\
                -m org.gnome.ScreenSaver.SetActive "$1" > /dev/null
        }
        reason() { passdir status --json | tr -d ' \\n' | grep -o '"reason":"[a-z]*"' || echo none; }
        is() { [ "$(reason)" = "$1" ]; }
        mock AddSession c1 seat0 $(id -u) tester true
        mock AddSession c2 seat1 4711 stranger true
        passdir mount ~/mnt
        soon delays
        soon grep -q 'watching the session bus' ~/state/passdir/log

        """

    private func mounted(_ settings: [String: String], _ body: (TestHome) throws -> Void) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("a", "text\n")
            try home.succeed(["mkdir", "-p", "config/passdir"])
            var settings = settings
            settings["log.level"] = "debug"
            for (name, value) in settings {
                try home.succeed(["git", "config", "--file", "config/passdir/config", name, value])
            }
            try home.addStores([store])
            try body(home)
        }
    }

    private func run(_ script: String, _ home: TestHome) throws -> ProgramResult {
        try home.run(["dbus-run-session", "--", "bash", "-c", Self.session + script], limit: .seconds(120))
    }

    /// Holds:
    /// - With `lock.screen`, `lock.suspend` and `lock.logout` all stores are locked when the screen is locked, before the
    ///   computer is suspended, and when your last session ends; unlocking the screen unlocks nothing, and other users'
    ///   sessions lock nothing.
    @Test(.slow) func goingAwayLocks() throws {
        try mounted(["lock.screen": "true", "lock.suspend": "true", "lock.logout": "true"]) { home in
            let script = """
                session=/org/freedesktop/login1/session
                cat ~/mnt/work/a
                screen true; soon is '"reason":"screen"'
                screen false; ! cat ~/mnt/work/a 2>> ~/errors
                passdir unlock; is none
                call $session/c1 org.freedesktop.login1.Session.Lock; soon is '"reason":"screen"'
                call $session/c1 org.freedesktop.login1.Session.Unlock
                passdir unlock
                call $session/c2 org.freedesktop.login1.Session.Lock
                call $session/c2 org.freedesktop.login1.Session.SetLockedHint true
                signal SessionRemoved so '[<"c2">, <objectpath "'$session'/c2">]'
                # Handled in order: what comes after the stranger's signals was handled after them.
                signal PrepareForSleep b '[<true>]'; soon lets_go; is '"reason":"suspend"'
                signal PrepareForSleep b '[<false>]'; soon delays
                ! cat ~/mnt/work/a 2>> ~/errors
                passdir unlock
                call $session/c1 org.freedesktop.login1.Session.SetLockedHint true; soon is '"reason":"screen"'
                passdir unlock
                signal SessionRemoved so '[<"c1">, <objectpath "'$session'/c1">]'; soon is '"reason":"logout"'
                passdir unlock
                cat ~/mnt/work/a
                """
            let result = try run(script, home)
            #expect(
                result.exitCode == 0, "\(result.errors)\((try? home.text(of: "state/passdir/log")) ?? "")")
            #expect(result.output.hasSuffix("text\n"))
            #expect(try home.text(of: "errors").split(separator: "\n").count == 2)
        }
    }

    /// Holds:
    /// - Without these settings nothing is locked; opens that wait for a passphrase are answered before the computer is
    ///   suspended all the same (ETIMEDOUT), so that it can be.
    @Test(.slow) func whoWaitsForAPassphraseIsAnsweredBeforeSleep() throws {
        try mounted([:]) { home in
            let key = try home.makeKey("b@example.org", passphrase: "correct horse")
            let locked = try home.makeStore("locked", recipients: [key])
            try locked.insert("a", "text\n")
            try home.addStores([locked])
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            let script = """
                cat ~/mnt/locked/a 2> ~/errors & reader=$!
                soon [ -e ~/prompts ]
                sleeps_though_it_waits $reader
                cat ~/errors; is none; cat ~/mnt/work/a
                """
            let result = try run(script, home)
            // Where gpg asked, the prompt goes on: gpg-agent 2.2 leaves it open.
            try pinentry.release()
            try home.waitUntil("the prompt is gone") {
                try home.run(["pgrep", "-f", home.path("pinentry").string]).exitCode == 1
            }
            #expect(
                result.exitCode == 0, "\(result.errors)\((try? home.text(of: "state/passdir/log")) ?? "")")
            #expect(result.output.contains("Connection timed out") && result.output.hasSuffix("text\n"))
        }
    }

    /// Holds:
    /// - Opens about which the access rules ask a person are answered before the computer is suspended, too (EACCES).
    @Test(.slow) func whoIsAskedAboutIsAnsweredBeforeSleep() throws {
        try mounted([:]) { home in
            // Asks until its question is withdrawn.
            try home.write(
                """
                #!/bin/bash
                echo OK
                while read -r word _; do
                    if [ "$word" = CONFIRM ]; then touch '\(home.path("asked"))'; read -r word; fi
                    echo OK
                done

                """, to: "pinentry", mode: [.ownerReadWriteExecute])
            try home.write("pinentry-program \(home.path("pinentry"))\n", to: "gnupg/gpg-agent.conf")
            let script = """
                passdir access set work --ask
                cat ~/mnt/work/a 2> ~/errors & reader=$!
                soon [ -e ~/asked ]
                sleeps_though_it_waits $reader
                cat ~/errors; is none
                """
            let result = try run(script, home)
            #expect(
                result.exitCode == 0, "\(result.errors)\((try? home.text(of: "state/passdir/log")) ?? "")")
            #expect(result.output.contains("Permission denied"), "\(result.output)")
        }
    }

    /// Holds:
    /// - Where there is no bus, passdir goes on without, and says so in the log at the level `debug` only.
    @Test func withoutABusNothingIsWatched() throws {
        try mounted(["lock.screen": "true", "lock.suspend": "true"]) { home in
            let none = "unix:path=" + home.path("none").string
            try home.succeed(
                ["passdir", "mount", "mnt"],
                extra: ["DBUS_SYSTEM_BUS_ADDRESS": none, "DBUS_SESSION_BUS_ADDRESS": none])
            #expect(try home.succeed(["cat", "mnt/work/a"]) == Array("text\n".utf8))
            for sentence in [
                "there is no system bus to report when the computer is suspended",
                "there is no session bus to report when the screen is locked",
            ] {
                try home.waitUntil(sentence) { try home.text(of: "state/passdir/log").contains(sentence) }
            }
            try home.succeed(["passdir", "lock"])
            try home.succeed(["passdir", "unlock"])
            #expect(try home.succeed(["cat", "mnt/work/a"]) == Array("text\n".utf8))
            let log = try home.text(of: "state/passdir/log").split(separator: "\n").filter {
                $0.contains(" bus ")
            }
            #expect(log.count == 2 && log.allSatisfy { $0.contains("debug") }, "tried once so far: \(log)")
            try home.unmount()
        }
    }
}
