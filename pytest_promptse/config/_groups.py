"""The groups of options in ``pytest --help``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.config._option import Option

GATES = "gates"
TITLES: Mapping[str, str] = {
    "model": "the model, and how it is reached",
    "sampling": "how much is sampled, and how",
    "variants": "how prompts are reworded",
    GATES: "what fails the build",
    "cost and store": "what may be spent, and what is kept",
    "sandbox": "how programs run",
    "results": "reports, baselines and shards",
}
_MEMBERS: Mapping[str, str] = {
    "model": "model require_model base_url header ca_bundle client_certificate client_key proxy"
    " api vllm_args concurrency request_timeout retries",
    "sampling": "preset samples original_samples variants distances temperature top_p max_tokens"
    " seed mode weighting",
    "variants": "emotions exclude_emotions personalities rewriter control variant_judge"
    " variants_dir template perturb library_dir aa",
    "cost and store": "max_requests max_cost price dry_run store replay_only fresh max_age",
    "sandbox": "sandbox language timeout memory",
    "results": "report record_samples save save_incomplete compare compare_fail compare_missing"
    " shard",
}
_GROUP_OF = {name: group for group, names in _MEMBERS.items() for name in names.split()}


def grouped_options() -> Mapping[str, Sequence[Option]]:
    """Return the options of each group, by its title in ``--help``.

    Every option that is in no other group sets a gate.
    """
    groups: dict[str, list[Option]] = {group: [] for group in TITLES}
    for option in OPTIONS.values():
        groups[_GROUP_OF.get(option.name, GATES)].append(option)
    return {title_of(group): groups[group] for group in TITLES}


def title_of(group: str) -> str:
    """Return the title in ``--help`` of a key of `TITLES`."""
    return f"promptse: {group} ({TITLES[group]})"
