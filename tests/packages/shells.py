"""A shell at a pseudo-terminal: what a person types, and what is on the line then."""
import os
import pty
import re
import select
import signal
import struct
import fcntl
import termios
import time

from lib import PATIENCE

# Colours, the cursor's moves, keypad modes, titles: what is not text.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|[\x00\x07\x0e\x0f]")


class Shell:
    """with Shell([...], env) as s: s.type("davit sta\\t"); s.sees("davit status")"""

    def __init__(self, argv, env, directory):
        self.screen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, seconds):
        """What came within so long."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.screen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell ended:\n{self.screen}") from None

    def text(self):
        text = CONTROL.sub("", self.screen).replace("\r\n", "\n")
        while "\x08" in text:
            text = re.sub("[^\x08]?\x08", "", text, count=1)
        return text

    def sees(self, what, seconds=PATIENCE):
        """Waits for a text after what was seen last."""
        end = time.monotonic() + seconds
        while not re.search(what, self.text()):
            assert time.monotonic() < end, f"{what!r} did not come:\n{self.text()!r}"
            self.read(0.1)
        return self.text()

    def type(self, keys):
        self.screen = ""
        os.write(self.fd, keys.encode())

    def clear(self):
        """Another line."""
        self.type("\x15\x0becho re''ady\r")
        self.sees(r"ready\r*\n")
        time.sleep(0.05)  # wait: the prompt that follows is the same as the last one
