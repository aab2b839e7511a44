"""System calls that are given two paths."""

import os

from calls import RENAME_EXCHANGE, RENAME_NOREPLACE, renameat2

CALLS = {
    "rename": os.rename,
    "rename NOREPLACE": lambda old, new: renameat2(old, new, RENAME_NOREPLACE),
    "rename EXCHANGE": lambda old, new: renameat2(old, new, RENAME_EXCHANGE),
    "link": lambda old, new: os.link(old, new, follow_symlinks=False),
}
# Of situations.py, those that differ for these calls; the other rows are of the same kind.
SITUATIONS = [
    "file", "folder", "full", "link", "linkdir", "dangling", "loop", "nothing", "no/x", "file/x", "file/", "folder/", "long", "dot",
]
