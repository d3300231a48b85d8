"""A page of Markdown as a list of code blocks, in their order.

A block is fenced: ```LANGUAGE [FILE].  What the test does with one:

    console  lines that begin with `$ ` are run; what follows each is its output
    sh       each command is run
    yaml     a configuration, or a part of one: `davit validate` must take it
    json     parsed
    text     shown only, as any other language (c, python, usage)

With FILE the block is written to that file first, in the page's folder.

A comment right above a block says what is special about it, several to a block:

    <!-- docs: not run: REASON -->       counted and printed at the end of the suite
    <!-- docs: exit CODE -->             the commands end with CODE
    <!-- docs: until -->                 the block's last command is run until its output is as shown
    <!-- docs: in the checkout -->       runs in the project's folder
    <!-- docs: part of FILE -->          goes to the end of FILE

Others stand alone:

    <!-- docs: with NAME -->             the page has this beside it: see aids.py
    <!-- docs: before                    commands that no reader needs: they make what
    COMMANDS -->                         a page takes for granted
    <!-- docs: again -->                 from here in an empty folder, with no daemon

An indented block that begins with `$ ` is a console block.  Any other is shown
only; one that looks like commands is a mistake, for nothing would run it.
"""
import dataclasses
import re

FENCE = re.compile(r"^```(\S*)\s*(\S*)\s*$")
NOTE = re.compile(r"<!-- docs: (.*?)\s*-->", re.S)
COMMANDS = ("$", "davit", "curl", "kubectl", "helm", "docker", "make", "ray", "RAY_enable_autoscaler_v2=1",
            "pip", "python3", "cc", "flock", "echo", "apt", "sudo", "systemctl", "gcloud", "aws", "eksctl", "az")
ALONE = ("with", "before", "again")
ABOVE = ("not run:", "exit", "until", "in the checkout", "part of")


class Mistake(Exception):
    """In the page itself: where and what."""


@dataclasses.dataclass
class Block:
    line: int
    language: str
    file: str
    text: str
    notes: dict

    @property
    def runs(self):
        return self.language in ("console", "sh")


@dataclasses.dataclass
class Command:
    text: str
    output: list  # lines; None when the page shows none


def note_of(text, line):
    for word in ALONE + ABOVE:
        if text == word or text.startswith(word + ("" if word.endswith(":") else " ")) or text.startswith(word + "\n"):
            return word, text[len(word):].strip()
    raise Mistake(f"line {line}: unknown note \"docs: {text}\"")


class Page:
    def __init__(self, text):
        self.blocks, self.lines, self.at, self.notes = [], text.split("\n"), 0, {}
        while self.at < len(self.lines):
            self.step()
        if self.notes:
            raise Mistake(f"notes at the end that stand above no block: {', '.join(self.notes)}")

    def step(self):
        line = self.lines[self.at]
        if "<!-- docs:" in line:
            return self.comment()
        m = FENCE.match(line)
        if m:
            return self.fenced(m[1], m[2])
        if line.startswith("    ") and (self.at == 0 or not self.lines[self.at - 1].strip()):
            return self.indented()
        if line.strip() and self.notes:
            raise Mistake(f"line {self.at + 1}: a note stands above no block")
        self.at += 1

    def comment(self):
        begin = self.at
        while "-->" not in self.lines[self.at]:
            self.at += 1
        self.at += 1
        m = NOTE.fullmatch("\n".join(self.lines[begin:self.at]).strip())
        if not m:
            raise Mistake(f"line {begin + 1}: a comment for the test stands on lines of its own")
        word, rest = note_of(m[1], begin + 1)
        if word in ALONE:
            self.blocks.append(Block(begin + 1, word, "", rest, {}))
        else:
            self.notes[word.rstrip(":")] = rest

    def fenced(self, language, file):
        begin = self.at + 1
        self.at = begin
        while self.lines[self.at].rstrip() != "```":
            self.at += 1
        self.blocks.append(Block(begin, language, file, "\n".join(self.lines[begin:self.at]) + "\n", self.notes))
        self.at, self.notes = self.at + 1, {}

    def indented(self):
        begin, lines = self.at, []
        while self.at < len(self.lines) and (self.lines[self.at].startswith("    ") or not self.lines[self.at].strip()):
            lines.append(self.lines[self.at][4:])
            self.at += 1
        if lines[0].startswith("$ "):
            self.blocks.append(Block(begin, "console", "", "\n".join(lines), self.notes))
            self.notes = {}
        elif self.notes:
            raise Mistake(f"line {begin + 1}: a note above an indented block: fence it")
        elif any(line.split()[:1] and line.split()[0] in COMMANDS for line in lines) and not any(map(is_synopsis, lines)):
            raise Mistake(f"line {begin + 1}: an indented block with commands: fence it as ```console or ```sh")


def is_synopsis(line):
    """`davit status [--watch]`, `davit journal restore FILE`"""
    return re.search(r"^\w+ .*(\[|\b[A-Z]{2,}\b(?!=))", line)


def unfinished(text):
    """Goes on in the next line: by \\, an open quote or a here-document."""
    here = re.search(r"<<-? *['\"]?(\w+)", text)
    if here:
        return text.split("\n")[-1].strip() != here[1]
    return text.endswith("\\") or uncommented(text).count("'") % 2 == 1


def uncommented(text):
    """Without what follows the last command; a # in quotes has no space before it here."""
    return re.sub(r"\s#[^\n]*$", "", text).rstrip()


def commands(block):
    """Of a console or sh block; without what is comment only."""
    found, lines = [], block.text.rstrip("\n").split("\n")
    while lines:
        line = lines.pop(0)
        if block.language == "sh":
            line = f"$ {line}"
        if line.startswith("$ "):
            text = line[2:]
            while lines and unfinished(text):
                text += "\n" + lines.pop(0).removeprefix("> ")
            if text.strip() and not text.startswith("#"):
                found.append(Command(text, None))
        elif found:
            found[-1].output = (found[-1].output or []) + [line]
        elif line.strip():
            raise Mistake(f"line {block.line + 1}: a console block begins with `$ `")
    for c in found:
        while c.output and not c.output[-1].strip():
            c.output.pop()
        c.output = c.output or None
    return found
