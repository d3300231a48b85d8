#!/usr/bin/env python3
"""Links of our documents lead somewhere."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    bad = []
    docs = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "providers").rglob("*.md")), *sorted((ROOT / "tests").rglob("*.md"))]
    links = 0
    for doc in docs:
        for target in re.findall(r"\]\(([^)#:]+)\)", doc.read_text()):
            links += 1
            if not (doc.parent / target).exists():
                bad.append(f"{doc.relative_to(ROOT)}: {target} does not exist")
    print("\n".join(bad))
    print(f"docs: {links} links in {len(docs)} documents")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
