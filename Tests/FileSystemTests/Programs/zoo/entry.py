"""What the zoo holds: one file, link or folder of a store, and what a person expects of it."""

import dataclasses
import os
import typing


@dataclasses.dataclass
class Entry:
    # How it was made, in a few words.
    what: str
    # Its path in the store on disk, and in the mount.
    disk: bytes
    shown: bytes
    # Makes it, given its path on disk.
    make: typing.Callable[[bytes], None]
    # What is read; None where nothing can be.
    content: bytes | None = None
    # What readlink tells, of a link.
    target: bytes | None = None
    # A sentence of docs/semantics.md that tells why not all comes out as on any disk.
    why: str = ""
    # Whether a copy in depends on whether its list comes before it, as the folder that is copied has them.
    is_by_order: bool = False


def secret(what, name, make, content=b"", why=""):
    """A secret that is shown without its suffix."""
    name = os.fsencode(name)
    return Entry(what, name + b".gpg", name, make, content, why=why)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def readable(name):
    """A name for the table: printable ASCII as it is, all else as bytes."""
    return "".join(chr(byte) if 32 < byte < 127 and byte != 92 else f"\\x{byte:02x}" for byte in name)
