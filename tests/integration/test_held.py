"""What may be a mistake waits for a person: lost journals, second daemons, renamed and dropped providers, typos, refused ends.

Each of these ended machines with work, bought without bound, or had no way out in 0.1.  What the cloud holds is read from
its file.
"""
import json
import sqlite3

import pytest

from lib import PATIENCE, simcloud
from lib.daemon import Daemon
from test_loop import T4, cloud, faults
V100 = {"GPU": 1, "accelerator_type": "V100"}
MANY = """
cluster: held
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 2s, start_timeout: 10s%s}
providers:
  %s: {plugin: sim, state: "{dir}/%s", boot: 200ms, terminate: 200ms}
  spare: {plugin: sim, state: "{dir}/spare.json"}
node_types:
  t4: {provider: %s, resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.7, max: %s}
"""


def many(maximum=8, provider="east", state="cloud.json", limits=""):
    return MANY % (limits, provider, state, provider, maximum)


def ask(d, n):
    d.post({"bundles": [{**T4, "count": n}] if n else []})


def living(d):
    """Neither ended nor asked to end."""
    return {k for k, m in cloud(d).items() if not m.get("gone_ms")}


def stops(d):
    return {(s["kind"], s["subject"]) for s in d.status()["stops"]}


def reasons(d):
    return {n["why"]["reason"] for n in d.nodes()}


def metric(d, name):
    """Of each series of this name: what is in its braces, and its value."""
    for line in d.get("/metrics")[1].splitlines():
        if line.startswith(name + "{"):
            labels, value = line[len(name) + 1:].rsplit("} ", 1)
            yield labels, float(value)


def lose_journal(d):
    for path in d.dir.glob("davit.db*"):
        path.unlink()


def started(tmp_path, n, text):
    """A daemon with n machines that are ready."""
    d = Daemon(tmp_path, text)
    ask(d, n)
    d.until(lambda: d.ready("t4") == n)
    return d


# ---- whose machine it is

def test_a_lost_journal_ends_nothing(tmp_path):
    """The machines are of an earlier journal: held, counted, used; a person frees them."""
    with started(tmp_path, 3, many(4)) as d:
        before = living(d)
        d.stop()
        lose_journal(d)
        d.start(wait="/readyz")
        d.until(lambda: d.ready("t4") == 3)
        assert len(d.events("node.held")) == 3
        d.until(lambda: reasons(d) == {"not_ours"})
        assert stops(d) == {("machines_held", "east")}
        assert list(metric(d, "davit_stops")) == [('kind="machines_held",subject="east"', 1)]
        assert "machines_held" in d.cli("status") and "davit adopt" in d.cli("status")
        d.stays(lambda: living(d) == before, 4)  # twice the idle timeout
        ask(d, 4)  # they are used, and count: one more is bought, not four
        d.until(lambda: d.ready("t4") == 4)
        d.stays(lambda: len(cloud(d)) == 4, 1)
        ask(d, 0)
        d.until(lambda: living(d) == before)
        one = d.nodes()[0]["id"]
        said = d.cli("drain", one, expect=3, stream="stderr")
        assert "is held" in said and "davit adopt" in said and not d.events("node.asked"), said
        assert json.loads(d.cli("adopt", "--json", "--yes", one))["count"] == 1
        d.until(lambda: len(living(d)) == 2)
        assert "2 machines" in d.cli("adopt", "--yes")
        # a person said that they are ours: their idle end is free
        d.until(lambda: not cloud(d))
        d.cli("adopt", expect=1)
        d.until(lambda: not stops(d))


def mark_of(d):
    """Of what it launched itself."""
    with sqlite3.connect(f"file:{d.dir / 'davit.db'}?mode=ro", uri=True) as db:
        return "davit-" + db.execute("select value from value where key = 'owner'").fetchone()[0]


def knows_of_the_other(d, n, mark):
    """Before anything is adopted it is said whose it is; nobody who can be asked is a no."""
    stop = next(s for s in d.status()["stops"] if s["kind"] == "machines_held")
    beside = next(s for s in d.status()["stops"] if s["kind"] == "daemon_beside")
    assert f"{n} machine" in stop["text"] and mark in stop["text"] and mark_of(d) in beside["text"], (stop, beside)
    assert [x["launched_by"] for x in d.nodes() if x["launched_by"]] == n * [mark]
    shown = d.cli("adopt", expect=1)
    assert shown.count(f", launched by {mark}") == n and "Stop one of the two" in shown, shown
    assert not [e for e in d.events("node.adopted") if " by " in e["text"]]


def test_a_second_daemon_ends_nothing_of_the_first(tmp_path):
    """The same cluster and cloud, and a journal of its own."""
    (tmp_path / "second").mkdir()
    with started(tmp_path, 3, many(4)) as d:
        before = living(d)
        text = many(4).replace("{dir}/cloud.json", str(tmp_path / "cloud.json"))
        with Daemon(tmp_path / "second", text) as other:
            other.until(lambda: other.ready("t4") == 3)
            other.until(lambda: reasons(other) == {"not_ours"})
            meet(d, other)
            d.stays(lambda: living(d) == before, 4)
            # what the second is asked for it buys, as nothing of the first one's is free, and the first leaves that alone
            ask(other, 1)
            other.until(lambda: other.ready("t4") == 4)
            other.until(lambda: len(living(d)) == 4)
            d.until(lambda: "anothers" in reasons(d))
            other.until(lambda: "anothers" in reasons(other))
            knows_of_the_other(d, 1, mark_of(other))
            knows_of_the_other(other, 3, mark_of(d))
            d.stays(lambda: len(living(d)) == 4 and before < living(d), 4)
            ask(other, 0)
            d.until(lambda: living(d) == before)
        d.until(lambda: d.ready("t4") == 3)
        assert {n["cloud_id"] for n in d.nodes()} == before


def meet(*daemons):
    """Each has left its mark in the cloud again while the others looked."""
    def all_know():
        for x in daemons:
            x.clocks.ahead(16000)  # a list at rest, and more than a mark each ten seconds
            x.looks()
        return all("daemon_beside" in {kind for kind, _ in stops(x)} for x in daemons)
    daemons[0].until(all_know)


def test_two_daemons_of_one_name_know_of_each_other(tmp_path):
    """Before the second has launched anything: both say so, whichever is asked, as long as both are at work."""
    (tmp_path / "second").mkdir()
    with started(tmp_path, 2, many(8)) as d:
        text = many(8).replace("{dir}/cloud.json", str(tmp_path / "cloud.json"))
        with Daemon(tmp_path / "second", text) as other:
            ask(other, 2)  # what it sees might be free: nobody has told
            other.until(lambda: other.ready("t4") >= 2)
            meet(d, other)
            other.until(lambda: other.ready("t4") == 4)  # now it knows that it is not, and buys
            for one, two in ((d, other), (other, d)):
                line = one.cli("status").splitlines()[1]
                assert "another daemon of cluster held is at work: " + mark_of(two) in line, line
                said = one.get("/readyz")[1]["problems"]
                assert any("another daemon of cluster held is at work" in p for p in said), said
                assert one.status()["stops"][0]["kind"] == "daemon_beside"
                assert len(one.events("daemon.beside")) == 1
            one = next(n["id"] for n in other.nodes() if n["launched_by"] == mark_of(d))
            said = other.cli("adopt", one, expect=1)
            assert "is at work" in said.splitlines()[0] and f"launched by {mark_of(d)}" in said, said
            assert len(living(d)) == 4 and not d.events("node.lost")
            ask(other, 0)
            other.until(lambda: len(living(d)) == 2)
        # the second is stopped: that is over in a minute
        d.clocks.ahead(16000)
        d.looks()
        assert "daemon_beside" in {kind for kind, _ in stops(d)}

        def alone():
            d.clocks.ahead(16000)
            d.looks()
            return "daemon_beside" not in {kind for kind, _ in stops(d)}
        d.until(alone)
        assert len(d.events("daemon.alone")) == 1
        # an earlier process of the same daemon is nobody beside it
        d.stop()
        d.start()
        for _ in range(6):
            d.clocks.ahead(16000)
            d.looks()
        assert not stops(d) and len(d.events("daemon.beside")) == 1


def test_what_was_lost_of_our_own_journal_is_ours(tmp_path):
    """A record that is forgotten while its machine lives: a list brings it back.  It is not ended in the tick that found
    it, and then as any other."""
    with started(tmp_path, 2, many(4)) as d:
        one = d.nodes()[0]
        d.cli("forget", one["id"])
        assert [e["subject"] for e in d.events("node.forgotten")] == [one["id"]]
        ask(d, 0)  # the other one goes, and the list is looked at
        d.until(lambda: d.events("node.adopted"))
        d.until(lambda: reasons(d) == {"found_lately"})
        assert len(living(d)) == 1
        d.until(lambda: not cloud(d))


def test_a_journal_of_another_cluster_is_refused(tmp_path):
    """Two configurations and one `state:`: the second would take over the requests of the first, and its machines."""
    with started(tmp_path, 2, many(4)) as d:
        before = living(d)
        d.stop()
        d.write(many(4).replace("cluster: held", "cluster: other"))
        d.start(wait=None)
        assert d.p.wait(PATIENCE) == 3
        said = d.text().splitlines()[-1]
        assert 'of cluster "held"' in said and 'of cluster "other"' in said and "state:" in said, said
        assert living(d) == before
        d.write(many(4))
        d.start()
        d.until(lambda: d.ready("t4") == 2)
        ask(d, 0)
        d.until(lambda: not cloud(d) and not d.nodes())
        d.call("DELETE", "/v1/request_resources/default")
        d.stop()
        d.write(many(4).replace("cluster: held", "cluster: other"))
        d.start()  # nothing is in it any more: it may be another's
        assert d.status()["cluster"] == "other"


# ---- where it is

def test_a_renamed_provider(tmp_path):
    with started(tmp_path, 3, many(4)) as d:
        before = living(d)
        ids = {n["id"] for n in d.nodes()}
        d.write(many(4, provider="west"))
        d.until(lambda: d.status()["config"]["held"])
        status = d.status()
        assert status["config"]["held"] and "drops provider east, which has 3 machines" in status["config"]["problem"]
        assert list(line for line in d.get("/metrics")[1].splitlines() if line.startswith("davit_config_")) == [
            "davit_config_refused 0", "davit_config_held 1"]
        assert "davit apply" in d.cli("status")
        assert d.exchange("GET", "/readyz").code == 200
        assert json.loads(d.cli("apply", "--json"))["applied"]
        assert not d.status()["config"]["held"]
        d.until(lambda: len(d.events("node.moved")) == 3)
        d.until(lambda: {n["id"] for n in d.nodes(state="ready")} == ids)
        d.stays(lambda: living(d) == before and len(cloud(d)) == 3, 4)
        assert not d.events("node.lost") and not stops(d)
        ask(d, 0)
        d.until(lambda: not cloud(d))


def test_a_dropped_provider_and_forget(tmp_path):
    """Its machines stay in the ledger and count, until a person drops the records; the machines are left alone."""
    gone = many(4).replace("provider: east", "provider: spare").replace("  east: {plugin", "  west: {plugin").replace(
        "cloud.json", "west.json")
    with started(tmp_path, 2, many(4)) as d:
        before = living(d)
        d.write(gone)
        d.until(lambda: d.status()["config"]["held"])
        d.cli("apply")
        d.until(lambda: ("provider_gone", "east") in stops(d))
        d.until(lambda: "no_provider" in reasons(d))
        ids = [n["id"] for n in d.nodes() if n["why"]["reason"] == "no_provider"]
        assert len(ids) == 2
        d.stays(lambda: living(d) == before, 3)
        d.cli("forget", *ids)
        d.until(lambda: not {n["id"] for n in d.nodes()} & set(ids))
        assert ("provider_gone", "east") not in stops(d)
        d.cli("forget", ids[0], expect=1)
        assert living(d) == before
        d.until(lambda: d.ready("t4") == 2)  # what was asked for was bought where it can be had now


def test_a_provider_that_moved(tmp_path):
    """Other settings, the same name: the machines are where they were, and nobody there is asked."""
    with started(tmp_path, 2, many(4)) as d:
        before = living(d)
        d.write(many(4, state="elsewhere.json"))
        d.until(lambda: d.status()["config"]["held"])
        assert "elsewhere.json" in d.status()["config"]["problem"]
        d.stays(lambda: d.ready("t4") == 2, 1)
        d.stop()
        d.start()  # at a start there is no old configuration: the provider waits
        d.until(lambda: d.exchange("GET", "/readyz").code == 503)
        d.until(lambda: "davit apply" in d.exchange("GET", "/readyz").text)
        d.stays(lambda: not (tmp_path / "elsewhere.json").exists() and living(d) == before, 2)
        d.cli("apply")
        d.until(lambda: d.events("provider.moved"))
        d.until(lambda: d.ready("t4") == 2)  # bought there
        assert living(d) == before and len(json.loads((tmp_path / "elsewhere.json").read_text())["machines"]) == 2


# ---- ends

def test_a_typo_ends_nothing(tmp_path):
    """max: 8 becomes 1.  The old file drops it; applied, exactly those machines go."""
    with started(tmp_path, 7, many(8)) as d:
        before = living(d)
        d.write(many(1))
        d.until(lambda: d.status()["config"]["held"])
        assert len(d.events("config.held")) == 1 and "would end 6 machines" in d.status()["config"]["problem"]
        d.stays(lambda: living(d) == before, 2)
        assert len(cloud(d)) == 7
        d.write(many(8))
        d.until(lambda: not d.status()["config"]["held"])
        d.cli("apply", expect=1)
        d.write(many(3))
        d.until(lambda: d.status()["config"]["held"])
        assert living(d) == before
        d.cli("apply")
        d.until(lambda: len(cloud(d)) == 3)
        d.stays(lambda: len(living(d)) == 3, 2)
        assert living(d) < before


@pytest.mark.parametrize("less, ends", [("{a: {node_types: [t4], quota: {gpus: 2}}}", 5), ("{b: {node_types: [t4]}}", 7)])
def test_a_lowered_quota_ends_nothing(tmp_path, less, ends):
    """What nothing needs any more, only because the file says so, is held as what the file ends."""
    full = "queues: {a: {node_types: [t4], quota: {gpus: 8}}}\n"
    with Daemon(tmp_path, many(8) + full) as d:
        d.post({"owner": "o", "queue": "a", "bundles": [{"GPU": 1, "count": 7}]})
        d.until(lambda: d.ready("t4") == 7)
        before = living(d)
        d.write(many(9) + full.replace("8", "7"))  # it takes nothing from anybody
        d.until(lambda: d.status()["types"][0]["max"] == 9)
        d.write(many(9) + f"queues: {less}\n")
        held = d.until(lambda: d.status()["config"] if d.status()["config"]["held"] else None)
        assert f"would end {ends} machines" in held["problem"] and f"{ends} of them after idle_timeout" in held["problem"], held
        d.stays(lambda: living(d) == before, 3)
        d.write(many(8) + full)
        d.until(lambda: not d.status()["config"]["held"])
        d.write(many(9) + f"queues: {less}\n")
        d.until(lambda: d.status()["config"]["held"])
        d.cli("approve", "config", "--yes")
        d.until(lambda: len(living(d)) == 7 - ends)


def test_the_brake_holds_what_a_start_would_end(tmp_path):
    """A journal of before 0.2 does not know which file was in force: a tenth of the machines goes, at least one, the rest waits."""
    with started(tmp_path, 6, many(8)) as d:
        d.stop()
        with sqlite3.connect(tmp_path / "davit.db") as db:
            assert db.execute("delete from value where key = 'config/digest'").rowcount == 1
        db.close()
        d.write(many(2))
        d.start()
        d.until(lambda: d.events("ends.held"))
        assert d.events("ends.held")[-1]["reason"] == "too_many_ends"
        d.until(lambda: len(cloud(d)) == 5)
        d.stays(lambda: len(living(d)) == 5, 3)
        assert [s for s in d.status()["stops"] if s["kind"] == "ends_held"]
        assert json.loads(d.cli("release", "--json"))["count"] == 3
        d.until(lambda: len(cloud(d)) == 2)
        d.until(lambda: not stops(d))
        d.cli("release", expect=1)


def test_ends_that_the_cloud_refuses_count(tmp_path):
    """Terminate answers AUTH while lists and launches go well: never more alive than max, they are used again, and it shows."""
    with started(tmp_path, 2, many(2)) as d:
        faults(d, auth=["terminate"])
        before = set(cloud(d))
        for i in range(3):
            ask(d, 0)
            d.until(lambda: len(d.events("end.failed")) > i)
            d.until(lambda: len([n for n in d.nodes() if n["state"] == "stopping"]) == 2)
            assert "draining" not in {n["state"] for n in d.nodes()}, "nothing is drained: nobody tells of work there"
            ask(d, 2)
            d.until(lambda: d.ready("t4") == 2)
            assert set(cloud(d)) == before
        ask(d, 0)
        d.until(lambda: ("end_stuck", "east") in stops(d))
        ready = d.exchange("GET", "/readyz")
        assert ready.code == 503 and "are to be ended and still there" in ready.text
        assert len(cloud(d)) == 2
        faults(d)
        d.until(lambda: not cloud(d) and not stops(d), 90)
        assert d.exchange("GET", "/readyz").code == 200


def test_a_drain_is_taken_back(tmp_path):
    """A person's, whose end the cloud refuses: `davit uncordon` brings the node back to use, though nobody asks for it."""
    with started(tmp_path, 1, many(2, limits=", consolidate: off").replace("idle_timeout: 2s", "idle_timeout: 10m")) as d:
        name, = (n["id"] for n in d.nodes())
        faults(d, auth=["terminate"])
        d.cli("drain", name)
        d.until(lambda: d.events("end.failed") and {n["state"] for n in d.nodes() if n["id"] == name} == {"stopping"})
        ask(d, 0)
        d.cli("uncordon", name)
        d.until(lambda: {n["state"] for n in d.nodes() if n["id"] == name} == {"ready"})
        faults(d)
        d.stays(lambda: name in {n["id"] for n in d.nodes(state="ready")}, 1.5)


def test_a_short_list_is_a_stop(tmp_path):
    """Four of five machines are missing at once: not believed, and it shows; a person says that they are gone."""
    with started(tmp_path, 5, many(8)) as d:
        faults(d, hidden=list(cloud(d))[1:])
        d.until(lambda: stops(d) == {("list_short", "east")})
        stop, = d.status()["stops"]
        assert stop["failing"] and "lacks 4 machines at once" in stop["text"] and "davit release" in stop["text"]
        ready = d.exchange("GET", "/readyz")
        assert ready.code == 503 and "lacks 4 machines" in ready.text and len(d.nodes()) == 5
        d.cli("release")
        d.until(lambda: not stops(d) and d.ready("t4") == 5 and len(d.events("node.lost")) == 4)


# ---- stops that end by themselves

TWO = many().replace("node_types:", """  west: {plugin: sim, state: "{dir}/west.json", boot: 200ms}
node_types:
  v100: {provider: west, resources: {CPU: 8, GPU: 1}, accelerator_type: V100, price: 2, max: 8}""")


def test_a_launch_is_tried_again_and_one_in_doubt_counts(tmp_path):
    """One provider answers AUTH to a launch: not ready, and a try follows without a reload.  The other takes launches and
    says nothing: sent again for half a minute, then in doubt, until its list tells."""
    west = (tmp_path / "west.json")
    with Daemon(tmp_path, TWO) as d:
        d.post({"bundles": [T4, V100]})
        d.until(lambda: d.ready() == 2)
        faults(d, auth=["launch"])
        faults(d, "west.json", down=["launch"])
        d.post({"bundles": [T4, T4, V100, V100]})
        d.until(lambda: ("provider_auth", "east") in stops(d))
        ready = d.exchange("GET", "/readyz")
        assert ready.code == 503 and "refuses our credentials" in ready.text
        aside, = [b for b in d.status()["backoffs"] if b["provider"] == "east"]
        assert aside["status"] == "AUTH" and aside["until"].startswith("20")
        faults(d)
        d.until(lambda: d.ready("t4") == 2)  # after 30 s
        d.until(lambda: d.exchange("GET", "/readyz").code == 200)
        d.until(lambda: d.events("launch.unanswered"))
        faults(d, "west.json", down=True)
        d.until(lambda: "launch_unanswered" in reasons(d))
        assert ("launch_unanswered", "west") in stops(d)
        d.until(lambda: not d.status()["ready"])
        d.stays(lambda: len(d.nodes("v100")) == 2, 3)
        faults(d, "west.json")
        d.until(lambda: d.events("launch.settled"))
        # Another was bought meanwhile, beside it: two are asked for.
        d.until(lambda: d.ready("v100") == 2 and len(d.nodes("v100")) == 2 and not stops(d))
        assert len(json.loads(west.read_text())["machines"]) == 2 and not d.events("config.loaded")


def test_what_is_held_is_held_after_a_restart(tmp_path):
    """`max: 8` becomes 2 and is held.  An upgrade is a restart: it ends nothing either; a person's word does."""
    with started(tmp_path, 6, many(8)) as d:
        before = living(d)
        d.write(many(2))
        d.until(lambda: d.events("config.held"))
        for end in (d.stop, d.kill):
            end()
            d.start()
            held = d.until(lambda: d.status()["config"] if d.status()["config"]["held"] else None)
            assert "end 4 machines" in held["problem"], held
            d.stays(lambda: living(d) == before, 2)
            assert not d.events("node.ending")
            assert "davit apply" in d.get("/readyz")[1]["problems"][0]
            assert not d.events("ends.held"), "the same ends are held twice"
        d.cli("apply")
        d.until(lambda: len(living(d)) == 2)
        d.until(lambda: not d.status()["config"]["held"])
        d.stop()
        d.start()
        assert not d.status()["config"]["held"]


def test_the_file_of_before_drops_what_a_start_holds(tmp_path):
    with started(tmp_path, 6, many(8)) as d:
        before = living(d)
        d.stop()
        d.write(many(2))  # edited while nobody looks
        d.start()
        d.until(lambda: d.status()["config"]["held"])
        d.write(many(8))
        d.until(lambda: not d.status()["config"]["held"])
        d.stays(lambda: living(d) == before, 2)
        d.write(many(5))  # one at a time is what max_ends lets go
        d.until(lambda: d.status()["types"][0]["max"] == 5)
        d.stop()
        d.start()
        d.until(lambda: len(living(d)) == 5)


def test_a_list_that_lags_buys_nothing_twice(tmp_path):
    """Machines are listed six seconds after their launch: what only its answer has shown is not lost."""
    with Daemon(tmp_path, many(4).replace("boot: 200ms,", "boot: 200ms, list_lag: 6s,")) as d:
        most = 0
        ask(d, 3)

        def there():
            nonlocal most
            most = max(most, len(cloud(d)))
            return d.ready("t4") == 3
        d.until(there)
        d.stays(lambda: there() or most <= 3, 3)
        assert most == 3
