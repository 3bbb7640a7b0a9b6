"""Asks nursery.py, which describes it, for a program, and waits for its end."""

import os
import socket
import sys

nursery = socket.socket(socket.AF_UNIX)
nursery.connect(sys.argv[1])
socket.send_fds(nursery, ["\0".join([os.getcwd(), *sys.argv[2:]]).encode()], [1, 2])
code = nursery.recv(1)
sys.exit(code[0] if code else 1)
