"""The table of rules in last_look.c and the guards of last_look.pml: read from both, and compared.

A C function of ifs and returns becomes a formula over its atoms, as does a macro of the model.
WORDS says which formula of the model stands for which atom; an atom without one is an error.
Both sides must have the same truth table."""
import itertools
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROL = os.path.join(os.path.dirname(os.path.dirname(HERE)), "autoscaler/control")
MODEL = os.path.join(HERE, "last_look.pml")
# C: where, and which of its functions the model has under the same name.
SOURCES = {"last_look.c": None,  # those of its table
           "sources/nodes.c": ["sources_know_work", "sources_seen_since", "source_drains_still"]}
# The model has one cloud, one Ray head, and two records: O(m) is the other one.
WORDS = {
    "fleet_shares_id(& l->ledger->fleet, m)": "st[O(m)] != GONE && cid[O(m)] == cid[m]",
    "p": "true",
    "launch_under_way(l->providers, p)": "LAUNCH_UNDER_WAY",
    "p->list_begun_ms >= p->over_ms": "list_since_launch && !MAY_COME",
    "m->seen_ms >= p->listed_ms": "in_list[m]",
    "find_has(l->providers, m)": "false",     # the model's cloud is not asked by ids
    "m->maybe.found_ms >= p->over_ms": "list_since_launch && !MAY_COME",
    "sources_know_work(l->sources)": "sources_know_work",
    "l->sources->n == 0": "NO_HEAD",
    "m->maybe.taken": "taken[m]",
    "sources_seen_since(l->sources, m->since_ms)": "sources_seen_since(m)",
    "source_drains_still(l->sources, m)": "source_drains_still(m)",
    "s->n": "!NO_HEAD",
    "is_recent(s, source_of_machines(s))": "recent",
    "h": "!NO_HEAD",
    "h->ops->waits": "false",                 # a Ray head is asked, and answers at once
    "h->told_ms > since_ms": "false",
    "h->began_ms >= since_ms": "view_since[m]",
    "c.contested": "CONTESTED(m)",
    "n": "LIVE(m)",                           # a node that is not dead
    "n->status == SOURCE_DEAD": "false",
    "n->status == SOURCE_DRAINING": "DRAINED_NOW(m)",
    "n->status == SOURCE_UNREADY": "false",   # no node of a Ray head is
    "strcmp(n->node_id, m->ray_id) == 0": "SAME_NODE(m)",
}


class Mismatch(AssertionError):
    pass


# ---- formulas: ("atom", text), ("not", x), ("and", x, y), ("or", x, y), ("if", x, y, z)

TOKEN = re.compile(r"\s*(->|\|\||&&|[!=<>]=|[A-Za-z_0-9]+|.)")


def tokens(text):
    return [t for t in TOKEN.findall(text) if t.strip()]


def spaced(words):
    """An atom, as WORDS has it."""
    text = " ".join(words)
    for a, b in ((r" ?(->|\.|\[) ?", r"\1"), (r" \]", "]"), (r" ?\( ?", "("), (r" \)", ")"), (r" ,", ","), (r"(\w) \(", r"\1(")):
        text = re.sub(a, b, text)
    return text


class Parser:
    def __init__(self, text):
        self.t, self.at = tokens(text), 0

    def peek(self):
        return self.t[self.at] if self.at < len(self.t) else None

    def take(self, what=None):
        got = self.peek()
        if what and got != what:
            raise Mismatch(f"{what!r} is missing before {' '.join(self.t[self.at:self.at + 8])!r}")
        self.at += 1
        return got

    def whole(self):
        x = self.choice()
        if self.peek() is not None:
            raise Mismatch(f"cannot be read from {' '.join(self.t[self.at:])!r} on")
        return x

    def choice(self):
        x = self.ors()
        if self.peek() == "?":
            self.take()
            y = self.choice()
            self.take(":")
            return ("if", x, y, self.choice())
        return x

    def ors(self):
        x = self.ands()
        while self.peek() == "||":
            self.take()
            x = ("or", x, self.ands())
        return x

    def ands(self):
        x = self.one()
        while self.peek() == "&&":
            self.take()
            x = ("and", x, self.one())
        return x

    def one(self):
        if self.peek() == "!":
            self.take()
            return ("not", self.one())
        if self.peek() == "(":
            self.take()
            x = self.choice()
            self.take(")")
            return x
        depth, words = 0, []
        while self.peek() is not None and (depth or self.peek() not in ("&&", "||", "?", ":", ")")):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(self.peek(), 0)
            words.append(self.take())
        return ("atom", spaced(words))


def formula(text):
    return Parser(text).whole()


def swap(x, words):
    """Atoms by what stands for them."""
    if x[0] == "atom":
        if x[1] in ("true", "false"):
            return x
        if x[1] not in words:
            raise Mismatch(f"the model has no word for {x[1]!r}: guards.py, WORDS")
        return formula(words[x[1]])
    return (x[0], *(swap(y, words) for y in x[1:]))


def atoms(x):
    if x[0] == "atom":
        return {x[1]} - {"true", "false"}
    return set().union(*(atoms(y) for y in x[1:]))


def holds(x, so):
    if x[0] == "atom":
        return x[1] == "true" or (x[1] != "false" and so[x[1]])
    if x[0] == "not":
        return not holds(x[1], so)
    if x[0] == "if":
        return holds(x[2] if holds(x[1], so) else x[3], so)
    a, b = holds(x[1], so), holds(x[2], so)
    return (a and b) if x[0] == "and" else (a or b)


def differs(x, y):
    """A case in which one holds and the other one does not; None: there is none."""
    names = sorted(atoms(x) | atoms(y))
    for values in itertools.product((False, True), repeat=len(names)):
        so = dict(zip(names, values))
        if holds(x, so) != holds(y, so):
            return so
    return None


# ---- the two sides

def body_of(text, name):
    m = re.search(rf"^(?:static )?bool {name}\([^;{{]*\)\n\{{\n(.*?)^\}}", text, re.M | re.S)
    if not m:
        raise Mismatch(f"{name}() is not there any more")
    return re.sub(r"/\*.*?\*/", "", m.group(1), flags=re.S)


DECLARES = re.compile(r"\s*(?:const )?(?:struct \w+|enum \w+|bool|int64_t|uint32_t) [^;]*;|\s*\(void\)\w+;")
LOOPS = re.compile(r"\s*for \([^{}]*?\)\s*if \((?P<cond>.*?)\)\s*return false;\s*return true;\s*$", re.S)
RETURNS_IF = re.compile(r"\s*if \((?P<cond>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*return (?P<value>[^;]*);", re.S)
RETURNS = re.compile(r"\s*return (?P<value>[^;]*);\s*$", re.S)


def read_body(text):
    """Declarations, ifs that return, and a return; or a loop over the fleet that finds one."""
    while m := DECLARES.match(text):
        text = text[m.end():]
    if m := LOOPS.match(text):
        return ("not", formula(m["cond"]))
    if m := RETURNS_IF.match(text):
        return ("if", formula(m["cond"]), formula(m["value"]), read_body(text[m.end():]))
    if m := RETURNS.match(text):
        return formula(m["value"])
    raise Mismatch(f"cannot be read: {text.strip()!r}")


def rules_of(text):
    """Names of the functions in the table, in its order."""
    table = re.search(r"\} rules\[\] = \{\n(.*?)\n\};", text, re.S)
    return re.findall(r"(\w+)\}", table.group(1)) if table else []


def theirs(control=CONTROL):
    """({name: formula}, names of the table in order) of the daemon."""
    found, order = {}, []
    for path, names in SOURCES.items():
        with open(os.path.join(control, path)) as f:
            text = f.read()
        if names is None:
            names = order = rules_of(text)
        found |= {name: swap(read_body(body_of(text, name)), WORDS) for name in names}
    return found, order


def ours(path=MODEL):
    """The same of the model."""
    with open(path) as f:
        text = re.sub(r"/\*.*?\*/", "", f.read().replace("\\\n", " "), flags=re.S)
    macros = dict(re.findall(r"^#define (\w+)(?:\(m\))? (\(.*\))$", text, re.M))
    order = re.findall(r"(\w+)\(m\)", macros["last_look"])
    return {name: formula(macros[name]) for name in macros}, order


def compare(control=CONTROL, model=MODEL):
    """Raises Mismatch with what differs; the number of functions compared."""
    (c, c_order), (p, p_order) = theirs(control), ours(model)
    if c_order != p_order:
        raise Mismatch(f"the table of last_look.c is {c_order}, last_look() of the model {p_order}")
    for name in c:
        if name not in p:
            raise Mismatch(f"the model has no guard {name}")
        case = differs(c[name], p[name])
        if case is not None:
            raise Mismatch(f"{name} differs where {case}")
    return len(c)
