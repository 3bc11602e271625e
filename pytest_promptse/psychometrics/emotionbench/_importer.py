"""Import the authors' situations and scales from a user's clone of their repository.

Both stay on the user's machine. The situations are under GPL-3.0 with a research notice, and the
items of most scales belong to their publishers.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments._scales import Scale
from pytest_promptse.psychometrics.emotionbench._situations import (
    read_published_situations,
    render_situations,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_promptse.instruments._scales import Compute

__all__ = ["EMOTION_SCALES", "import_clone", "read_scales", "render_scales"]

EMOTION_SCALES: Mapping[str, str] = {
    "Anger": "AGQ",
    "Anxiety": "DASS-21",
    "Depression": "BDI",
    "Frustration": "FDS",
    "Jealousy": "MJS",
    "Guilt": "GASP",
    "Fear": "FSS",
    "Embarrassment": "BFNE",
}
"""The scale of each emotion, from the paper's Table 1."""

_COMPUTE: Mapping[str, Compute] = {"SUM": "sum", "SUM*2": "double_sum", "AVG": "mean"}
_RANGE = re.compile(r"from (\d+) to (\d+)")
OVERALL_CATEGORY = "Overall"


def import_clone(folder: Path, into: Path) -> tuple[Path, Path, int, int]:
    """Write the situations and scales of a clone into `into`, for use in suite files.

    Returns
    -------
    The two files, the number of situations and the number of scales.

    Raises
    ------
    SettingsError
        If the folder lacks the published files or they have another layout.
    """
    candidates = [
        folder / "situations.json",
        folder / "situations" / "situations.csv",
        folder / "situations.csv",
    ]
    source = next((path for path in candidates if path.is_file()), None)
    questionnaires = folder / "questionnaires.json"
    if source is None or not questionnaires.is_file():
        raise SettingsError(
            f"{folder}: has no situations.json (or situations/situations.csv) and "
            "questionnaires.json; give a clone of github.com/CUHK-ARISE/EmotionBench"
        )
    situations = read_published_situations(source)
    scales = read_scales(questionnaires)
    notice = {
        "source": "https://github.com/CUHK-ARISE/EmotionBench",
        "notice": "Imported for use on this machine. Do not publish: the items of most scales "
        "belong to their publishers.",
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        situations_file, scales_file = into / "situations.json", into / "scales.json"
        situations_file.write_text(render_situations(situations, about=notice), encoding="utf-8")
        scales_file.write_text(render_scales(scales, about=notice), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{into}: cannot be written ({error})") from None
    return situations_file, scales_file, len(situations.situations), len(scales)


def read_scales(path: Path) -> dict[str, Scale]:
    """Return the scales by name, from ``questionnaires.json`` or an output of `render_scales`.

    Raises
    ------
    SettingsError
        If the file has another layout.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SettingsError(
            f"{path}: cannot be read as JSON ({error}); check the path and the format"
        ) from None
    rows = document.get("scales") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows:
        raise SettingsError(f"{path}: is not a list of questionnaires")
    scales = [_scale(row, path, place) for place, row in enumerate(rows, start=1)]
    return {scale.name: scale for scale in scales}


def render_scales(scales: Mapping[str, Scale], *, about: Mapping[str, Any]) -> str:
    """Return `scales` as JSON text in the layout of ``questionnaires.json``.

    `about` describes the source and must fit JSON.
    """
    compute = {ours: theirs for theirs, ours in _COMPUTE.items()}
    rows = [
        {
            "name": scale.name,
            "questions": {str(n): item for n, item in enumerate(scale.items, start=1)},
            "prompt": scale.instructions,
            "low": scale.low,
            "high": scale.high,
            "compute_mode": compute[scale.compute],
            "reverse": sorted(scale.reverse),
            "categories": [
                {"cat_name": name, "cat_questions": list(numbers)}
                for name, numbers in scale.categories.items()
            ],
        }
        for scale in scales.values()
    ]
    return json.dumps({"about": dict(about), "scales": rows}, indent=1, ensure_ascii=False) + "\n"


def _scale(row: Any, path: Path, place: int) -> Scale:
    where = f"{path}, questionnaire {place}"
    try:
        name, questions, prompt = row["name"], row["questions"], row["prompt"]
        items = tuple(str(questions[str(number)]) for number in range(1, len(questions) + 1))
        categories = {
            str(category["cat_name"]): tuple(int(n) for n in category["cat_questions"])
            for category in row["categories"]
        }
        reverse = frozenset(int(number) for number in row.get("reverse", ()))
        compute = _COMPUTE[row.get("compute_mode", "SUM")]
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{where}: has a different layout (missing or wrong: {error})"
        ) from None
    low, high = row.get("low"), row.get("high")
    if not isinstance(low, int) or not isinstance(high, int):
        bounds = _RANGE.search(prompt)
        if bounds is None:
            raise SettingsError(f"{where}: its prompt does not say 'from LOW to HIGH'")
        low, high = int(bounds[1]), int(bounds[2])
    if OVERALL_CATEGORY not in categories and name != "PANAS":
        # The paper's Table 5 shows plain sums of all items.
        categories = {OVERALL_CATEGORY: tuple(range(1, len(items) + 1)), **categories}
    return Scale(
        name=str(name),
        items=items,
        low=low,
        high=high,
        instructions=str(prompt),
        categories=categories,
        reverse=reverse,
        compute=compute,
        source="imported from a clone of github.com/CUHK-ARISE/EmotionBench",
    )
