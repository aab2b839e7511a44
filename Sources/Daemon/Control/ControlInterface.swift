/// The names of the control protocol, and its description in Varlink's interface language
/// (https://varlink.org/Interface-Definition).
enum ControlInterface {
    static let name = "org.passdir.Control"
    static let service = "org.varlink.service"

    static let status = "org.passdir.Control.Status"
    static let synchronize = "org.passdir.Control.Synchronize"
    static let unmount = "org.passdir.Control.Unmount"
    static let retrySaves = "org.passdir.Control.RetrySaves"
    static let discardUnsaved = "org.passdir.Control.DiscardUnsaved"
    static let lock = "org.passdir.Control.Lock"
    static let unlock = "org.passdir.Control.Unlock"
    static let abortSave = "org.passdir.Control.AbortSave"
    static let reload = "org.passdir.Control.Reload"
    static let access = "org.passdir.Control.Access"
    static let judgeRead = "org.passdir.Control.JudgeRead"
    static let holdFiles = "org.passdir.Control.HoldFiles"
    static let getInfo = "org.varlink.service.GetInfo"
    static let getDescription = "org.varlink.service.GetInterfaceDescription"

    static let busy = "org.passdir.Control.Busy"
    static let unsaved = "org.passdir.Control.Unsaved"
    static let failed = "org.passdir.Control.Failed"
    static let interfaceNotFound = "org.varlink.service.InterfaceNotFound"
    static let methodNotFound = "org.varlink.service.MethodNotFound"
    static let methodNotImplemented = "org.varlink.service.MethodNotImplemented"
    static let invalidParameter = "org.varlink.service.InvalidParameter"

    /// The interface texts by the interface's name.
    static let descriptions = [name: control, service: varlinkService]

    private static let control = """
        # Reports the state of the passdir daemon's mount and its stores, and ends the mount.
        interface org.passdir.Control

        # The mount: its place, the daemon's process, since when it answers (ISO 8601, UTC), the stores that are hidden in
        # it, and what is wrong with the daemon as a whole, such as plaintext that could not be locked in memory.
        # `isUnmounted`: the mount has ended, and the daemon keeps running for programs that work in it or have files in it
        # open. `isFinishing`: it runs for those no more, and saves, commits and pushes what waits. `device`: the number of
        # the mount's device, "major:minor". `filesFor`: the processes that `passdir run --files` gave files to.
        # `waiting`: the programs that wait for an open in the mount, as for a passphrase.
        type Mount (
          path: string,
          pid: int,
          since: string,
          device: ?string,
          isUnmounted: ?bool,
          isFinishing: ?bool,
          hidden: ?[]string,
          warnings: ?[]string,
          filesFor: ?[]int,
          waiting: ?[]Waiting
        )

        # A program, by its thread, that waits for an open, and what it opens.
        type Waiting (pid: int, path: string)

        type Commit (id: string, subject: string, time: string)

        # A save that failed and is kept in memory: the secret's path in its store, and why.
        type Unsaved (path: string, error: string, since: string)

        # A secret that could not be saved until the daemon ended, so that its text is gone: its path, why, and when.
        type Lost (path: string, error: string, time: string)

        # A name in a .gpg-id that matches no key here, or several, and what is wrong with it.
        type UnknownRecipient (name: string, reason: string, isMissing: bool)

        # A .gpg-id that names others than when the user last approved it; the commit that brought it; the command that
        # restores what was approved.
        type RecipientChange (
          file: string,
          added: []string,
          removed: []string,
          unknown: []UnknownRecipient,
          problem: ?string,
          commit: ?string,
          author: ?string,
          signer: ?string,
          isAnyKeyMissing: bool,
          stopsSaving: ?bool,
          hasPublicKeys: ?bool,
          refusal: ?string
        )

        # How far a save of a .gpg-id is with encrypting secrets to the new recipients: `done` of `total` secrets.
        type Reencryption (step: (encrypting, placing, committing), done: int, total: int)

        # Since when nothing of a store is read, and what locked it.
        type Locked (since: string, reason: (command, idle, screen, suspend, logout))

        type Store (
          name: string,
          path: string,
          state: (starting, ready, noCommits, waiting, failed),
          readOnly: ?bool,
          canSave: ?bool,
          savingObjection: ?string,
          branch: ?string,
          pendingChanges: int,
          unpushedCommits: int,
          lastCommit: ?Commit,
          lastPush: ?string,
          lastFetch: ?string,
          activity: ?string,
          conflicts: []string,
          lastError: ?string,
          otherErrors: []string,
          notes: []string,
          unsaved: []Unsaved,
          lost: ?[]Lost,
          beingWritten: []string,
          openForWriting: []string,
          reencryption: ?Reencryption,
          locked: ?Locked,
          recipientChanges: []RecipientChange
        )

        method Status() -> (mount: Mount, stores: []Store)

        # `note` says why there is nothing to sync with; `conflicts` are files that keep what two machines changed,
        # and `newConflicts` those that were made by this; `drift` are secrets that a merge has left encrypted to others
        # than their recipients, `unapproved` lists that others have changed, by which nothing is saved before that is approved.
        type Synced (
          name: string,
          error: ?string,
          chosen: []string,
          note: ?string,
          conflicts: []string,
          newConflicts: []string,
          drift: ?[]string,
          unapproved: ?[]string
        )

        # Fetches, merges and pushes the named stores, or all; replies when that is done or has failed. Status reports
        # the progress meanwhile. Where the remote's branch was moved by force, `choose` says which history goes on, for
        # one store; `chosen` then says what became of that.
        method Synchronize(stores: ?[]string, choose: ?(theirs, ours)) -> (stores: []Synced)

        # Replies when the mount is gone, what waited is committed and, within a bounded time, pushed. `left` says of which
        # stores something is not, a sentence each.
        method Unmount(discardUnsaved: ?bool) -> (left: ?[]string)

        # Follows the configuration as it is now. Before that, what waits in the store `settle` is saved, committed and
        # pushed; `reopen` is the id of a store whose folder was replaced.
        method Reload(settle: ?string, reopen: ?string) -> ()

        # Retries what could not be saved; replies when that is done. Status reports what still cannot.
        method RetrySaves() -> ()

        # Gives up what could not be saved: one secret of a store, by its path in the mount, or all; replies when the mount
        # shows what lies on disk. One that a program has open is given up only with all. What was lost is no longer
        # reported then.
        method DiscardUnsaved(store: string, path: ?string) -> (discarded: []string)

        # `keptAt` is the file in which what was to be saved is kept.
        type AbortedSave (outcome: (undone, finished), keptAt: ?string)

        # Undoes the change of recipients that a save of a .gpg-id is making; replies when that is done, or when the
        # change is complete. `aborted` is left out where no save is making one, or it could not be undone.
        method AbortSave(store: string) -> (aborted: ?AbortedSave)

        # Locks the named stores, or all: forgets what was decrypted of them and refuses to read them until they are unlocked.
        # Replies when that is done; `complaint` says what may not be forgotten.
        method Lock(stores: ?[]string) -> (complaint: ?string)

        # Lets the named stores, or all, be read again. It asks for no passphrase: gpg-agent does, when something is read.
        # `entered`: their passphrases have been entered; locks stay, and what `GetStatus` told of prompts is over.
        method Unlock(stores: ?[]string, entered: ?bool) -> ()

        # A rule of who may read, with the place that it is for.
        type AccessRule (place: string, rule: string)

        # The rules in force, in the order in which they are looked at, and the names of the stores that are locked; `problem`
        # is what keeps the configuration from being followed. Replies when what was read so far is in the log.
        method Access() -> (rules: []AccessRule, locked: []string, isLogging: bool, problem: ?string)

        # Judges a read of a secret (STORE/PATH) by a process, as the mount does: for a command that prints it on behalf of who
        # started it. With `changesRecipients` it is a list of recipients (STORE/FOLDER/.gpg-id) that is to be changed, which
        # is judged as a read of all below its folder. Replies when a person has answered, where one is asked; a caller that
        # shuts its half of the connection down ends the question, and has a reply when it is gone. `judgedBy` names the rules
        # that it was judged by: who gives it once more, with the secrets decrypted, is judged again where others are in force
        # by then. `isLocked`: the store is locked, which `isAllowed` says nothing about.
        method JudgeRead(secret: string, changesRecipients: ?bool, judgedBy: ?string) -> (
          isAllowed: bool,
          isLocked: ?bool,
          judgedBy: ?string
        )

        # A file with the value of a reference (passdir://STORE/PATH#field).
        type HeldFile (name: string, reference: string)

        # Shows files until the process that asks has ended, whatever it executes. `folder` is where they are, absolute. Rules
        # and locks apply to who opens one.
        method HoldFiles(files: []HeldFile) -> (folder: string)

        # Files in the mount are open.
        error Busy (message: string)

        # Saves that failed would be lost; paths are STORE/PATH.
        error Unsaved (paths: []string)

        error Failed (message: string)

        """

    private static let varlinkService = """
        # The Varlink Service Interface is provided by every varlink service. It describes the service and
        # the interfaces it implements.
        interface org.varlink.service

        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        method GetInterfaceDescription(interface: string) -> (description: string)

        error InterfaceNotFound (interface: string)

        error MethodNotFound (method: string)

        error MethodNotImplemented (method: string)

        error InvalidParameter (parameter: string)

        """
}
