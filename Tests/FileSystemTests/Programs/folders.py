"""Works at names in two folders, held open, while a third program renames these folders: folders.py TOP COUNT.

What is done in a folder must be done in that one, as on any file system, wherever it lies. Prints what differs.
"""

import os
import random
import sys
import threading

from calls import RENAME_EXCHANGE, renameat2

top, count = sys.argv[1], int(sys.argv[2])
os.chdir(top)
problems = []
ended = threading.Event()


def write(folder, name, text):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=folder)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def read(folder, name):
    descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        return os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)


class Worker(threading.Thread):
    def __init__(self, folder, descriptor, number):
        super().__init__()
        self.folder, self.descriptor, self.number, self.files = folder, descriptor, number, {}

    def step(self, chance, text):
        name, other = (f"{self.number}{chance.choice('abc')}" for _ in "12")
        there, roll = name in self.files, chance.random()
        if roll < 0.5 or not there:
            write(self.descriptor, name, text)
            self.files[name] = text
        elif roll < 0.65:
            os.unlink(name, dir_fd=self.descriptor)
            del self.files[name]
        elif roll < 0.8:
            os.rename(name, other, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
            self.files[other] = self.files.pop(name)
        elif roll < 0.9:
            found = read(self.descriptor, name)
            if found != self.files[name]:
                problems.append(f"{self.folder}/{name} holds {found}instead of {self.files[name]}")
        else:
            folder = f"{self.number}d"
            os.mkdir(folder, dir_fd=self.descriptor)
            os.symlink("nowhere", f"{folder}/link", dir_fd=self.descriptor)
            os.unlink(f"{folder}/link", dir_fd=self.descriptor)
            os.rmdir(folder, dir_fd=self.descriptor)

    def run(self):
        chance = random.Random(f"{self.folder}{self.number}")
        for number in range(count):
            try:
                self.step(chance, f"{self.folder} {self.number} {number}\n")
            except OSError as error:
                problems.append(f"{self.folder}, worker {self.number}, step {number}: {error}")
                return


def move():
    chance, moves = random.Random("folders"), 0
    while not ended.is_set():
        try:
            if chance.random() < 0.6:
                renameat2("x", "y", RENAME_EXCHANGE)
            else:
                os.rename("x", "z")
                os.rename("z", "x")
        except OSError as error:
            problems.append(f"the folders: {error}")
            return
        moves += 1
        ended.wait(chance.random() * 0.02)
    if moves < 3:
        problems.append(f"the folders were moved {moves} times only")


folders = {}
for folder in "xy":
    os.mkdir(folder)
    folders[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    write(folders[folder], "who", folder)
workers = [Worker(folder, descriptor, number) for folder, descriptor in folders.items() for number in (1, 2)]
mover = threading.Thread(target=move)
for thread in workers + [mover]:
    thread.start()
for thread in workers:
    thread.join()
ended.set()
mover.join()
for place in "" if problems else "xy":
    folder = read(folders["x"], "who") if os.path.samefile(place, folders["x"]) else read(folders["y"], "who")
    wanted = {name: text for worker in workers if worker.folder == folder for name, text in worker.files.items()}
    found = {name: open(f"{place}/{name}").read() for name in os.listdir(place) if name != "who"}
    if found != wanted:
        problems.append(f"{place} holds {found} instead of {wanted}")
print("\n".join(problems[:20]))
sys.exit(bool(problems))
