import SystemPackage
import TestKit
import Testing

/// What the desktop is told, as seen on a real session bus.
@Suite struct NotificationTests {
    /// A failure that lasts is told once, and once when it is over.
    @Test(.slow) func oneMessageWhenItFailsAndOneWhenItWorksAgain() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("one", recipients: [key], remote: true)
            try store.insert("mail/imap", "secret")
            try store.git("push", "-q")
            try home.addStores([store])
            let session = """
                set -e
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                told() { grep -c 'member=Notify' ~/bus || true; }
                until_told() { for i in $(seq 400); do [ "$(told)" = $1 ] && return; sleep 0.05; done; return 1; }
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                passdir mount ~/mnt
                ls ~/mnt/one > /dev/null
                passdir sync one
                mv ~/one.git ~/away.git
                ! passdir sync one 2> /dev/null
                ! passdir sync one 2> /dev/null
                until_told 1
                ! passdir sync one 2> /dev/null
                mv ~/away.git ~/one.git
                passdir sync one
                until_told 2
                passdir unmount
                told
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.split(separator: "\n").last == "2")
            let told = try home.text(of: "bus").split(separator: "\n").filter { $0.contains("string \"") }
            #expect(told.contains { $0.contains("passdir: one") })
            #expect(told.contains { $0.contains("failed") && $0.contains("origin") }, "\(told)")
            #expect(told.contains { $0.contains("in sync with its remote again") }, "\(told)")
        }
    }

    /// Not every program looks at what close(2) says: a save that fails after its file was opened is told, once.
    @Test func aFailedSaveIsTold() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("one", recipients: [key])])
            let session = """
                set -e
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                passdir mount ~/mnt
                exec 7> ~/mnt/one/new
                cp ~/one/.gpg-id ~/list; echo nobody@example.org > ~/one/.gpg-id
                echo text >&7; exec 7>&-
                until grep -q 'member=Notify' ~/bus; do sleep 0.05; done
                ! passdir status > /dev/null
                cp ~/list ~/one/.gpg-id
                passdir sync one
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            let bus = try home.text(of: "bus")
            #expect(bus.contains("new is not saved: ") && bus.contains("nobody@example.org"), "\(bus)")
        }
    }

    /// What ends with the daemon, whoever ended it.
    @Test func whatIsLostIsTold() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("one", recipients: [key])])
            let session = """
                set -e
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                passdir mount ~/mnt
                exec 7> ~/mnt/one/new
                echo nobody@example.org > ~/one/.gpg-id
                echo text >&7; exec 7>&-
                kill "$(passdir status | sed -n 's/^mount .*(process \\([0-9]*\\),.*/\\1/p')"
                until grep -q 'and the text is lost' ~/bus; do sleep 0.05; done
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(try home.text(of: "bus").contains("new could not be saved before passdir exited"))
            try home.waitUntil("the daemon has ended") { home.daemons().isEmpty }
        }
    }

    /// A credential that ends soon is told of once, also when the daemon starts again.
    @Test(.slow) func aCredentialThatExpiresIsToldOnce() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("one", recipients: [key])])
            let session = """
                set -e
                eval "$(printf pass | gnome-keyring-daemon --unlock --components=secrets 2>/dev/null | sed 's/^/export /')"
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                printf token | passdir credential set one --expires $(date -u -d '+30 days' +%F)
                passdir mount ~/mnt
                passdir unmount
                printf token | passdir credential set one --expires $(date -u -d '+3 days' +%F)
                passdir mount ~/mnt
                until grep -q 'member=Notify' ~/bus; do sleep 0.05; done
                passdir unmount
                passdir mount ~/mnt
                passdir unmount
                passdir mount ~/mnt
                printf token | passdir credential set one --expires $(date -u -d '+4 days' +%F)
                passdir unmount
                passdir mount ~/mnt
                until [ "$(grep -c 'member=Notify' ~/bus)" = 2 ]; do sleep 0.05; done
                passdir unmount
                grep -c 'member=Notify' ~/bus
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.split(separator: "\n").last == "2")
            let bus = try home.text(of: "bus")
            #expect(
                bus.contains("expires on ") && bus.contains("passdir credential set one stores"), "\(bus)")
            try home.succeed(["sh", "-c", "rm -rf '\(home.path("data"))/keyrings'"])
        }
    }

    /// Holds:
    /// - A password that expires or is due soon is told of once, by what `passdir health` saw, and nobody is asked for a passphrase
    ///   for that.
    @Test(.slow) func aPasswordThatExpiresIsToldOnce() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org", passphrase: "open")
            let store = try home.makeStore("one", recipients: [key])
            func day(_ days: Int) throws -> String {
                let text = try home.succeed(["date", "-u", "-d", "\(days) days", "+%F"])
                return String(decoding: text, as: UTF8.self)
            }
            for (name, days) in [("soon", 5), ("later", 60), ("edited", 6), ("over", -3)] {
                try store.insert(name, "MARK-vX9#\(name)-q2!mZ7\nexpires: \(try day(days))")
            }
            try store.insert("due", "MARK-vX9#due-q2!mZ7\nrotate: 1w\n")
            try home.addStores([store])
            let pinentry = try home.usePinentry(.answer("open"))
            let session = """
                set -e
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                mounted() { passdir mount ~/mnt; ls ~/mnt/one > /dev/null; passdir unmount; }
                ! passdir health > /dev/null
                gpgconf --kill gpg-agent
                echo 'MARK changed' | PASSWORD_STORE_DIR=~/one pass insert -mf edited > /dev/null
                git config --file ~/config/passdir/config health.notify false
                mounted
                git config --file ~/config/passdir/config health.notify true
                passdir mount ~/mnt
                until grep -q 'member=Notify' ~/bus; do sleep 0.05; done
                passdir unmount
                mounted
                passdir mount ~/mnt
                passdir unmount
                grep -c 'member=Notify' ~/bus
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.split(separator: "\n").last == "1")
            let bus = try home.text(of: "bus")
            for said in ["over expired on ", "soon expires on ", "due is to be changed by "] {
                #expect(bus.contains(said), "\(bus)")
            }
            for name in ["later", "edited", "MARK"] { #expect(!bus.contains(name), "\(bus)") }
            #expect(pinentry.promptCount() == 1)
        }
    }
}
