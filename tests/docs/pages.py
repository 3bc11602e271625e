"""Read the fenced blocks of the documentation pages, in order."""

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
# A reader saves a block as a file. Its first line names the file if it is a comment of the
# language. Above other blocks, a comment of the page names it.
_FILE = re.compile(r"# ([\w./-]+\.\w+)\n")
_SAVED = re.compile(r"<!-- saved as ([\w./-]+\.\w+) -->")
_HASH_COMMENTS = ("python", "yaml", "toml", "ini")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block.

    ``status`` is the exit code of the last command, from ``<!-- exits 1 -->`` above the block.
    ``file`` is the name under which a reader saves the block, or None.
    """

    page: Path
    line: int
    language: str
    text: str
    status: int
    file: str | None

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

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
        """The lines that the page shows below the commands.

        A line ``...`` means any number of lines.
        """
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
    saved: str | None = None
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            said = _EXIT.search(token.content)
            status = int(said[1]) if said else status
            named = _SAVED.search(token.content)
            saved = named[1] if named else saved
        elif token.type == "fence":
            assert token.map
            language = token.info.strip()
            named = _FILE.match(token.content) if language in _HASH_COMMENTS else None
            found.append(
                Block(
                    page=page,
                    line=token.map[0] + 1,
                    language=language,
                    text=token.content,
                    status=status,
                    file=named[1] if named else saved,
                )
            )
            status, saved = 0, None
        elif token.type.endswith("_open") and token.level == 0:
            status, saved = 0, None
    return found
