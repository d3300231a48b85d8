"""Every reason of reason.h has a text of its own, is in docs/reasons.md, and is in some test (or listed here, with why not)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the enum, but nothing gives it today.
NOT_GIVEN = {"none"}


def reasons():
    text = re.sub(r"\s*\\\n\s*", " ", (ROOT / "autoscaler/model/reason.h").read_text())
    return re.findall(r'X\((\w+), "(\w+)", "([^"]+)"\)', text)


def test_codes_and_texts_are_their_own():
    found = reasons()
    assert len(found) > 40
    for k in range(3):
        column = [r[k] for r in found]
        assert len(set(column)) == len(column), [x for x in column if column.count(x) > 1]
    assert all(len(r[2]) >= 8 for r in found)


def test_documented():
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reasons.md").read_text(), re.M))
    assert documented == {code for _, code, _ in reasons()} - {"none"}


def test_in_some_test():
    tests = " ".join(p.read_text(errors="replace") for p in sorted((ROOT / "tests").rglob("*"))
                     if p.suffix in (".py", ".c", ".h", ".json") and p.name != "test_reasons.py" and p.stat().st_size < 1 << 20)
    words = set(re.findall(r"\w+", tests))
    missing = {code for name, code, _ in reasons() if code not in words and f"REASON_{name}" not in words}
    assert missing <= NOT_GIVEN, f"in no test: {sorted(missing - NOT_GIVEN)}"


def test_given_by_the_planner_or_the_loop():
    code = " ".join(p.read_text() for p in sorted((ROOT / "autoscaler").rglob("*.c")) if p.name != "reason.c")
    used = set(re.findall(r"REASON_(\w+)", code))
    unused = {code for name, code, _ in reasons() if name not in used}
    assert unused <= NOT_GIVEN, f"nothing gives: {sorted(unused - NOT_GIVEN)}"
