"""What a path can lead to when a system call is given it. Each makes what it needs in the current folder."""

import os


def file(name):
    with open(name, "wb") as made:
        made.write(b"content")
    return name


def folder(name):
    os.mkdir(name)
    return name


def full(name):
    os.mkdir(name)
    file(name + "/in")
    return name


def link(target):
    def make(name):
        os.symlink(target(name + "-target"), name)
        return name
    return make


def loop(name):
    os.symlink(name, name)
    return name


# The columns of the tables, in their order.
SITUATIONS = {
    "file": file,
    "folder": folder,
    "full": full,
    "link": link(file),
    "linkdir": link(folder),
    "dangling": link(lambda name: name),
    "loop": loop,
    "nothing": lambda name: name,
    "no/x": lambda name: name + "/x",
    "file/x": lambda name: file(name) + "/x",
    "loop/x": lambda name: loop(name) + "/x",
    "file/": lambda name: file(name) + "/",
    "folder/": lambda name: folder(name) + "/",
    "nothing/": lambda name: name + "/",
    "link/": lambda name: link(file)(name) + "/",
    "long": lambda name: name + "n" * 256,
    "deep": lambda name: name + "/." * 2500,
    "empty": lambda name: "",
    "dot": lambda name: folder(name) + "/.",
    "dots": lambda name: folder(name) + "/..",
}
