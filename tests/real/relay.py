#!/usr/bin/env python3
"""The provider program of the storm: passes lines between the daemon and the played cloud's socket.

The cloud outlives the daemon, so it is in the storm's own process (cloud.py).  Each line that the
daemon says has the time when it said it before it: the cloud may hear it later.  When the cloud ends
the connection, this program dies, as a provider does in the middle of an operation.
"""
import os
import socket
import sys
import threading
import time

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])


def down():
    while data := s.recv(65536):
        while data:
            data = data[os.write(1, data):]
    os._exit(3)


threading.Thread(target=down, daemon=True).start()
with open(0, "rb") as lines:
    for line in lines:
        s.sendall(b"%.6f %s" % (time.monotonic(), line))
