"""Is this output the one that the page shows?

Line by line and word by word; how much space is between two words does not
matter.  `...` in a line is any text, `...` alone on a line any lines.  What no
two runs have alike is compared by its form: machines' ids, durations, dates and
times of the day.
"""
import difflib
import re

FORMS = [
    (r"\b[a-z0-9]+-[0-9a-f]{4,8}-\d+\b", r"[a-z0-9]+-[0-9a-f]{4,8}-\\d+"),
    (r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z?", r"\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z?"),
    (r"\b\d\d:\d\d:\d\d\b", r"\\d\\d:\\d\\d:\\d\\d"),
    (r"(?<![\w.-])(?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+\b", r"(?:\\d+(?:\\.\\d+)?(?:ms|d|h|m|s))+"),
]
ANY_FORM = re.compile("|".join(f"({form})" for form, _ in FORMS) + r"|(\.\.\.)|(\s+)")


def pattern(line):
    """A regular expression for one line of the page."""
    def part(m):
        kind = m.lastindex - 1
        if kind < len(FORMS):
            return FORMS[kind][1].replace("\\\\", "\\")
        return ".*" if m[0] == "..." else r"[ \t]+"

    out, end = "", 0
    for m in ANY_FORM.finditer(line.strip()):
        out += re.escape(line.strip()[end:m.start()]) + part(m)
        end = m.end()
    return r"[ \t]*" + out + re.escape(line.strip()[end:]) + r"[ \t]*\n"


def matches(expected, actual):
    """expected: lines; actual: text.  JSON may be laid out as the page likes."""
    if expected[0].startswith(("{", "[")):
        squeezed = [re.sub(r"\s", "", "".join(expected))]
        return re.fullmatch(pattern(squeezed[0]), re.sub(r"\s", "", actual) + "\n") is not None
    rx = "".join(r"(?:.*\n)*?" if line.strip() == "..." else pattern(line) for line in expected)
    return re.fullmatch(rx, tidy(actual)) is not None


def begins(expected, actual):
    """For a command in the background: these lines have come, in this order."""
    at = 0
    for line in expected:
        if line.strip() == "...":
            continue
        m = re.compile(r"(?m)^" + pattern(line)).search(tidy(actual), at)
        if not m:
            return False
        at = m.end()
    return True


def tidy(text):
    lines = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line.rstrip()) for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(line + "\n" for line in lines)


def difference(expected, actual):
    return "\n".join(difflib.unified_diff([line.rstrip() for line in expected], tidy(actual).split("\n")[:-1], "the page shows", "came", lineterm="", n=9))
