"""Whether a context manager may suppress an exception of its ``with`` block.

A program's ``__exit__`` that suppresses an exception skips the rest of the block. If the rest
contains assertions, the program would decide its verdict. So an exception may be suppressed only if
nothing is skipped that depends on the program. This is read from the bytecode of the block.
"""

from __future__ import annotations

import builtins
import dis
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types

# An ``await`` compiles to a loop, which is left only by its result or an exception.
_AWAITS = frozenset({"SEND", "JUMP_BACKWARD_NO_INTERRUPT", "END_SEND", "GET_AWAITABLE"})
_HANDLERS = frozenset({"PUSH_EXC_INFO", "CHECK_EXC_MATCH", "POP_EXCEPT"})
_LITERALS = (
    *_AWAITS,
    *("LOAD_CONST", "LOAD_SMALL_INT", "BUILD_", "BINARY_", "UNARY_", "COMPARE_OP", "CALL"),
    *("PRECALL", "PUSH_NULL", "STORE_", "POP_TOP", "NOP", "CACHE", "RESUME", "YIELD_VALUE"),
)


@dataclass(frozen=True, kw_only=True)
class BlockEntry:
    """Where a ``with`` block begins: the identity of its frame, and an offset in its bytecode."""

    frame: int
    offset: int


def caller() -> BlockEntry:
    """Return the beginning of the block for which the calling function is ``__enter__``."""
    frame = sys._getframe(2)  # noqa: SLF001 - the only way to the caller's frame
    return BlockEntry(frame=id(frame), offset=frame.f_lasti)


def may_suppress(error: BaseException, entry: BlockEntry | None, *, is_of_program: bool) -> bool:
    """Return whether suppressing `error` skips nothing that depends on the program.

    Parameters
    ----------
    error : BaseException
        The exception that the block has raised.
    entry : BlockEntry or None
        The beginning of the block, if known.
    is_of_program : bool
        Whether a call of the program raised `error`. It must then be the last call of the block.
        An exception of the check must be raised whatever the program does: by a ``raise`` that no
        condition precedes, or by an expression of literals such as ``1 / 0``.

    The exception must leave no other block or handler inside of the block on its way, since what
    follows that one would be skipped.
    """
    trace = error.__traceback__
    if trace is None or entry is None or id(trace.tb_frame) != entry.frame:
        return False
    frame, last = trace.tb_frame, trace.tb_lasti
    bytecode = dis.Bytecode(frame.f_code)
    code = [step for step in bytecode if step.opname != "CACHE"]
    block = [step for step in code if entry.offset < step.offset <= last]
    # Where the steps go on after an exception. Another place than that of the block is a handler
    # inside of it, so a step after it may depend on what the program raised.
    handlers = [_handler(bytecode, step.offset) for step in block if not _is_await(step)]
    if not handlers or handlers[-1] != handlers[0]:
        return False
    rest = [s for s in code if s.offset > last and s.opname not in ("POP_TOP", "NOP")]
    # The block ends by calling __exit__ with None three times.
    is_end = all(step.opname == "LOAD_CONST" and step.argval is None for step in rest[:3])
    if is_of_program:
        inner = trace.tb_next and trace.tb_next.tb_frame.f_globals.get("__name__")
        return is_end and str(inner).startswith("pytest_promptse.")
    if trace.tb_next is not None or any(map(_is_branch, block)) or len(set(handlers)) > 1:
        return False
    return block[-1].opname == "RAISE_VARARGS" or all(
        step.opname.startswith(_LITERALS) or _is_builtin(step, frame, any_function=is_end)
        for step in block
    )


def _handler(bytecode: dis.Bytecode, offset: int) -> int | None:
    """Return the offset at which the code goes on after an exception at `offset`, if it does."""
    entries = bytecode.exception_entries  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= offset < entry.end), None)


def _is_await(step: dis.Instruction) -> bool:
    """Return whether a step may belong to an ``await``, which has a handler of its own."""
    return step.opname in _AWAITS or step.opname in ("YIELD_VALUE", "RESUME", "LOAD_CONST")


def _is_branch(step: dis.Instruction) -> bool:
    is_jump = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
    return (is_jump and step.opname not in _AWAITS) or step.opname in _HANDLERS


def _is_builtin(step: dis.Instruction, frame: types.FrameType, *, any_function: bool) -> bool:
    """Return whether a step loads a builtin class, or, with `any_function`, any builtin.

    The result of a function such as ``open`` may depend on what the program has done.
    """
    if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME") or step.argval in frame.f_globals:
        return False
    value = getattr(builtins, step.argval, None)
    return isinstance(value, type) or (any_function and value is not None)
