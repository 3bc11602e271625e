"""Print the lines of code of the package, by its parts.

A line of code holds a token other than a comment. Docstrings, comments and blank lines do not
count, so a shorter explanation makes nothing smaller.

Usage: python tools/size.py [FOLDER]   (default: pytest_promptse)
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Return the number of lines of a Python module that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - _docstring_lines(source))


def _docstring_lines(source: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Module(body=[first, *_])
                | ast.ClassDef(body=[first, *_])
                | ast.FunctionDef(body=[first, *_])
                | ast.AsyncFunctionDef(body=[first, *_])
            ):
                match first:
                    case ast.Expr(value=ast.Constant(value=str())):
                        lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def main() -> None:
    """Print a line for each part of the package, largest first, and the total."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "pytest_promptse")
    parts: Counter[str] = Counter()
    for path in root.rglob("*.py"):
        parts[path.relative_to(root).parts[0]] += code_lines(path.read_text(encoding="utf-8"))
    for part, lines in parts.most_common():
        print(f"{lines:6} {part}")
    without = parts.total() - parts["psychometrics"]
    print(f"{parts.total():6} in all, {without} without psychometrics")


if __name__ == "__main__":
    main()
