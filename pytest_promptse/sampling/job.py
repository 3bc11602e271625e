"""What a sampler is asked for and how far it has come."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pytest_promptse.models.base import Decoding, Prompt, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One wording of one model: samples 0 … n - 1 under ``key`` in the store.

    ``model`` is the model's ``BACKEND:NAME``; ``seed`` the wording's own, from which each
    request's is derived; ``reference`` the task's own solution, for the backend that answers
    with it; ``template`` names the prompt template that is asked through.
    """

    key: str
    model: str
    prompt: Prompt
    decoding: Decoding
    n: int
    seed: int
    task_id: str
    variant_id: str
    reference: str | None = None
    template: str | None = None

    def to_json(self) -> bytes:
        """Return the job as JSON text."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Job:
        """Return the job that `to_json` wrote."""
        fields = json.loads(text)
        prompt, decoding = Prompt(**fields["prompt"]), Decoding(**fields["decoding"])
        return cls(**fields | {"prompt": prompt, "decoding": decoding})


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far sampling has come.

    ``done`` of ``total`` samples are in the store, ``cached`` of them were there before;
    ``rate`` is samples a second since sampling began, ``eta`` the seconds left at that rate
    (None while there is no rate); ``usage`` is what the run has paid.
    """

    done: int
    total: int
    cached: int
    rate: float
    eta: float | None
    usage: Usage
