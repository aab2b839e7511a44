import Mount
import SystemPackage

/// What the files at the top of the control directory say.
enum ControlNotes {
    static var all: [ControlNote] {
        [
            ControlNote(named: "README") { readme },
            ControlNote(named: "version") { Version.number + "\n" },
        ]
    }

    private static let readme = """
        This directory is listed nowhere, so that no program enters it by itself. Each value of a secret is a file here,
        which is made when it is opened; passdir's rules, locks and log hold as for the secret itself.

          first/STORE/PATH         the first line, without its newline
          fields/STORE/PATH/NAME   what stands behind "NAME:"; listing PATH decrypts the secret
          otp/STORE/PATH           the one-time password of this moment; of a counter, which is raised and saved first
          at/WHEN/STORE/PATH       the store as it was at a commit, tag, branch, day or time: 2026-10-01, HEAD~3
          history/STORE/PATH/      the versions of a secret, named by time and commit
          rendered/NAME            a template with a value for each of its references; passdir help template
          run/ID/NAME              a value for a program, as long as it runs; passdir help run
          status.json              what passdir status --json prints
          version                  the version of passdir

        """
}
