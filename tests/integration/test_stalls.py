"""What the daemon itself depends on stands still, or goes: the reader of its log, its disk, its journal."""
import fcntl
import os
import subprocess
import threading

import pytest
from conftest import CONFIG
from lib import DAVIT, PATIENCE
from lib.daemon import Daemon

AIDS = os.path.join(os.path.dirname(__file__), "aids")


def terminated(d):
    """It gets SIGTERM, and ends in order."""
    d.p.terminate()
    assert d.p.wait(PATIENCE) == 0


def test_nobody_reads_the_log(tmp_path):
    """All goes on, it is told, and SIGTERM ends it."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with Daemon(tmp_path, CONFIG.replace("API", ""), preexec=lambda: os.dup2(writer, 2)) as d:
        for i in range(100):  # a line each, and more
            d.post({"owner": f"o{i % 20}", "bundles": [{"CPU": 0.001 * (1 + i % 7)}]})
        d.post({"owner": "me", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        d.until(lambda: any("standard error takes no line" in p for p in d.get("/readyz")[1]["problems"]))
        assert d.get("/readyz")[0] == 200  # without its log it does all that it did
        assert d.get("/healthz")[0] == 200
        assert "davit_log_lines_dropped_total 0\n" in d.get("/metrics")[1]  # a megabyte waits before that
        terminated(d)
    os.close(writer)
    os.close(reader)


@pytest.fixture(scope="session")
def stall(tmp_path_factory):
    path = tmp_path_factory.mktemp("stall") / "stall.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path, os.path.join(AIDS, "stall.c"), "-ldl"], check=True)
    return str(path)


def test_the_disk_stands_still(tmp_path, stall):
    """Nothing is promised before it is on disk; it is said; SIGTERM ends the daemon all the same."""
    file = tmp_path / "stall"
    env = {"LD_PRELOAD": stall, "DAVIT_STALL": str(file)}
    answer = []
    with Daemon(tmp_path, CONFIG.replace("API", ""), env=env) as d:
        d.post({"owner": "before", "bundles": [{"CPU": 1}]})
        file.touch()
        ask = threading.Thread(target=lambda: answer.append(d.call("POST", "/v1/request_resources", {"owner": "me", "bundles": [{"GPU": 1}]})))
        ask.start()
        d.until(lambda: any("its disk takes" in p for p in d.get("/readyz")[1]["problems"]))
        assert d.get("/readyz")[0] == 503
        assert d.get("/healthz")[0] == 200  # to start it again would not mend the disk
        assert not answer and not d.nodes("t4")
        file.unlink()
        ask.join(PATIENCE)
        assert answer[0][0] in (200, 202)
        d.until(lambda: d.ready("t4") == 1)
        d.until(lambda: d.get("/readyz")[0] == 200)

        file.touch()
        late = threading.Thread(target=lambda: answer.append(d.call("POST", "/v1/request_resources", {"owner": "late", "bundles": [{"GPU": 1}]})))
        late.start()
        d.until(lambda: "davit_journal_write_seconds 0\n" not in d.get("/metrics")[1])
        terminated(d)
        late.join(PATIENCE)
        file.unlink()
        d.start()
        assert d.get("/v1/request_resources/me")[0] == 200  # what was promised


def test_the_journal_is_deleted(tmp_path):
    """It is written there again before anything is promised on the strength of it."""
    with Daemon(tmp_path, CONFIG.replace("API", "")) as d:
        d.post({"owner": "before", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        node = d.nodes("t4")[0]["id"]
        for f in tmp_path.glob("davit.db*"):
            f.unlink()
        d.post({"owner": "after", "bundles": [{"CPU": 1}]})
        d.until(lambda: d.events("journal.rewritten"))
        d.kill()
        d.start()
        for owner in ("before", "after"):
            assert d.get(f"/v1/request_resources/{owner}")[0] == 200
        assert d.nodes("t4")[0]["id"] == node
        assert "before" in [e["subject"] for e in d.events("request.set")]

        # Another one lies there: ours comes back, that one is kept beside it.
        (tmp_path / "davit.db").rename(tmp_path / "moved")
        (tmp_path / "davit.db").write_bytes(b"another file")
        d.post({"owner": "later", "bundles": [{"CPU": 1}]})
        assert (tmp_path / "davit.db.found-1").read_bytes() == b"another file"
        d.kill()
        d.start()
        assert d.get("/v1/request_resources/later")[0] == 200


def test_the_journal_becomes_a_link(tmp_path):
    """The same file, by way of a link, at which no start goes on: it is written at its place again."""
    with Daemon(tmp_path, CONFIG.replace("API", "")) as d:
        d.post({"owner": "before", "bundles": [{"CPU": 1}]})
        (tmp_path / "davit.db").rename(tmp_path / "elsewhere")
        (tmp_path / "davit.db").symlink_to(tmp_path / "elsewhere")
        d.post({"owner": "after", "bundles": [{"CPU": 1}]})
        assert d.events("journal.rewritten") and not (tmp_path / "davit.db").is_symlink()
        d.kill()
        d.start()
        for owner in ("before", "after"):
            assert d.get(f"/v1/request_resources/{owner}")[0] == 200


def test_a_deleted_lock_lets_no_second_daemon_in(tmp_path):
    """The journal itself is locked too: one promises, and the other one does not start."""
    with Daemon(tmp_path, CONFIG.replace("API", "")) as d:
        d.post({"owner": "before", "bundles": [{"CPU": 1}]})
        (tmp_path / "davit.db.lock").unlink()
        second = subprocess.run([DAVIT, "run", "--config", str(d.path)], cwd=tmp_path, env=d.env, capture_output=True, text=True, timeout=PATIENCE)
        assert second.returncode != 0 and "another davit uses it already" in second.stderr, second
        d.post({"owner": "after", "bundles": [{"CPU": 1}]})
        # the one that it wrote there again is locked as well
        (tmp_path / "davit.db.lock").unlink()
        second = subprocess.run([DAVIT, "run", "--config", str(d.path)], cwd=tmp_path, env=d.env, capture_output=True, text=True, timeout=PATIENCE)
        assert second.returncode != 0 and "another davit uses it already" in second.stderr, second
        d.kill()
        d.start()
        for owner in ("before", "after"):
            assert d.get(f"/v1/request_resources/{owner}")[0] == 200
