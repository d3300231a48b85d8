"""What every cloud's test tells of its plug-in: a spot wave, and a broken list of its shape.

Ten machines of one type are wanted by REST, so that no demand source is a witness.  Six vanish from one list: first of a list that is
wrong, then because they are gone.  The second witness is the cloud, asked for each machine by its id.
"""
import datetime
import time

SIX, TEN = 6, 10


def stopped(d):
    return {s["kind"] for s in d.status()["stops"]}


def at(event):
    return datetime.datetime.fromisoformat(event["at"].replace("Z", "+00:00"))


def looked(d, what, why, ms=250):
    """Its own time goes by until then: it looks at its lists now and then."""
    def now():
        d.clocks.ahead(ms)
        d.looks()
        return what()
    d.until(now, why=why)


def age(d, seconds, clock):
    """So much of its own time goes by, with a list after each piece.  clock(seconds): the cloud's, which the daemon's is ahead of."""
    for left in range(seconds, 0, -45):
        before = d.status()["providers"][0]["listed_at"]
        d.clocks.ahead(1000 * min(left, 45))
        clock(d.now() - time.time())
        looked(d, lambda before=before: d.status()["providers"][0]["listed_at"] != before, "there is no list", 0)


def story(d, kind, bundle, billed, hide, take, clock=lambda ahead: None):
    """billed(): ids as the daemon knows them; hide(ids), take(ids): by the cloud."""
    d.post({"owner": "w", "bundles": [bundle] * TEN})
    d.until(lambda: d.ready(kind) == TEN and len(billed()) == TEN)
    age(d, 15 * 60, clock)  # what comes now is no machine of no use
    before, gone = sorted(billed()), sorted(billed())[:SIX]
    hide(gone)
    looked(d, lambda: d.events("list.checked"), "the cloud was not asked for them by their ids")
    for _ in range(40):
        looked(d, lambda: True, "")
    assert "list_short" in stopped(d)
    assert sorted(billed()) == before and d.ready(kind) == TEN, "a broken list ends nothing and buys nothing"
    assert not d.events("node.lost") and len(d.events("launch")) == 1
    hide([])
    looked(d, lambda: "list_short" not in stopped(d), "the list is whole again")
    checked, launched = len(d.events("list.checked")), len(d.events("launch"))
    take(gone)
    looked(d, lambda: len(d.events("list.checked")) > checked, "the cloud was not asked for them by their ids")
    d.until(lambda: sum(1 for e in d.events("launch")) > launched and len(d.events("node.lost")) == SIX, why="they are not replaced")
    took = (at(d.events("launch")[launched]) - at(d.events("list.checked")[checked])).total_seconds()
    print(f"launched {took:.1f} s after the second witness")
    assert took < 5
    d.until(lambda: d.ready(kind) == TEN and len(billed()) == TEN)
    assert not set(billed()) & set(gone) and set(before) - set(gone) < set(billed())
