"""The models: each is checked exhaustively; each fault that was put into one is found by it (README.md)."""
import pytest

import check
import spin

NOW = "VIEWS_NOW LISTS_NOW"
# name: model, what may happen, property, switches.  All of it holds.
HOLDS = {
    "requests-one-machine": ("life", "LIES LOSSES RESTARTS TAKES", None, ["REST"]),
    "requests-two-machines": ("life", "TAKES LISTS_NOW", None, ["REST", "TWO"]),
    "requests-replies-lost": ("life", "LOSSES LISTS_NOW", None, ["REST", "TWO"]),
    "head-lists-lie": ("life", f"LIES TAKES LOSSES {NOW}", None, []),
    "head-drains": ("life", f"REVIVES FORGETS RESTARTS {NOW}", None, []),
    "head-names-vanish": ("life", f"HIDES RESTARTS LOSSES {NOW}", None, []),
    "head-forgets-and-names-vanish": ("life", f"HIDES FORGETS {NOW}", None, []),
    "head-slow-views": ("life", "LISTS_NOW", None, []),
    "head-two-machines": ("life", f"ONE_ID PLAIN {NOW}", None, ["TWO"]),
    "lease": ("lease", "", None, []),
    "lease-law-7": ("lease", "", "law_7", []),
    "brakes": ("brakes", "", None, []),
    "life-joined-late-and-hidden": ("life", f"HIDES HIDES_YOUNG RESTARTS {NOW}", None, []),
    "brakes-law-6": ("brakes", "", "law_6", []),
    "brakes-law-7": ("brakes", "", "law_7", []),
    "way-law-7": ("way", "", "law_7", []),
    "offer": ("offer", "", None, []),
    "grace": ("grace", "", None, []),
    "twins": ("twins", "", None, []),
    "twins-law-4": ("twins", "", "law_4", []),
}
# The causes of days on which laws were broken, by the numbers in README.md: each broke this law.
CAUSES = {
    "1": ("life", "LOSSES LISTS_NOW", None, ["REST", "TWO", "CAUSE_1", "ONLY=1"], 1),
    "2": ("life", f"HIDES {NOW}", None, ["CAUSE_2"], 1),
    "3": ("life", NOW, None, ["CAUSE_3"], 1),
    "4": ("lease", "", "law_7", ["CAUSE_4"], "law_7"),
    "5": ("way", "", "law_7", ["CAUSE_5"], "law_7"),
    "6-failed-once": ("life", "LIES LISTS_NOW", None, ["REST", "CAUSE_6"], 1),
    "6-stopping-once": ("life", f"LIES {NOW}", None, ["CAUSE_6"], 1),
    "6-drops-off-list": ("brakes", "", "law_6", ["NO_NOTE"], "law_6"),
    "7": ("lease", "", None, ["CAUSE_7"], 2),
    "8": ("twins", "", None, ["CAUSE_8"], 4),
    "9": ("life", f"FORGETS {NOW}", None, ["CAUSE_9"], 1),
    "10": ("grace", "", None, ["CAUSE_10"], 1),
    "11": ("life", NOW, None, ["CAUSE_11"], 1),
    "12-died-after-join": ("offer", "", None, ["CAUSE_12"], 8),
    "12-touch-file": ("offer", "", None, ["SAME_FILE"], 8),
    "13": ("life", "LISTS_NOW", None, ["REST", "CAUSE_13"], 5),
}
# One rule less: what it is for.
WITHOUT = {
    "is_still_that": ("life", "LISTS_NOW", None, ["REST", "TWO", "WITHOUT=2"], 1),
    "work_is_known": ("life", NOW, None, ["WITHOUT=3"], 1),
    "no_work_came": ("life", f"FORGETS {NOW}", None, ["WITHOUT=4"], 1),
    "the fence of the copy": ("lease", "", None, ["NO_FENCE"], 5),
    "intent before effect": ("lease", "", None, ["NO_INTENT"], 5),
    "recent ends are in the journal": ("brakes", "", None, ["NO_JOURNAL"], 1),
    "short lists are doubted": ("brakes", "", None, ["NO_LIST_BRAKE"], 3),
}
# What the models find and the daemon does not forbid yet: README.md, "What they found".
OPEN = {}


@pytest.mark.parametrize("name", HOLDS)
def test_laws_hold_in_every_state(name, tmp_path, capsys):
    model, flags, ltl, switches = HOLDS[name]
    got = spin.run(tmp_path, model, flags, ltl, switches)
    with capsys.disabled():
        print(f"\n  {name}: {got.states} states", end="")
    assert got.law is None, got.text


@pytest.mark.parametrize("name", [*CAUSES, *WITHOUT, *OPEN])
def test_a_fault_is_found(name, tmp_path):
    model, flags, ltl, switches, law = (CAUSES | WITHOUT | OPEN)[name]
    assert spin.run(tmp_path, model, flags, ltl, switches).law == law


def test_make_check_has_it():
    assert "model" in check.SUITES and sum("model" in lane for lane in check.LANES) == 1
