"""Keep the statements of a program that its entry point needs; drop mere demonstrations.

It would be shorter to keep every statement that does not print, read input or call the entry point,
unless it reads a name of a dropped statement. That is right as often for the answers in
``tests/models``, and wrong for demonstrations that read what the jail does not have: a file,
arguments, a variable of the environment or a package. Such a program would fail while it loads.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.models._statements import indent, join_sources

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pytest_promptse.models._statements import Statement

_MAIN_GUARD = 'if __name__ == "__main__":\n'


def assemble(
    layers: Sequence[Sequence[Statement]],
    entry_point: str,
    *,
    requested: Collection[str] = (),
    keep_script: bool,
) -> str:
    """Return the source of a program that defines `entry_point`.

    When the program is imported as a module, it executes only what the entry point needs. When it
    is run as a script, it executes everything that the last layer executes.

    Parameters
    ----------
    layers : sequence of sequences of Statement
        Sources of the program. A later layer takes precedence; an earlier one only adds what the
        later ones lack.
    entry_point : str
        The name that the check calls. If no statement binds it, everything except demonstrations is
        kept.
    requested : collection of str
        Names of functions and classes, and of constants in capitals, to keep although the entry
        point does not need them, since a check can use them as well.
    keep_script : bool
        True to keep the demonstrations below ``if __name__ == "__main__"``; False to leave them
        out.
    """
    candidates = _outrank(layers)
    needed = _Needs([candidate.statement for candidate in candidates]).of(entry_point, requested)
    script = _script(candidates, needed, len(layers) - 1) if keep_script else set()
    bound = {name for number in needed for name in candidates[number].statement.binds}
    sources: list[str] = []
    guarded: list[str] = []
    for number, candidate in enumerate(candidates):
        statement = candidate.statement
        if number in script and not _is_harmless(statement, bound):
            guarded.append(indent(statement.source, "    "))
        elif number in needed or number in script:
            if guarded:
                sources.append(_MAIN_GUARD + "\n".join(guarded))
                guarded = []
            sources.append(statement.source)
    if guarded:
        sources.append(_MAIN_GUARD + "\n".join(guarded))
    return join_sources(sources)


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    statement: Statement
    layer: int


def _outrank(layers: Sequence[Sequence[Statement]]) -> list[_Candidate]:
    """Return the statements of all layers in order, without those that a later layer replaces."""
    bound: set[str] = set()
    kept: list[list[_Candidate]] = []
    for number in reversed(range(len(layers))):
        new = []
        for statement in layers[number]:
            names = statement.binds
            if not statement.defines:
                names = names | statement.changes | statement.passes
            if not names or not names <= bound:
                new.append(_Candidate(statement=statement, layer=number))
        kept.append(new)
        bound.update(
            n for added in new if not added.statement.hollow for n in added.statement.binds
        )
    return [
        candidate
        for layer in reversed(kept)
        for candidate in layer
        if not (candidate.statement.hollow and candidate.statement.binds <= bound)
    ]


def _is_harmless(statement: Statement, bound: Iterable[str]) -> bool:
    """Return whether a statement of the script has no effect in a module.

    `bound` are the names that the module defines. The definition of a function that reads only
    these names has no effect.
    """
    if statement.is_main_guard:
        return True
    return statement.kind == "function" and not statement.hooked and statement.reads <= {*bound}


class _Needs:
    """Find the statements that a name needs, in time linear in the number of names.

    A statement is needed if it binds a needed name. It is also needed if it may change a needed
    object, does not call the entry point and does not read standard input.
    """

    def __init__(self, parts: Sequence[Statement]) -> None:
        self.parts = parts
        self.makers: dict[str, list[int]] = defaultdict(list)
        self.changers: dict[str, list[int]] = defaultdict(list)
        self.readers: dict[str, list[int]] = defaultdict(list)
        self.later_changers: dict[str, list[int]] = defaultdict(list)
        self.later_readers: dict[str, list[int]] = defaultdict(list)
        for number, part in enumerate(parts):
            for index, names in (
                (self.makers, part.binds),
                (self.changers, part.changes | part.passes),
                (self.readers, part.reads),
                (self.later_changers, part.later_changes if part.defines else ()),
                (self.later_readers, part.later_reads if part.defines else ()),
            ):
                for name in names:
                    index[name].append(number)
        self.imported = {n for part in parts if part.kind == "import" for n in part.binds}
        self.needed: set[int] = set()
        self.names: set[str] = set()
        self.affecting: set[str] = set()
        self.pending: list[int] = []

    def of(self, entry_point: str, requested: Collection[str]) -> set[int]:
        """Return the indices of the statements that `entry_point` and `requested` need.

        `requested` are further names that the prompt requests. What these statements need is
        included, and so are statements that are always kept or that set up a module for the whole
        process. If no statement binds `entry_point`, or names are looked up at run time, every
        statement that neither writes output nor reads input is included. An object is for one
        call.
        """
        self.entry_point = entry_point
        self.users = self._callers({entry_point}) - {entry_point}
        reads_input = {
            n for p in self.parts if "reads_input" in p.later_marks and p.defines for n in p.binds
        }
        self.input_readers = self._callers(reads_input)
        self._need_name(entry_point)
        for number, part in enumerate(self.parts):
            if part.always or (part.defines and not part.binds.isdisjoint(requested)):
                self._need(number)
        self._follow()
        for number, part in enumerate(self.parts):
            if self._configures(part):
                self._need(number)
        self._follow()
        if entry_point not in self.makers or self._looks_names_up():
            for number, part in enumerate(self.parts):
                if self._is_silent(part):
                    self._need(number)
            self._follow()
        # Not followed: what a demonstration does with a constant is not needed.
        bound = vars(builtins).keys() | {n for i in self.needed for n in self.parts[i].binds}
        return self.needed | {
            number
            for number, part in enumerate(self.parts)
            if part.is_data
            and not part.calls
            and part.reads <= bound
            and any(name.isupper() and name in requested for name in part.binds)
        }

    def _callers(self, names: set[str]) -> set[str]:
        """Return `names` and what calls one of them, directly or not: functions and classes."""
        callers = {*names}
        pending = [*names]
        while pending:
            for number in self.later_readers.get(pending.pop(), ()):
                new = self.parts[number].binds - callers
                callers |= new
                pending += new
        return callers

    def _follow(self) -> None:
        while self.pending:
            part = self.parts[self.pending.pop()]
            for name in (*part.binds, *part.reads, *part.later_reads):
                self._need_name(name)
            for name in part.quoted - self.names:
                for number in self.makers.get(name, ()):
                    if self.parts[number].defines:
                        self._need(number)

    def _need(self, number: int) -> None:
        if number not in self.needed:
            self.needed.add(number)
            self.pending.append(number)

    def _need_name(self, name: str) -> None:
        if name in self.names:
            return
        self.names.add(name)
        for number in self.makers.get(name, ()):
            if self.parts[number].kind != "action" or not self._reads_input(self.parts[number]):
                self._need(number)
        if name in self.imported:
            return  # `_configures` checks what a call does to a module
        for number in self.changers.get(name, ()):
            # A call with the entry point as an argument is a trial of it. Any other call may change
            # its arguments.
            if name != self.entry_point or name in self.parts[number].changes:
                self._consider(number)
        for number in self.later_changers.get(name, ()):
            for function in self.parts[number].binds:
                self._affect(function)

    def _affect(self, function: str) -> None:
        """Note that calls of `function` may change the object of a needed name."""
        pending = [function]
        while pending:
            name = pending.pop()
            if name in self.affecting:
                continue
            self.affecting.add(name)
            for number in self.readers.get(name, ()):
                self._consider(number)
            for number in self.later_readers.get(name, ()):
                pending += self.parts[number].binds

    def _consider(self, number: int) -> None:
        """Add a statement that may change something needed, unless it is a demonstration.

        `number` is the index of the statement.
        """
        part = self.parts[number]
        if part.kind == "import" or part.shows or part.is_main_guard:
            return
        if part.defines:
            if part.hooked:
                self._need(number)
        elif not self._calls_entry_point(part) and not self._reads_input(part):
            self._need(number)

    def _calls_entry_point(self, part: Statement) -> bool:
        return self.entry_point in part.calls or not part.reads.isdisjoint(self.users)

    def _reads_input(self, part: Statement) -> bool:
        return "reads_input" in part.marks or not part.calls.isdisjoint(self.input_readers)

    def _is_silent(self, part: Statement) -> bool:
        """Return whether a statement neither writes output nor reads input in a module."""
        if part.shows or part.is_main_guard or "leaves" in part.marks:
            return False
        if part.kind == "import":
            return is_standard(part)
        return part.defines or not (self._calls_entry_point(part) or self._reads_input(part))

    def _configures(self, part: Statement) -> bool:
        """Return whether a statement sets up a module for the whole process."""
        if part.kind != "action" or "sets_up" not in part.marks or not self._is_silent(part):
            return False
        roots = part.changes & self.imported
        return bool(roots) and all(
            root in self.names or any(is_standard(self.parts[n]) for n in self.makers[root])
            for root in roots
        )

    def _looks_names_up(self) -> bool:
        return any(
            "looks_up" in self.parts[number].marks | self.parts[number].later_marks
            for number in self.needed
        )


def is_standard(part: Statement) -> bool:
    """Return whether an import statement imports from the standard library alone."""
    words = part.source.replace(",", " ").split()
    modules = words[1:2] if words[0] == "from" else [word for word in words[1:] if word != "as"]
    return modules[0].partition(".")[0] in sys.stdlib_module_names


def _script(candidates: Sequence[_Candidate], needed: set[int], last: int) -> set[int]:
    """Return the statements besides `needed` that are executed in a run as a script.

    `needed` are numbers of statements, and `last` is the number of the last layer, whose actions
    are executed.
    """
    executed = {
        number
        for number, candidate in enumerate(candidates)
        if candidate.layer == last and candidate.statement.kind == "action"
        # A docstring does nothing when it is executed.
        if number not in needed
        and not (candidate.statement.shows and not candidate.statement.reads)
    }
    makers: dict[str, list[int]] = defaultdict(list)
    for number, candidate in enumerate(candidates):
        for name in candidate.statement.binds:
            makers[name].append(number)
    seen: set[str] = set()
    pending = [*executed]
    while pending:
        statement = candidates[pending.pop()].statement
        for name in (statement.reads | statement.later_reads | statement.quoted) - seen:
            seen.add(name)
            new = [number for number in makers.get(name, ()) if number not in needed | executed]
            executed.update(new)
            pending += new
    return executed
