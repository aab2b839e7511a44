import Glibc
import SystemPackage

/// A pinentry program made for tests: does one thing with every question, and counts them.
public struct TestPinentry: Sendable {
    /// What it does when gpg-agent asks for a passphrase.
    public enum Behaviour: Sendable {
        /// Gives this passphrase.
        case answer(String)
        /// Cancels, as a user who closes the window.
        case cancel
        /// Waits until `release` is called, then gives this passphrase.
        case block(String)
        /// Waits until it is told to end (SIGTERM), and takes a while to do so, as one that gives a busy terminal back; questions,
        /// too.
        case endSlowly
        /// Agrees to questions, and then ends as slowly.
        case agreeAndEndSlowly
    }

    let home: TestHome

    /// How often a passphrase was asked for.
    public func promptCount() -> Int {
        (SystemFile.text(home.path("prompts").string) ?? "").split(separator: "\n").count
    }

    /// Whether one of `endSlowly` has come to its end.
    public func hasEnded() -> Bool { SystemFile.text(home.path("prompts.ended").string) != nil }

    /// Ends the wait of `block`, for the present question and those to come.
    public func release() throws {
        try home.write("", to: "prompts.released")
    }
}

extension TestHome {
    /// Makes gpg-agent ask a scripted pinentry, and forgets cached passphrases.
    @discardableResult
    public func usePinentry(_ behaviour: TestPinentry.Behaviour) throws -> TestPinentry {
        let released = path("prompts.released").string
        let ended = path("prompts.ended").string
        let slowly = "trap \"sleep 0.3; touch '\(ended)'; exit 1\" TERM"
        let questions =
            switch behaviour {
            case .endSlowly, .agreeAndEndSlowly: "GETPIN|CONFIRM"
            case .answer, .cancel, .block: "GETPIN"
            }
        let reply =
            switch behaviour {
            case .answer(let passphrase): "echo 'D \(passphrase)'; echo OK"
            case .cancel: "echo 'ERR 83886179 Operation cancelled <Pinentry>'"
            case .block(let passphrase):
                "while [ ! -e '\(released)' ]; do sleep 0.05; done; echo 'D \(passphrase)'; echo OK"
            case .endSlowly:
                "\(slowly); while :; do sleep 0.05; done"
            case .agreeAndEndSlowly:
                "\(slowly); echo OK; while :; do sleep 0.05; done"
            }
        unlink(released)
        unlink(ended)
        try write(
            """
            #!/bin/sh
            echo 'OK Pleased to meet you'
            while read -r word rest; do
                case "$word" in
                \(questions)) echo asked >> '\(path("prompts"))'; \(reply) ;;
                GETINFO) test "$rest" != pid || echo "D $$"; echo OK ;;
                BYE) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done

            """, to: "pinentry", mode: [.ownerReadWriteExecute])
        try configureAgent("pinentry-program \(path("pinentry"))\n")
        try succeed(["gpgconf", "--homedir", path("gnupg").string, "--kill", "gpg-agent"])
        return TestPinentry(home: self)
    }
}
