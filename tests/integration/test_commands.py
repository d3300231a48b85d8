"""The commands: exit codes, --json everywhere, colours on a terminal only."""
import json
import os
import pty
import subprocess

import pytest

from lib import DAVIT, ROOT
from lib.daemon import Daemon
from test_loop import config

BAD = "nobody: {here: 1}\n"


def davit(*args, stdin=None, env=None, **kw):
    return subprocess.run([DAVIT, *map(str, args)], capture_output=True, text=True, timeout=60, input=stdin,
                          env=dict(os.environ, **(env or {})), **kw)


def on_terminal(*args, env):
    """What it prints when standard output is a terminal."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen([DAVIT, *args], stdout=theirs, stderr=theirs, env=dict(os.environ, TERM="xterm", **env))
    os.close(theirs)
    text = b""
    while True:
        try:
            got = os.read(ours, 65536)
        except OSError:
            break
        if not got:
            break
        text += got
    os.close(ours)
    p.wait(60)
    return text.decode()


@pytest.mark.parametrize("args, code", [
    (["version"], 0), (["--version"], 0), (["version", "x"], 2), (["help"], 0), (["help", "plan"], 0),
    (["help", "nope"], 2), ([], 2), (["nope"], 2), (["plan"], 2), (["plan", "--nope", "x"], 2),
    (["plan", "/nowhere"], 3), (["validate"], 2), (["validate", "a", "b"], 3), (["validate", "/nowhere"], 3),
    (["run", "/nowhere"], 3), (["status", "--url"], 2), (["status", "x"], 2), (["nodes", "x"], 2), (["why"], 2),
    (["status", "--url", "http://127.0.0.1:1"], 4), (["request"], 2), (["request", "--num-cpus", "many"], 2),
    (["request", "--num-cpus", "-3"], 2), (["request", "--wait", "soon", "CPU=1"], 2), (["request", "--clear", "CPU=1"], 2),
    (["forget"], 2), (["forget", "--all"], 2), (["apply", "x"], 2), (["release", "x"], 2), (["adopt", "--al"], 2),
    (["adopt", "--all", "x"], 2), (["adopt", "--url", "http://127.0.0.1:1"], 4),
])
def test_exit_codes(args, code):
    p = davit(*args)
    assert p.returncode == code, p.stderr
    assert (p.stderr != "") == (code != 0)
    assert "\033" not in p.stdout + p.stderr


def test_output_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w") as full:
        p = subprocess.run([DAVIT, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 5 and "written" in p.stderr


def test_programs_get_json(tmp_path):
    sim = ROOT / "configs" / "sim.yaml"
    assert json.loads(davit("version", "--json").stdout)["plugin_abi"] == 1
    assert any(p["name"] == "sim" for p in json.loads(davit("providers", "--json").stdout))
    good = json.loads(davit("validate", "--json", sim).stdout)
    assert good["valid"] and good["kind"] == "davit" and good["node_types"] == 3 and not good["errors"]
    (tmp_path / "bad.yaml").write_text(BAD)
    p = davit("validate", "--json", tmp_path / "bad.yaml")
    bad = json.loads(p.stdout)
    assert p.returncode == 3 and not bad["valid"] and bad["errors"][0]["line"] == 1 and not p.stderr
    assert "launches" in json.loads(davit("plan", "--json", "--request", '{"GPU":1}', sim).stdout)


def test_a_plan_says_why_not_and_only_what_is_proved():
    text = davit("plan", "-r", "GPU=99", ROOT / "configs" / "sim.yaml").stdout
    assert "can never be placed" in text and "GPU" in text.split("nearest:")[1].split("\n")[0]
    assert "gap" not in text
    assert "e+" not in davit("plan", "-r", "CPU=1*20000", ROOT / "configs" / "sim.yaml").stdout


def test_programs_get_json_from_a_daemon(tmp_path):
    with Daemon(tmp_path, config()) as d:
        r = json.loads(d.cli("request", "--json", "--owner", "me", "GPU=1*2"))
        assert sum(x["count"] for x in r["launches"]) == 2
        r = json.loads(d.cli("request", "--json", "--owner", "me", "GPU=1*2", "--wait", "60s"))
        assert r["satisfied"] and r["owner"] == "me"  # one document, and not before it is so
        assert json.loads(d.cli("status", "--json"))["nodes"]["ready"] == 2
        assert len(json.loads(d.cli("nodes", "--json"))["nodes"]) == 2
        assert "text" in json.loads(d.cli("why", "--json", "me"))
        # a star within a text is no count; what is no finite number is refused, not dropped
        d.cli("request", "--owner", "star", '{"CPU":1,"labels":{"a":"x*y"}}', expect=1)
        d.cli("request", "--owner", "star", "CPU=nan", expect=3)
        d.cli("request", "--owner", "star", "CPU=inf", expect=3)
        d.cli("request", "--owner", "star", "CPU=1e300", expect=3)
        d.cli("request", "--owner", "star", "CPU=1*0", expect=3)


def test_colours_on_a_terminal_only(tmp_path):
    with Daemon(tmp_path, config()) as d:
        env = {"DAVIT_URL": f"http://127.0.0.1:{d.port}"}
        assert "\033" not in d.cli("status") and "\033" not in d.cli("nodes")
        assert "\033[" in on_terminal("status", env=env)
        assert "\033" not in on_terminal("status", env=dict(env, NO_COLOR="1"))
        assert "\033" not in on_terminal("status", "--json", env=env)
