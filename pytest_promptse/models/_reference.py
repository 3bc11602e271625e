"""The ``reference`` backend, which returns the reference solution of the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Capabilities, Completion, Response, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models._base import Request


class ReferenceBackend:
    """Return the reference solution for every variant of a task.

    Every suite should pass completely with this model; otherwise a check or a reference is wrong.
    The completion passes through extraction and the sandbox like that of any model.
    """

    spec = "reference"
    concurrency = 8

    @property
    def identity(self) -> Mapping[str, str]:
        """The backend alone, since the reference solution is part of each request."""
        return {"backend": "reference"}

    async def start(self) -> Capabilities:
        """Do nothing: there is no model to load."""
        return Capabilities(form="chat")

    async def complete(self, request: Request) -> Response:
        """Return the reference solution ``request.n`` times, in a code fence like a chat model."""
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
        """Do nothing: there are no resources to free."""
