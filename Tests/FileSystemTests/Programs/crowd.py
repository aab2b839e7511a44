"""Many threads that ask something of a folder each, at the same time.

Usage: crowd.py MARK FOLDER...: opens each folder, makes the file MARK.started, waits for the file MARK.go, and then
has a thread for each folder ask. Folder after folder it looks up a name, lists, asks for the attributes, and for the room that is
left. Ends when all are answered.
"""

import os
import sys
import threading


def ask(number, folder):
    if number % 4 == 0:
        try:
            os.stat("nothing", dir_fd=folder)
        except FileNotFoundError:
            pass
    elif number % 4 == 1:
        os.listdir(folder)
    elif number % 4 == 2:
        os.stat(folder)
    else:
        os.statvfs(folder)


mark, folders = sys.argv[1], [os.open(path, os.O_RDONLY) for path in sys.argv[2:]]
threading.stack_size(256 << 10)
open(mark + ".started", "w").close()
while not os.path.exists(mark + ".go"):
    threading.Event().wait(0.05)
threads = [threading.Thread(target=ask, args=item) for item in enumerate(folders)]
for thread in threads:
    thread.start()
open(mark + ".asking", "w").close()
for thread in threads:
    thread.join()
