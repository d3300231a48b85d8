"""The part of a start script that asks whether the cloud takes the machine back, run in a world of its own: its /proc has one process
called raylet, `curl` answers what the test says, and Ray's drain-node writes down how it was called."""
import subprocess
import sys

RAYLET = """
import time
time.sleep(60)
"""
WORLD = """
exec 2>&1
export PATH={dir}:$PATH
RAY_AUTH_MODE=token {dir}/raylet -c "$RAYLET" --node_id=ab12 --gcs-address=10.0.0.5:6379 "--python_worker_command={dir}/python setup_worker.py worker.py" &
id={id}
m=http://169.254.169.254/computeMetadata/v1/instance
{watch}
echo $! > {dir}/watcher
wait $!
"""


def drained(folder, script, machine, replies):
    """How drain-node was called once the metadata service had said all of replies; "" when it was not."""
    watch = script[script.index("notice() {"):script.index("davit_watch </dev/null")] + "davit_watch &"
    (folder / "raylet").symlink_to(sys.executable)
    for i, text in enumerate(replies):
        (folder / f"reply{i}").write_text(text)
    tools = {"curl": f'echo "$@" >> {folder}/asked; n=$(wc -l < {folder}/asked); cat {folder}/reply$((n-1)) 2>/dev/null || kill $(cat {folder}/watcher)',
             "sleep": "exec /bin/sleep 0.05", "python": f'echo "$RAY_AUTH_MODE $@" >> {folder}/called'}
    for name, body in tools.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    text = WORLD.format(dir=folder, id=machine, watch=watch)
    subprocess.run(["unshare", "-p", "-n", "-m", "--fork", "--mount-proc", "--kill-child", "bash", "-c", text],
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "RAYLET": RAYLET}, timeout=60, check=False)
    called = folder / "called"
    return (folder / "asked").read_text(), called.read_text() if called.exists() else ""
