"""The forecast: what a plan would ask for and at most cost, without asking anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.models.base import token_cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.sampling.job import Job
    from pytest_promptse.store.store import Store

# The rule of thumb for English and code in current tokenisers:
# https://help.openai.com/en/articles/4936856-what-are-tokens-and-how-to-count-them
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What one model would be asked, through one prompt template or plainly.

    ``prompt_tokens`` is estimated from the length of the prompts, each sent once;
    ``completion_tokens`` is the most that ``max_tokens`` allows. ``cost`` is None without a price.
    """

    model: str
    template: str | None
    wordings: int
    completions: int
    stored: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    def line(self, *, at_most: bool = False) -> str:
        """Return the forecast in one line; `at_most` where less may turn out to do."""
        missing = self.completions - self.stored
        cost = "" if self.cost is None else f", at most {self.cost:.4g}"
        through = f" with template {self.template}" if self.template else ""
        return (
            f"{self.model}{through}: {self.wordings} wordings, {self.completions} completions, "
            f"{self.stored} of them in the store; would ask for {'at most ' * at_most}{missing} "
            f"(about {self.prompt_tokens} tokens in, at most {self.completion_tokens} out{cost})"
        )


def forecast(
    jobs: Iterable[Job], store: Store, *, price: tuple[float, float] | None = None
) -> list[Forecast]:
    """Return a forecast for every model and template that `jobs` request, in their order.

    A wording that two suites share counts once, with the larger number of samples. `price` is
    that of a million tokens in and out.
    """
    asked_of: dict[tuple[str, str | None], dict[str, Job]] = {}
    for job in jobs:
        known = asked_of.setdefault((job.model, job.template), {})
        if job.key not in known or known[job.key].n < job.n:
            known[job.key] = job
    forecasts = []
    for (model, template), wordings in asked_of.items():
        missing = store.missing({key: job.n for key, job in wordings.items()})
        asked = {key: len(gaps) for key, gaps in missing.items() if gaps}
        prompt_tokens = sum(_tokens(wordings[key]) for key in asked)
        completion_tokens = sum(
            gaps * wordings[key].decoding.max_tokens for key, gaps in asked.items()
        )
        cost = None
        if price is not None:
            cost = token_cost(price, prompt_tokens, completion_tokens)
        completions = sum(job.n for job in wordings.values())
        forecasts.append(
            Forecast(
                model=model,
                template=template,
                wordings=len(wordings),
                completions=completions,
                stored=completions - sum(asked.values()),
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
                cost=cost,
            )
        )
    return forecasts


def _tokens(job: Job) -> int:
    return -(-len((job.prompt.system or "") + job.prompt.user) // _CHARS_PER_TOKEN)
