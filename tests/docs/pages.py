"""What the pages hold: their fenced blocks, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("example_suites/*/*.md")],
    key=lambda page: page.relative_to(ROOT),
)
SHELLS = ("console", "sh", "bash", "shell")
_EXIT = re.compile(r"<!-- exits (\d+) -->")
# The first line of a block that a reader saves names the file.
_FILE = re.compile(r"# ([\w./-]+\.\w+)\n")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block.

    ``status`` is what its last command ends with, told by ``<!-- exits 1 -->`` above the block.
    """

    page: Path
    line: int
    language: str
    text: str
    status: int

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that a reader saves the block as."""
        named = _FILE.match(self.text)
        return named[1] if named else None

    @property
    def content(self) -> str:
        """The file's text: without the line that names it where that is no comment of its own."""
        if self.language in ("text", "sh"):
            return self.text.partition("\n")[2]
        return self.text

    @property
    def is_run(self) -> bool:
        return self.language in SHELLS and self.file is None

    @property
    def commands(self) -> str:
        """The script that a reader types."""
        if self.language != "console":
            return self.text
        lines = []
        for line in self.text.splitlines():
            if line.startswith("$ ") or (lines and lines[-1].endswith("\\")):
                lines.append(line.removeprefix("$ "))
        return "\n".join(lines)

    @property
    def output(self) -> list[str]:
        """The lines that the page shows below the commands, a line ``...`` for any number."""
        shown: list[str] = []
        if self.language == "console":
            continued = False
            for line in self.text.splitlines():
                typed = continued or line.startswith("$ ")
                continued = typed and line.endswith("\\")
                if not typed and line.strip():
                    shown.append(line)
        return shown


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    status = 0
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            said = _EXIT.search(token.content)
            status = int(said[1]) if said else status
        elif token.type == "fence":
            assert token.map
            found.append(
                Block(
                    page=page,
                    line=token.map[0] + 1,
                    language=token.info.strip(),
                    text=token.content,
                    status=status,
                )
            )
            status = 0
        elif token.type.endswith("_open") and token.level == 0:
            status = 0
    return found
