"""The real daemon where its cloud gives ids again, and where another head answers: a storm's world without a storm, and
its judge."""
from lib import until
from storm import Storm

WORK_S = 0.3


def peace(storm):
    assert not storm.judge.violations


class Blind:
    """While it is, lists of the cloud fail."""

    def __init__(self, cloud):
        self.on, self.list = False, cloud.list
        cloud.list = self.answer

    def answer(self, provider, fault):
        return ([], {"status": "RETRY", "text": "played"}) if self.on else self.list(provider, fault)


def test_ids_that_are_given_again(tmp_path):
    """Its ids are host names: the next machine has the name of the one that has just gone, which lists could not tell yet,
    and is not ended for it."""
    with Storm(1, tmp_path, hosts=True) as storm:
        blind = Blind(storm.cloud)
        storm.head.submit("gpu", WORK_S)
        for done in range(3):
            until(lambda done=done: storm.head.done > done, why=storm.report)
            until(lambda: storm.cloud.machines["host-0"].cause, why=storm.report)  # its end was asked for
            blind.on = True
            until(lambda: not storm.cloud.alive(), why=storm.report)
            storm.head.submit("gpu", WORK_S if done < 2 else 3600)
            blind.on = False
            peace(storm)
        until(lambda: storm.head.running, why=storm.report)
        there = {m.request for m in storm.cloud.alive()}
        # an end is asked for again after a minute, for as long as lists have the machine
        storm.daemon.stays(lambda: {m.request for m in storm.cloud.alive() if m.cause is None} == there, 150)
        assert storm.cloud.faults["id given again"] == 3 and storm.head.lost == 0, storm.report()
        peace(storm)


def test_another_head_at_the_address(tmp_path):
    """It has none of our nodes, and says yes to each drain: two busy machines stay, and it is told."""
    with Storm(2, tmp_path) as storm:
        d = storm.daemon
        for _ in range(2):
            storm.head.submit("gpu", 3600)
        until(lambda: len(storm.head.running) == 2 and d.ready() == 2, why=storm.report)
        there = {m.id for m in storm.cloud.alive()}
        storm.head.fault = "another"
        until(lambda: "another_head" in {s["kind"] for s in d.status()["stops"]}, why=lambda: f"{d.status()['stops']}")
        assert d.get("/readyz")[0] == 503
        d.stays(lambda: {m.id for m in storm.cloud.alive()} == there, 60)  # seven times the start_timeout
        storm.head.fault = None
        until(lambda: not d.status()["stops"], why=lambda: f"{d.status()['stops']}")
        d.stays(lambda: {m.id for m in storm.cloud.alive()} == there, 10)
        assert storm.head.lost == 0 and not storm.head.drains
        peace(storm)
