"""The real daemon with the example provider, a Python program."""
import fcntl
import json
import os
import pathlib
import signal
import sys

import pytest

from lib.daemon import Daemon
from lib import ROOT, wave

CONFIG = """
cluster: ex
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1s, start_timeout: 20s}
providers:
  mine:
    plugin: exec
    command: [PYTHON, EXAMPLE]
    options: {file: "{dir}/cloud.json", boot: 0.3}
node_types:
  t4: {provider: mine, resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.7, max: 4, zones: [a, b]}
  cpu: {provider: mine, resources: {CPU: 4}, price: 0.2, max: 4}
""".replace("PYTHON", sys.executable).replace("EXAMPLE", str(ROOT / "providers" / "exec" / "example.py"))
T4 = {"GPU": 1, "accelerator_type": "T4"}


def cloud(d):
    try:
        return json.loads((d.dir / "cloud.json").read_text())["machines"]
    except FileNotFoundError:
        return {}


def children(d):
    """Processes of the example that work on this test's cloud, by their parent and their command."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(ROOT / "providers" / "exec" / "example.py") in (p / "cmdline").read_text().split("\0") and \
                    os.readlink(p / "cwd") == str(d.dir):
                found.append(int(p.name))
        except OSError:
            pass
    return found


def test_up_and_down(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.post({"bundles": [T4, T4]})
        d.until(lambda: d.ready("t4") == 2)
        assert sorted(m["type"] for m in cloud(d).values()) == ["t4", "t4"]
        assert len(children(d)) == 1
        d.post({"bundles": []})
        d.until(lambda: not d.nodes() and not cloud(d))
        assert len(children(d)) == 1  # the same program all the time
    assert children(d) == []


def test_the_program_is_killed_again_and_again(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.until(lambda: children(d))
        d.post({"bundles": [T4] * 3})
        for _ in range(5):
            old = d.until(lambda: children(d))
            for pid in old:
                os.kill(pid, signal.SIGKILL)
            d.until(lambda: not set(old) & set(children(d)))
        d.until(lambda: d.ready("t4") == 3)
        assert len(cloud(d)) == 3
        d.post({"bundles": []})
        d.until(lambda: not d.nodes() and not cloud(d))


def test_a_killed_daemon_leaves_no_program_and_finds_its_machines(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        before = list(cloud(d))
        d.kill()
        d.until(lambda: not children(d))
        d.start()
        d.until(lambda: d.ready("t4") == 1)
        assert list(cloud(d)) == before


def test_a_reload_changes_the_program(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        old = children(d)
        d.write(CONFIG.replace("boot: 0.3", "boot: 0.2"))
        d.p.send_signal(signal.SIGHUP)
        d.until(lambda: children(d) and not set(old) & set(children(d)))
        d.stays(lambda: d.ready("t4") == 1, 1)


@pytest.mark.parametrize("fail", ["STOCKOUT", "QUOTA"])
def test_a_refusal_is_told(tmp_path, fail):
    (tmp_path / "cloud.json").write_text(json.dumps({"machines": {}, "requests": {}, "fail": fail}))
    with Daemon(tmp_path, CONFIG) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: any(x["type"] == "t4" and x["status"] == fail for x in d.status()["backoffs"]))
        assert not cloud(d)


def test_a_broken_program_is_told(tmp_path):
    with Daemon(tmp_path, CONFIG.replace(str(ROOT / "providers" / "exec" / "example.py"), "-c, print('hello')")) as d:
        d.until(lambda: "that is no JSON object: \"hello\"" in d.text())
        d.later(2)
        assert d.text().count("no JSON object") < 20  # with back-off


def edited(d, change):
    """The cloud's file, under the example's own lock."""
    with open(d.dir / "cloud.json.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = json.loads((d.dir / "cloud.json").read_text())
        change(state)
        (d.dir / "cloud.json.test").write_text(json.dumps(state))
        (d.dir / "cloud.json.test").replace(d.dir / "cloud.json")


def test_a_spot_wave(tmp_path):
    """lib/wave.py has the story."""
    text = CONFIG.replace("providers/exec/example.py", "tests/exec/forgetful.py").replace("idle_timeout: 1s", "idle_timeout: 1h") \
        .replace("price: 0.7, max: 4", "price: 0.7, market: spot, max: 12")

    def hide(ids):
        edited(d, lambda state: state.update(hidden=list(ids)))

    def take(ids):
        edited(d, lambda state: [state["machines"].pop(i) for i in ids])
    with Daemon(tmp_path, text) as d:
        wave.story(d, "t4", {"GPU": 1}, lambda: list(cloud(d)), hide, take)
