"""What the sampler requests: a number of samples of one prompt from one model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pytest_promptse.models.base import Decoding, Prompt


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
