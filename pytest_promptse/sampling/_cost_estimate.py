"""Estimate of the requests and the cost of a plan, without sending a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.models._base import token_cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.sampling._job import Job
    from pytest_promptse.store._store import Store

# Characters per token, a rule of thumb for English and code in current tokenisers:
# https://help.openai.com/en/articles/4936856-what-are-tokens-and-how-to-count-them
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class CostEstimate:
    """The estimate for one model and one prompt template (None without a template).

    Attributes
    ----------
    variants, completions, stored
        Numbers of planned variants, of planned completions, and of planned completions that are
        already in the store.
    prompt_tokens
        Number of prompt tokens, estimated from the length of the prompts. Each prompt is sent once.
    completion_tokens
        Upper bound of the completion tokens, from ``max_tokens``.
    cost
        Upper bound of the cost, or None without a price.
    """

    model: str
    template: str | None
    variants: int
    completions: int
    stored: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    def line(self, *, at_most: bool = False) -> str:
        """Return the estimate in one line.

        `at_most` is True if the run may stop before it has requested everything.
        """
        missing = self.completions - self.stored
        cost = "" if self.cost is None else f", cost at most {self.cost:.4g}"
        through = f" with template {self.template}" if self.template else ""
        return (
            f"{self.model}{through}: {self.variants} variants, {self.completions} completions, "
            f"{self.stored} of them in the store; would request {'at most ' * at_most}{missing} "
            f"(about {self.prompt_tokens} tokens in, at most {self.completion_tokens} out{cost})"
        )


def estimate_cost(
    jobs: Iterable[Job], store: Store, *, price: tuple[float, float] | None = None
) -> list[CostEstimate]:
    """Return an estimate for every model and template of `jobs`, in their order.

    Parameters
    ----------
    jobs
        The plan. A variant that two suites share counts once, with the larger number of samples.
    store
        The store. Its completions are not requested again.
    price
        Prices of one million prompt tokens and of one million completion tokens.
    """
    planned: dict[tuple[str, str | None], dict[str, Job]] = {}
    for job in jobs:
        largest = planned.setdefault((job.model, job.template), {})
        if job.key not in largest or largest[job.key].n < job.n:
            largest[job.key] = job
    estimates = []
    for (model, template), variants in planned.items():
        missing = store.missing(
            {key: job.n for key, job in variants.items()},
            since={key: job.since for key, job in variants.items()},
        )
        requested = {key: len(gaps) for key, gaps in missing.items() if gaps}
        prompt_tokens = sum(_tokens(variants[key]) for key in requested)
        completion_tokens = sum(
            gaps * variants[key].decoding.max_tokens for key, gaps in requested.items()
        )
        cost = None
        if price is not None:
            cost = token_cost(price, prompt_tokens, completion_tokens)
        completions = sum(job.n for job in variants.values())
        estimates.append(
            CostEstimate(
                model=model,
                template=template,
                variants=len(variants),
                completions=completions,
                stored=completions - sum(requested.values()),
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
                cost=cost,
            )
        )
    return estimates


def _tokens(job: Job) -> int:
    return -(-len((job.prompt.system or "") + job.prompt.user) // _CHARS_PER_TOKEN)
