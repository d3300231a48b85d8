"""One bash for a page, so that `cd`, `export` and what runs in the background
carry over from one command to the next.

Everything it starts has RAY_DOCS_PAGE in its environment (the provider `local`
hands on what begins with RAY_): close() ends, by process id, what has it and is left,
and what is of a session of theirs: Ray's agents write their titles over their environment.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

from blocks import uncommented
from lib import until

PATIENCE = 180  # Ray on a busy machine takes more than a minute


class Shell:
    def __init__(self, folder, env, before=()):
        """before: what starts the bash, such as chroot."""
        self.folder = pathlib.Path(folder)
        self.mark = f"RAY_DOCS_PAGE={os.getpid()}-{time.monotonic_ns()}"
        self.sessions = set()
        self.output, self.jobs = self.folder.parent / f"{self.folder.name}.out", 0
        self.status, status = os.pipe()
        name, value = self.mark.split("=")
        with open(self.output, "ab") as out:
            self.bash = subprocess.Popen([*before, "bash", "--noprofile", "--norc"], cwd=folder, env={**env, name: value}, stdin=subprocess.PIPE,
                                         stdout=out, stderr=out, pass_fds=[status], start_new_session=True)
        self.say = f"printf '%s\\n' $? >&{status}"
        self.hide = f"{status}>&-"  # what is started does not hold our pipe
        os.close(status)

    def run(self, text, patience=PATIENCE):
        """(exit code, what was printed).  A job in the background is told to
        write into a file of its own; then what was printed is that file."""
        begin = self.output.stat().st_size
        job = None
        if uncommented(text).endswith("&"):
            self.jobs += 1
            job = self.output.with_suffix(f".job{self.jobs}")
        to = f" >{job} 2>&1" if job else ""
        self.bash.stdin.write(f"{{ {text}\n}} </dev/null{to} {self.hide}\n{self.say}\n".encode())
        self.bash.stdin.flush()
        code = self.wait(text, patience)
        if job:
            return code, job
        with open(self.output, "rb") as f:
            f.seek(begin)
            return code, f.read().decode(errors="replace")

    def wait(self, text, patience):
        said = b""
        os.set_blocking(self.status, False)

        def done():
            nonlocal said
            with contextlib.suppress(BlockingIOError):
                said += os.read(self.status, 100)
            assert self.bash.poll() is None, f"the shell ended with {self.bash.returncode} at: {text}\n{self.output.read_text(errors='replace')[-3000:]}"
            return said.endswith(b"\n")
        until(done, patience, lambda: f"not done: {text}\n{self.output.read_text(errors='replace')[-3000:]}", 0.01)
        return int(said)

    def left(self):
        found, sessions = [], {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                state, _, _, session = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[:4]
                if state == "Z":
                    continue
                sessions[int(entry)] = session
                if self.mark.encode() in pathlib.Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:
                pass
        self.sessions |= {sessions[pid] for pid in found}
        return [pid for pid in sessions if pid in found or sessions[pid] in self.sessions]

    def close(self):
        for number, grace in ((signal.SIGTERM, 5), (signal.SIGKILL, 20)):
            for pid in self.left():
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass

            def gone():
                self.bash.poll()
                return not self.left()
            with contextlib.suppress(AssertionError):
                until(gone, grace)
        self.bash.stdin.close()
        self.bash.wait()
        os.close(self.status)
