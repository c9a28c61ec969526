"""Checks the documents: python3 scripts/check_docs.py

Every file of docs/ is a chapter of docs/SUMMARY.md, every chapter exists, every relative link of a document
leads to a file and to a heading of it, links of the book stay inside the book, README.md has at most 150
lines of at most 110 columns, and the glossary has at most 50 terms."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOK = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def prose(path):
    """The text of a document without code, in which brackets and parentheses are no links."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(path):
    """The anchors that a page makes of its headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.+)$", path.read_text(), flags=re.M):
        kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
        found.add(kept.strip().replace(" ", "-"))
    return found


def main():
    wrong = []
    summary = BOOK / "SUMMARY.md"
    chapters = {BOOK / target for target in LINK.findall(summary.read_text())}
    for page in sorted(set(BOOK.rglob("*.md")) - chapters - {summary}):
        wrong.append(f"{page.relative_to(ROOT)} is no chapter of SUMMARY.md")

    tops = [path for path in ROOT.glob("*.md")]
    for page in [*tops, *sorted(BOOK.rglob("*.md"))]:
        for link in LINK.findall(prose(page)):
            if "://" in link or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            where = f"{page.relative_to(ROOT)}: {link}"
            if not target.exists():
                wrong.append(f"{where} leads nowhere")
            elif page.is_relative_to(BOOK) and not target.is_relative_to(BOOK):
                wrong.append(f"{where} leaves the book")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{where}: there is no such heading")

    lines = (ROOT / "README.md").read_text().splitlines()
    if len(lines) > 150:
        wrong.append(f"README.md has {len(lines)} lines")
    wrong += [f"README.md:{n} has {len(s)} columns" for n, s in enumerate(lines, 1) if len(s) > 110]

    terms = re.findall(r"^\| \*\*", (BOOK / "glossary.md").read_text(), flags=re.M)
    if len(terms) > 50:
        wrong.append(f"docs/glossary.md has {len(terms)} terms")

    print("\n".join(wrong) or f"{len(chapters)} chapters, no mistakes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
