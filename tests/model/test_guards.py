"""What a model shares with the daemon is the same on both sides (README.md)."""
import re

import pytest

import guards


def test_the_table_of_rules_is_that_of_the_daemon():
    assert guards.compare() == 7


@pytest.mark.parametrize("path, old, new, told", [
    ("last_look.c", "if (launch_under_way(l->providers, p))\n        return false;", "", "is_still_that differs"),
    ("last_look.c", "p->list_begun_ms >= p->over_ms", "p->list_begun_ms >= p->told_ms", "no word for"),
    ("last_look.c", "l->sources->n == 0 || m->maybe.taken", "l->sources->n == 0", "no_work_came differs"),
    ("last_look.c", "!fleet_shares_id(&l->ledger->fleet, m)", "true", "id_is_its_own differs"),
    ("last_look.c", "     no_work_came},\n", "     no_work_came},\n    {\"it rests\", rests},\n", "the table of last_look.c is"),
    ("sources/nodes.c", "if (c.contested)\n        return false;", "", "source_drains_still differs"),
])
def test_a_rule_that_drifts_is_told(path, old, new, told, tmp_path):
    for source in guards.SOURCES:
        with open(f"{guards.CONTROL}/{source}") as f:
            text = f.read()
        if source == path:
            assert text.count(old) == 1
            text = text.replace(old, new)
            text += "\nstatic bool rests(const struct last_look *l, const struct machine *m)\n{\n    return true;\n}\n"
        (tmp_path / source).parent.mkdir(exist_ok=True)
        (tmp_path / source).write_text(text)
    with pytest.raises(guards.Mismatch, match=told):
        guards.compare(control=tmp_path)


def test_a_guard_that_drifts_is_told(tmp_path):
    with open(guards.MODEL) as f:
        text = f.read()
    for old, new in ((" && in_list[m]", ""), ("id_is_its_own(m) && is_still_that(m) && work", "is_still_that(m) && id_is_its_own(m) && work")):
        assert old in text
        (tmp_path / "drifted.pml").write_text(text.replace(old, new))
        with pytest.raises(guards.Mismatch):
            guards.compare(model=tmp_path / "drifted.pml")


@pytest.mark.parametrize("model, name, source, theirs, unit", [
    ("way", "START_TIMES", "control/observe.c", r"START_TIMES =\s*(\d+)", 1),
    ("offer", "LIFE_MOST", "cloud/backoff.c", r"LIFE_MOST_MS \((\d+) \* 3600 \* INT64_C\(1000\)\)", 3600 // 10),
    ("offer", "PROVES", "control/ledger.c", r"PROVES_MS = (\d+)", 1 / 10000),
])
def test_numbers_are_those_of_the_daemon(model, name, source, theirs, unit):
    with open(f"{guards.CONTROL}/../{source}") as f:
        number = int(re.search(theirs, f.read()).group(1)) * unit
    with open(f"{guards.HERE}/{model}.pml") as f:
        assert int(re.search(rf"#define {name} (\d+)", f.read()).group(1)) == number
