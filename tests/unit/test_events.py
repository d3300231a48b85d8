"""Every kind of event that the code emits is in docs/events.md, and nothing else is; warnings are marked."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
KIND = re.compile(r'"([a-z]+\.[a-z0-9]+)"')


def code():
    return {str(p.relative_to(ROOT / "autoscaler")): p.read_text() for p in sorted((ROOT / "autoscaler").rglob("*.c"))
            if p.relative_to(ROOT / "autoscaler").parts[0] in ("control", "store") or p.name == "cmd_journal.c"}


def emitted():
    """What stands within a call of emit(), and the table of a machine's states."""
    found = {"launch"}
    for text in code().values():
        for call in re.findall(r"\bemit\(([^;]*);", text):
            found |= set(KIND.findall(call))
        found |= set(re.findall(r'= "(node\.\w+)"', text))
    return found


def rows():
    for line in re.findall(r"^\| (`.*?) \|", (ROOT / "docs/events.md").read_text(), re.M):
        for kind, mark in re.findall(r"`([a-z0-9.]+)`( !)?", line):
            yield kind, bool(mark)


def test_documented():
    documented = {kind for kind, _ in rows()}
    found = emitted()
    assert len(found) > 40
    # an event whose kind is chosen elsewhere in its function
    chosen = {k for k in documented - found
              if any(re.search(f'''["']{re.escape(k)}["']''', text) for text in code().values())}
    assert documented - chosen == found, (documented - chosen) ^ found


def test_warnings_are_marked():
    bad = set(KIND.findall(re.search(r"bad\[\] = \{(.*?)\}", code()["control/env.c"], re.S)[1]))
    assert {kind for kind, mark in rows() if mark} == bad
