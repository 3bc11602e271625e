"""The job of a sampler: a number of samples of one prompt from one model."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pytest_promptse.models._base import Decoding, Prompt
from pytest_promptse.sandbox.guest.unpatched import json


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Samples 0 … n - 1 of one prompt from one model.

    Attributes
    ----------
    key
        The key of the completions in the store, from `completion_key`.
    model
        ``BACKEND:NAME``.
    seed
        Seed of the variant. The seed of each request is derived from it.
    task_id, variant_id
        Identify the variant in messages and for backends that look completions up.
    reference
        The reference solution of the task, for the ``reference`` backend only.
    template
        Name of the prompt template; None without one.
    since
        Samples that were stored earlier, in seconds since 1970, are requested again and replaced.
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
    since: float = 0.0

    def to_json(self) -> bytes:
        """Return the job as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Job:
        """Return the job that `to_json` wrote."""
        fields = json.loads(text)
        prompt, decoding = Prompt(**fields["prompt"]), Decoding(**fields["decoding"])
        return cls(**fields | {"prompt": prompt, "decoding": decoding})
