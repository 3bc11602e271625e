"""A model as second judge of whether two sentences ask for the same, after the rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.models._base import Decoding, Prompt, derive_seed

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._finding import Finding

__all__ = ["DECODING", "EntailmentJudge", "can_be_cleared"]

DECODING = Decoding(temperature=0.0, top_p=1.0, max_tokens=256)
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)
_PLACES = re.compile(r"\{(premise|hypothesis)\}")


def can_be_cleared(findings: Collection[Finding]) -> bool:
    """Return whether there are findings and a model may clear all of them."""
    return bool(findings) and all(finding.questions for finding in findings)


class EntailmentJudge:
    """Build the requests that let a model decide whether text and original entail each other.

    The run sends these requests like all others.

    A sentence asks for the same as the original if each of them entails the other (Dagan et al.
    2006, doi:10.1007/11736790_9).

    Parameters
    ----------
    backend
        The model. Only its specification and identity are read; it is not started here.
    library
        The library with the instruction.

    Attributes
    ----------
    spec
        The model as ``BACKEND:NAME``.
    identity
        The values that identify the model in the store.
    controls
        Pairs of premise and hypothesis that the model must deny. One that confirms such a pair is
        no judge.
    """

    def __init__(self, backend: Backend, *, library: Library) -> None:
        self.spec = backend.spec
        self.identity = dict(backend.identity)
        self._system = library.instruction["entailment_system"]
        self._request = library.instruction["entailment"]
        pairs = map(_pair, library.instruction["entailment_controls"].splitlines())
        self.controls = tuple(pairs)

    @property
    def digest(self) -> str:
        """Eight hex digits of a hash of the instruction and the decoding."""
        decoding = (DECODING.temperature, DECODING.top_p, DECODING.max_tokens)
        return f"{derive_seed(self._system, self._request, str(self.controls), *decoding):08x}"

    def prompt(self, premise: str, hypothesis: str) -> Prompt:
        """Return the question whether `premise` entails `hypothesis`."""
        values = {"premise": premise, "hypothesis": hypothesis}
        return Prompt(
            user=_PLACES.sub(lambda match: values[match[1]], self._request), system=self._system
        )

    @staticmethod
    def confirms(answer: str) -> bool:
        """Return whether an answer begins with yes. Any other answer counts as no."""
        return _YES.match(answer) is not None


def _pair(line: str) -> tuple[str, str]:
    premise, _, hypothesis = line.partition("=>")
    return premise.strip(), hypothesis.strip()
