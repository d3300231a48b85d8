"""Files that Davit writes: no link of somebody else leads it to another one."""
import itertools
import os
import subprocess

import pytest

from lib import DAVIT, until
from lib.daemon import Daemon

CONFIG = """
cluster: rec
api: {listen: "127.0.0.1:{port}"MORE}
state: davit.db
providers: {sim: {}}
node_types: {cpu: {provider: sim, resources: {CPU: 4}, price: 0.2, max: 8}}
"""


@pytest.fixture
def victim(tmp_path):
    f = tmp_path / "victim"
    f.write_text("whole\nand no end")
    return f


def ends(tmp_path, *args, more=""):
    """It does not start with this; what it says."""
    d = Daemon(tmp_path, CONFIG.replace("MORE", more), args=args, start=False)
    d.start(wait=None)
    assert d.p.wait(60) != 0
    d.stop()
    return d.text()


def test_recordings_of_http(tmp_path, victim):
    """A folder that nobody made first, with a link in it."""
    folder = tmp_path / "http"
    folder.mkdir()
    (folder / "sim.jsonl").symlink_to(victim)
    p = subprocess.run([DAVIT, "run", "--help"], capture_output=True, text=True)
    assert "--record-http" in p.stdout
    text = ends(tmp_path, "--record-http", str(folder))
    assert "symbolic link" in text, text
    assert victim.read_text() == "whole\nand no end"


@pytest.mark.parametrize("how", ["--record", "--record-http"])
@pytest.mark.skipif(os.getuid() != 0, reason="it takes two users")
def test_folders_of_others(tmp_path, how):
    folder = tmp_path / "shared"
    folder.mkdir()
    os.chmod(folder, 0o777)
    assert "could put links into it" in ends(tmp_path, how, str(folder))
    os.chmod(folder, 0o755)
    os.chown(folder, 65534, 65534)
    assert "somebody else could put links into it" in ends(tmp_path, how, str(folder))
    os.chown(folder, 0, 0)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert "symbolic link" in ends(tmp_path, how, str(link))


def test_records(tmp_path, victim):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / ".part").symlink_to(victim)
    with Daemon(tmp_path, CONFIG.replace("MORE", ""), args=["--record", str(folder)]) as d:
        d.post({"num_cpus": 1})
        until(lambda: "record: " in d.text(), why=d.text)
        assert victim.read_text() == "whole\nand no end"


@pytest.mark.skipif(os.getuid() != 0, reason="it takes two users")
def test_folders_in_which_others_may_replace_files(tmp_path):
    """The journal's and the audit's, which live long: told until they are one's own; a sticky bit is as good."""
    for name in ("journal", "audit"):
        (tmp_path / name).mkdir(mode=0o700)
    config = CONFIG.replace("MORE", f", audit: {tmp_path}/audit/log").replace("davit.db", f"{tmp_path}/journal/davit.db")

    def told(*modes):
        for name, mode in zip(("journal", "audit"), modes, strict=True):
            (tmp_path / name).chmod(mode)
        with Daemon(tmp_path, config) as d:
            found = [p for p in d.get("/v1/status")[1]["problems"] if "replace what is in it" in p]
            assert all(p in d.text() for p in found), d.text()
        return [(name, mode) for name in ("journal", "audit") for mode in modes if f"the folder of the {name} {tmp_path / name} (mode {mode:04o}" in str(found)]
    assert told(0o700, 0o755) == [] and told(0o1777, 0o700) == []
    assert told(0o777, 0o700) == [("journal", 0o777)]
    assert told(0o700, 0o707) == [("audit", 0o707)]


@pytest.mark.skipif(os.getuid() != 0, reason="it takes two users")
@pytest.mark.parametrize("how, name", [("owner", "audit"), ("group", "socket"), ("owner", "tokens"), ("later", "audit")])
def test_folders_are_told_to_root_too(tmp_path, how, name):
    """One of another user, one that a group may write, and one that is opened up while Davit runs."""
    folder = tmp_path / name
    folder.mkdir(mode=0o700)
    file = folder / "log"
    if name == "tokens":
        file.write_text("")
        file.chmod(0o600)
    os.chown(folder, 65534 if how == "owner" else 0, 0 if how == "later" else 65534)
    folder.chmod({"owner": 0o755, "group": 0o775, "later": 0o755}[how])

    def told(d, n=itertools.count(1)):
        d.post({"owner": "x", "num_cpus": 1 + next(n) % 2})  # something to plan for
        return [p for p in d.get("/v1/status")[1]["problems"] if "replace what is in it" in p]
    with Daemon(tmp_path, CONFIG.replace("MORE", f", anonymous: admin, {name}: {file}")) as d:
        if how == "later":
            assert told(d) == []
            folder.chmod(0o777)
        until(lambda: str(folder) in str(told(d)))
        assert str(folder) in d.text()
        folder.chmod(0o755)
        os.chown(folder, 0, 0)
        until(lambda: told(d) == [])


def test_the_socket(tmp_path):
    """For everybody, whatever the mask; at the end nothing else than it is taken away."""
    path = tmp_path / "s"
    for other in (False, True):
        mask = os.umask(0o077)
        try:
            d = Daemon(tmp_path, CONFIG.replace("MORE", f", anonymous: admin, socket: {path}"))
        finally:
            os.umask(mask)
        with d:
            assert path.stat().st_mode & 0o777 == 0o666
            if other:
                path.unlink()
                path.write_text("of somebody else")
        assert path.exists() == other


def test_the_audit(tmp_path, victim):
    (tmp_path / "audit").symlink_to(victim)
    assert "symbolic link" in ends(tmp_path, more=", audit: audit")
    (tmp_path / "audit").unlink()
    os.link(victim, tmp_path / "audit")
    assert "hard link" in ends(tmp_path, more=", audit: audit")
    assert victim.read_text() == "whole\nand no end"


def test_commands(tmp_path, victim):
    out = tmp_path / "out"
    out.symlink_to(victim)
    trace = tmp_path / "t.csv"
    trace.write_text("at,seconds,count,CPU\n0,10,1,1\n")
    for args in (["token", "new", "a", "read", "--file", out], ["init", "--output", out, "--force", "--ray", "127.0.0.1:1"]):
        p = subprocess.run([DAVIT, *args], capture_output=True, text=True, cwd=tmp_path)
        assert p.returncode != 0, (args, p)
        assert out.is_symlink() and victim.read_text() == "whole\nand no end", args


@pytest.mark.parametrize("owner", [0, 65534])
def test_a_rollback_journal_is_nobodys(tmp_path, owner):
    """SQLite would play it back into the requests, and delete the file that it names."""
    with Daemon(tmp_path, 'cluster: c\nstate: "{dir}/davit.db"\napi: {listen: "127.0.0.1:{port}", anonymous: admin}\nproviders: {sim: {}}\nnode_types: {cpu: {provider: sim, resources: {CPU: 1}, price: 1}}\n') as d:
        d.stop()
        beside = tmp_path / "davit.db-journal"
        beside.write_bytes(bytes.fromhex("d9d505f920a163d7") + b"x" * 504)
        if os.geteuid() == 0:
            os.chown(beside, owner, owner)
        d.start(wait=False)
        assert d.p.wait(60) == 3
        assert "davit.db-journal: Davit makes no such file" in d.text()
        for args in (["journal", "forget", "nobody", str(tmp_path / "davit.db")], ["journal", "check", str(tmp_path / "davit.db")]):
            subprocess.run([DAVIT, *args], cwd=tmp_path, capture_output=True, check=False)
            assert beside.exists()
        d.p = None
        beside.unlink()
        d.start()
        d.stop()
