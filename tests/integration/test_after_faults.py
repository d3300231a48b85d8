"""What a fault leaves behind: a start after it, a machine that stands still, a word that was cut."""
import json
import resource
import signal
import sqlite3
import sys

from daemon import ROOT, Daemon
from test_loop import T4, cloud, config


def fill_up(d):
    """Requests until one is refused for want of room on the disk."""
    for i in range(400):
        reply = d.call("POST", "/v1/request_resources", {"owner": f"o{i}", "bundles": [{"CPU": 1, f"x{i}_" + "x" * 200: 1}]})
        if reply[0] == 503:
            return
    raise AssertionError("the disk never got full")


def test_a_daemon_starts_again_after_events_were_lost_to_a_full_disk(tmp_path):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))

    with Daemon(tmp_path, config(), preexec=small) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        fill_up(d)
        resource.prlimit(d.p.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        d.until(lambda: d.get("/v1/status")[1] and d.call("DELETE", "/v1/request_resources/o0")[0] in (200, 202, 404), 15)
        assert "can be written again" in d.text()
        newest = d.events()[-1]["id"]
        d.stop()
        ids = [r[0] for r in sqlite3.connect(d.dir / "davit.db").execute("select id from event order by id")]
        assert ids[-1] - ids[0] >= len(ids), "no event was lost: nothing is tested"
        d.start()
        d.until(lambda: d.ready("t4") == 1)
        assert d.events("daemon.started")[-1]["id"] > newest
