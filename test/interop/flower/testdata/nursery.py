"""Runs programs of this folder in forks of one process, which has loaded what they need:

python nursery.py SOCKET, which ends with its standard input, and for each program
python -I -S nursling.py SOCKET PROGRAM ARGUMENT…

To load a recent Flower takes a processor two seconds, and tests have many clients. The program
has the folder, the arguments, the standard output and the exit code of the process that asks for
it, and ends at once where that process ends.
"""

import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
import traceback

import numpy

try:
    from flwr.client import start_client  # noqa: F401
    import tenseal  # noqa: F401
except ImportError:  # not in every environment
    pass


def end_with(asker):
    asker.recv(1)
    os._exit(137)


def play(asker):
    """Runs a program, and tells its exit code."""
    message, files, *_ = socket.recv_fds(asker, 1 << 20, 2)
    for stream, file in enumerate(files, start=1):
        os.dup2(file, stream)
        os.close(file)
    folder, *sys.argv = message.decode().split("\0")
    threading.Thread(target=end_with, args=(asker,), daemon=True).start()
    os.chdir(folder)
    sys.path[0] = os.path.dirname(sys.argv[0])
    numpy.random.seed()
    random.seed()
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    asker.send(bytes([code]))
    os._exit(code)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(100)
os.write(1, b"ready\n")
while True:
    ready, _, _ = select.select([listener, sys.stdin], [], [])
    if sys.stdin in ready:
        break
    asker, _ = listener.accept()
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        play(asker)
    asker.close()
