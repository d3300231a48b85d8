#!/usr/bin/env python3
"""No test waits for a time: it waits for an event, and as long as that takes.

Named are, in Python, C and shell below tests/:
- a sleep.  until() of tests/lib and UNTIL() of tests/lib/until.h are how a test looks again and again;
- an end of less than ten seconds to a wait: what never happens may take its time to be found out;
- an upper limit to what a clock counted, under a minute and not scaled by crowded() or slow_core().

A wait for a time that is meant says why, on its line or the one above: `# wait: WHY`, in C `/* wait: WHY */`.

usage: waits.py [TREE]
"""
import ast
import io
import pathlib
import re
import sys
import tokenize

LEAST_S = 10        # an end to a wait
GENEROUS_S = 60     # an upper limit to a time
CLOCKS = {"monotonic", "time", "perf_counter"}
SCALES = {"crowded", "slow_core"}
WAITS = {"until", "wait", "wait_for", "sees", "join"}       # so called, their number is an end to a wait
ENDS = {"timeout", "seconds", "patience"}
# How others wait, and what starts and ends the suites: nobody's test.
OURS = {"tests/lib/__init__.py": "until", "tests/lib/until.h": None, "tests/lib/keeper.py": None, "tests/check.py": None}
REASON = re.compile(r"(?:#|/\*)\s*wait:(.*?)(?:\*/)?\s*$")


def number(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool) else None


def name_of(f):
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def calls(node, names):
    return any(isinstance(n, ast.Call) and name_of(n.func) in names for n in ast.walk(node))


def is_sleep(call):
    f = call.func
    return isinstance(f, ast.Attribute) and f.attr == "sleep" and isinstance(f.value, ast.Name) and f.value.id in ("time", "asyncio") or \
        isinstance(f, ast.Name) and f.id == "sleep" or \
        name_of(f) == "select" and len(call.args) == 4 and all(isinstance(a, ast.List) and not a.elts for a in call.args[:3])


def short_end(call):
    """The number in it that ends a wait too soon, if there is one."""
    name, found = name_of(call.func), []
    if name == "settimeout":
        found += call.args[:1]
    if name in ("wait", "join", "get"):
        found += call.args[:1] if name != "get" or "queue" in ast.unparse(call.func) else []
    if name in WAITS:
        found += call.args[1:2]
    found += [k.value for k in call.keywords if k.arg == "timeout" or k.arg in ENDS and name in WAITS]
    return next((n for n in map(number, found) if n is not None and 0 < n < LEAST_S), None)


def is_span(node, spans):
    """A difference of a clock's times, or a name for one."""
    return isinstance(node, ast.Name) and node.id in spans or \
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Call) and \
        name_of(node.left.func) in CLOCKS and isinstance(node.left.func, ast.Attribute) and ast.unparse(node.left.func.value) == "time"


def limits(compare, spans):
    """Upper limits in a comparison to what a clock counted."""
    sides = [compare.left, *compare.comparators]
    for left, op, right in zip(sides, compare.ops, sides[1:]):
        low, high = (left, right) if isinstance(op, (ast.Lt, ast.LtE)) else (right, left)
        if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and is_span(low, spans):
            yield high


def spans_of(function):
    return {n.targets[0].id for n in ast.walk(function) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and is_span(n.value, ())}


def generous(limit):
    n = number(limit)
    return n is not None and n >= GENEROUS_S or calls(limit, SCALES)


def in_python(text, skipped):
    """(first line, last line, what) of each wait for a time."""
    tree = ast.parse(text)
    inside = [(n.lineno, n.end_lineno) for n in ast.walk(tree) if skipped and isinstance(n, ast.FunctionDef) and n.name == skipped]
    for n in ast.walk(tree):
        if isinstance(n, ast.Call) and not any(a <= n.lineno <= b for a, b in inside):
            if is_sleep(n):
                yield n.lineno, n.end_lineno, "a sleep"
            elif short_end(n):
                yield n.lineno, n.end_lineno, f"an end of {short_end(n)} s to a wait"
        elif isinstance(n, ast.Assign) and name_of(n.targets[0]) == "timeout" and 0 < (number(n.value) or 0) < LEAST_S:
            yield n.lineno, n.end_lineno, f"an end of {number(n.value)} s to a wait"
    seen = set()
    for f in [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Module))]:
        spans = spans_of(f) if isinstance(f, ast.FunctionDef) else set()
        for a in (n for n in ast.walk(f) if isinstance(n, ast.Assert)):
            for c in (n for n in ast.walk(a.test) if isinstance(n, ast.Compare)):
                if c not in seen and any(not generous(limit) for limit in limits(c, spans)):
                    seen.add(c)
                    yield a.lineno, a.end_lineno, "an upper limit to a time"


C_KINDS = [
    (re.compile(r"(?<![\w>.])(?:u|nano|clock_nano)?sleep\s*\("), None, "a sleep"),
    (re.compile(r"(?<![\w>.])(?:poll|epoll_wait)\([^;()]*,\s*(\d+)\)"), LEAST_S * 1000, "an end of {} ms to a wait"),
    (re.compile(r"struct timeval\b[^;]*\.tv_sec = (\d+)"), LEAST_S, "an end of {} s to a wait"),
    (re.compile(r"clock_mono_ms\(\) - \w+ <=? (\d+)"), GENEROUS_S * 1000, "an upper limit of {} ms to a time"),
    (re.compile(r"\btook(?:_ms)? <=? (\d+)"), GENEROUS_S * 1000, "an upper limit of {} ms to a time"),
    (re.compile(r"assert_in_range\(\s*(?:clock_mono_ms\(\) - \w+|[\w>.-]*took(?:_ms)?),\s*\d+,\s*(\d+)\)"), GENEROUS_S * 1000,
     "an upper limit of {} ms to a time"),
]
SHELL_KINDS = [(re.compile(r"(?:^|[\s;&|(])sleep [\d.$\"]"), None, "a sleep")]


def in_text(text, kinds):
    for pattern, least, what in kinds:
        for m in pattern.finditer(text):
            if least is None or 0 < int(m[1]) < least:
                yield text.count("\n", 0, m.start()) + 1, text.count("\n", 0, m.end()) + 1, what.format(*m.groups())


def blank(m):
    return re.sub(r"[^\n]", " ", m[0])


def comments_of(path, text):
    """{line: comment}, the last line of one"""
    if path.suffix == ".py":
        return {t.start[0]: t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT}
    if path.suffix == ".sh":
        return {i: m[0] for i, line in enumerate(text.splitlines(), 1) if (m := re.search(r"(?:^|\s)#.*", line))}
    return {text.count("\n", 0, m.end()) + 1: m[0] for m in re.finditer(r"/\*.*?\*/", text, re.S)}


def waits_of(path, text, skipped):
    if path.suffix == ".py":
        return in_python(text, skipped)
    if path.suffix == ".sh":
        return in_text(re.sub(r"(?m)(?:^|\s)#.*", blank, text), SHELL_KINDS)
    return in_text(re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S), C_KINDS)


def check(path, name):
    text = path.read_text()
    reasons, used = {}, set()
    for line, comment in comments_of(path, text).items():
        m = REASON.search(re.sub(r"\s*\n[\s*]*", " ", comment))
        if m:
            reasons[line] = m[1].strip()
            if not m[1].strip():
                yield line, "`wait:` says no reason"
    for first, last, what in waits_of(path, text, OURS.get(name)):
        mine = [line for line in range(first - 1, last + 1) if line in reasons]
        used.update(mine)
        if not mine:
            yield first, f"{what}: wait for an event, or say why (`wait: ...`)"
    for line in reasons.keys() - used:
        yield line, "`wait:` allows nothing here"


def main(argv):
    root = pathlib.Path(argv[1] if len(argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    files, bad = 0, []
    for path in sorted(p for p in (root / "tests").rglob("*") if p.suffix in (".py", ".c", ".h", ".sh")):
        name = str(path.relative_to(root))
        if name in OURS and OURS[name] is None:
            continue
        files += 1
        bad += [f"{name}:{line}: {what}" for line, what in sorted(check(path, name))]
    print(*bad, f"{files} files wait for events", sep="\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
