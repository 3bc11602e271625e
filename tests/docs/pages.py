"""Read the fenced blocks of the documentation pages, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("example_suites/*/*.md")],
    key=lambda page: page.relative_to(ROOT),
)
# The option of pytest that rewrites the pages.
UPDATE = "--update-docs"
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
    def rows(self) -> list[tuple[str, bool]]:
        """Return the lines of a console, each with whether a reader types it."""
        rows: list[tuple[str, bool]] = []
        for line in self.text.splitlines():
            continued = bool(rows) and rows[-1][1] and rows[-1][0].endswith("\\")
            rows.append((line, continued or line.startswith("$ ")))
        return rows

    @property
    def commands(self) -> str:
        """The script that a reader types."""
        if self.language != "console":
            return self.text
        return "\n".join(line.removeprefix("$ ") for line, typed in self.rows if typed)

    @property
    def output(self) -> list[str]:
        """The lines that the page shows below the commands.

        A line ``...`` means any number of lines.
        """
        if self.language != "console":
            return []
        return [line for line, typed in self.rows if not typed and line.strip()]


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


def rewrite(page: Path, now: Mapping[Block, list[str]]) -> None:
    """Replace the lines of some blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    # From the last block to the first, since a block may get longer.
    for block in sorted(now, key=lambda block: -block.line):
        fence = lines[block.line - 1]
        indent = fence[: len(fence) - len(fence.lstrip())]
        old = len(block.text.splitlines())
        lines[block.line : block.line + old] = [f"{indent}{line}".rstrip() for line in now[block]]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
