"""Whether the text of an annotation is harmless if the check evaluates it.

`typing.get_type_hints`, `inspect.get_annotations` with ``eval_str`` and `functools.singledispatch`
evaluate annotations that are texts, in the check's process. So a program could run code there.
"""

from __future__ import annotations

from typing import Any

from pytest_promptse.sandbox.guest.unpatched import __builtins__, ast

# Names, attributes, items and ``|``: evaluating them calls nothing of the program's choice, binds
# nothing and takes no time.
_HARMLESS = (
    *(ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant),
    *(ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub, ast.Load),
)


def dangerous_annotation(annotations: dict[Any, Any]) -> str | None:
    """Return the first text among the values that evaluates more than a type, or None."""
    texts = (value for value in annotations.values() if isinstance(value, str))
    return next((text for text in texts if not _is_harmless(str.__str__(text))), None)


def _is_harmless(text: str) -> bool:
    # `eval` ignores leading blanks, and `typing` puts a text that begins with a star into brackets.
    text = text.lstrip()
    if text.startswith("*"):
        return False
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return True  # evaluating it raises the same
    except (MemoryError, RecursionError):
        return False
    return all(
        isinstance(node, _HARMLESS)
        # A text within an annotation is evaluated in turn.
        and (not isinstance(node, ast.Constant) or _is_harmless_constant(node.value))
        for node in ast.walk(tree)
    )


def _is_harmless_constant(value: Any) -> bool:
    return not isinstance(value, str) or _is_harmless(value)
