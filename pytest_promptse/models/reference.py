"""The model that is always right: it answers with the task's own solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.errors import ModelError
from pytest_promptse.models.base import Capabilities, Completion, Response, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models.base import Request


class ReferenceBackend:
    """Answers every wording of a task with its reference.

    A suite that does not pass in full with this model has an unsound check or reference. The
    answer goes through extraction and sandbox like any other model's.
    """

    spec = "reference"
    concurrency = 8

    @property
    def identity(self) -> Mapping[str, str]:
        """The backend alone: what it says comes with each request."""
        return {"backend": "reference"}

    async def start(self) -> Capabilities:
        """Nothing to load."""
        return Capabilities(form="chat")

    async def complete(self, request: Request) -> Response:
        """Return the reference ``request.n`` times, in a code fence as a chat model would."""
        if request.reference is None:
            raise ModelError(
                f"task {request.task_id!r} has no reference to answer with; "
                "give the task reference='...' or choose another model"
            )
        text = f"```python\n{request.reference.rstrip()}\n```\n"
        samples = range(request.first, request.first + request.n)
        return Response(
            completions=tuple(Completion(index=index, text=text) for index in samples),
            usage=Usage(requests=1),
        )

    async def close(self) -> None:
        """Nothing to give back."""
