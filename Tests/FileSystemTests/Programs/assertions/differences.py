"""Where the mount is not as any disk: which assertions, what comes out there, and the sentence of docs/semantics.md."""

import fnmatch

MODES = "Files have the mode 0600 and directories 0700; chmod succeeds and changes nothing, but for setuid, setgid and sticky: EPERM."
HARD_LINK = "A hard link is EPERM: one secret, one name."
SPECIAL = "Pipes, sockets and devices cannot be made: EPERM."
EXCHANGE_KINDS = "RENAME_EXCHANGE of a secret and a directory is EINVAL."
EXCHANGE_LINKS = "Nothing is exchanged with a symbolic link: EINVAL."
PARENT = "A save changes the mtime of the directory, too, as a save by rename does on any disk."

# Patterns of names of assertions and of outcomes, as a shell's.
DIFFERENCES = [
    ("open TMPFILE | *", "EOPNOTSUPP", "`O_TMPFILE` is EOPNOTSUPP: a secret without a name cannot be kept, and programs take a named file instead."),
    ("symlink to it | dots", "EPERM", "A symbolic link whose target has a `..` behind a name cannot be made: EPERM, as the name could be a link that leads out."),
    ("link from it | *", "EPERM", HARD_LINK),
    ("link | *", "EPERM", HARD_LINK),
    ("effect: link", "EPERM", HARD_LINK),
    ("mknod socket | nothing", "EPERM", SPECIAL),
    ("mkfifo | nothing", "EPERM", SPECIAL),
    ("effect: mkfifo", "EPERM", SPECIAL),
    *((f"rename EXCHANGE | {old} | {new}", "EINVAL", EXCHANGE_LINKS) for link in ["link", "linkdir", "dangling", "loop"] for old, new in [(link, "*"), ("*", link)]),
    ("rename EXCHANGE | file | f*", "EINVAL", EXCHANGE_KINDS),
    ("rename EXCHANGE | f* | file", "EINVAL", EXCHANGE_KINDS),
    ("chmod 4755 | *", "EPERM", MODES),
    ("mode: open CREAT *", "600", MODES),
    ("mode: mkdir *", "700", MODES),
    ("mode: chmod * of a file", "600", MODES),
    ("mode: chmod * of a folder", "700", MODES),
    ("effect: chmod*", "*: as it was; .: as it was", MODES),
    ("effect: chown to us", "f: as it was; .: as it was", "chown to the owner succeeds and changes nothing; to anybody else it is EPERM."),
    ("effect: truncate to its size", "f: as it was; .: as it was", "truncate(2) to the size that a secret has changes nothing, its times neither."),
    ("effect: open TRUNC", "f: mtime ctime size; .: mtime ctime", PARENT),
    ("effect: write*", "f: mtime ctime*; .: mtime ctime", PARENT),
    ("effect: *truncate*", "f: mtime ctime size; .: mtime ctime", PARENT),
    ("effect: fallocate", "f: mtime ctime size; .: mtime ctime", PARENT),
]


def find(name, wanted, result):
    """The number of the difference that explains a result, if one does."""
    if wanted == result:
        return None
    for number, (pattern, outcome, _) in enumerate(DIFFERENCES):
        if fnmatch.fnmatchcase(name, pattern) and fnmatch.fnmatchcase(result, outcome):
            return number
    return None
