#!/usr/bin/env python3
"""Ray's patience, for suites side by side on two slow cores.  setup.sh runs it on each environment.

usage: patient_ray.py SITE-PACKAGES
Two numbers are in Ray's code.  `ray start` gives a raylet 30 s to start (node.py): here 150.  And a raylet gives its
agents, two Python programs, 15 s to write down which ports they took; otherwise it ends itself, and its machine never
joins (node_manager.cc: "Timed out waiting for file").  It does not wait for ports that it is told, so they are
chosen before, as Ray's services.py did in earlier versions.
Nothing else of Ray is changed.
"""
import os
import pathlib
import sys

CHOICE = '''

def _free_agent_port(taken):
    """Below what Ray, Davit's tests and the kernel choose from."""
    import random
    while True:
        port = random.SystemRandom().randrange(1100, 6000)  # any will do
        with socket.socket() as s:
            try:
                s.bind(("", port))
            except OSError:
                continue
        if port not in taken:
            taken.append(port)
            return port
'''
ASSERT = "    assert node_manager_port is not None and isinstance(node_manager_port, int)\n"
FLAG = '        f"--runtime_env_agent_port={runtime_env_agent_port}",\n'
EDITS = {
    "node.py": [("raylet_start_wait_time_s = 30\n", "raylet_start_wait_time_s = 150\n")],
    "services.py": [
        (ASSERT, ASSERT + '''    taken = []
    metrics_agent_port = metrics_agent_port or _free_agent_port(taken)
    metrics_export_port = metrics_export_port or _free_agent_port(taken)
    runtime_env_agent_port = runtime_env_agent_port or _free_agent_port(taken)
'''),
        (FLAG, FLAG + '        f"--dashboard_agent_listen_port={dashboard_agent_listen_port}",\n'),
        ('    return "raylet" in executable\n', '    return "raylet" in executable\n' + CHOICE),
    ],
}


def patient(path, edits):
    """Written anew, once; False: Ray's code is another now."""
    text = path.read_text()
    for old, new in edits:
        if new in text:
            continue
        if text.count(old) != 1:
            return False
        text = text.replace(old, new)
    if text != path.read_text():
        compile(text, str(path), "exec")
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(text)
        new.replace(path)
    return True


def main(argv):
    for name, edits in EDITS.items():
        path = pathlib.Path(argv[1], "ray/_private", name)
        if path.exists() and not patient(path, edits):
            print(f"setup: what makes Ray patient is not where it was in {path}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv)
