"""Files of psychometric suites. The end of a file's name gives its kind (see `SUFFIXES`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError, TaskError
from pytest_promptse.psychometrics.csi._suite import CsiSettings, plan_csi
from pytest_promptse.psychometrics.emotionbench._suite import (
    EmotionBenchSettings,
    plan_emotionbench,
)
from pytest_promptse.psychometrics.manipulation._suite import (
    ManipulationSettings,
    plan_manipulation,
)
from pytest_promptse.tasks import _plainyaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_promptse.psychometrics._suite import Measurement

__all__ = ["SUFFIXES", "Settings", "load_settings", "plan"]

Settings = CsiSettings | EmotionBenchSettings | ManipulationSettings

SUFFIXES: Mapping[str, type[Settings]] = {
    ".csi.yaml": CsiSettings,
    ".csi.yml": CsiSettings,
    ".emotionbench.yaml": EmotionBenchSettings,
    ".emotionbench.yml": EmotionBenchSettings,
    ".manipulation.yaml": ManipulationSettings,
    ".manipulation.yml": ManipulationSettings,
}
"""The settings of each kind of file, by the end of its name."""

_FORMAT = 1


def load_settings(path: Path) -> tuple[Settings, int]:
    """Return the settings in the file at `path` and the line at which they begin.

    Raises
    ------
    TaskError
        If the file does not follow the format. The message names file and line.
    """
    kind = next(kind for suffix, kind in SUFFIXES.items() if path.name.endswith(suffix))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(
            f"{path}: cannot be read ({error}); check the path and save it as UTF-8"
        ) from None
    document = _plainyaml.parse(text, path)
    fields = document.fields("a psychometric suite", ("promptse", "settings"))
    version = fields.get("promptse")
    if version is None or version.value() != _FORMAT:
        raise document.error(f"start the file with 'promptse: {_FORMAT}', its format")
    if "settings" not in fields or fields["settings"].value() is None:
        return kind(), document.line
    place = fields["settings"]
    known = [field.name for field in msgspec.structs.fields(kind)]
    values = {}
    for name, value in place.fields("settings").items():
        if name not in known:
            raise value.error(f"{name!r} is no setting{nearest(name, known)}")
        values[name] = value.value()
        _check(kind, name, value)
    try:
        return msgspec.convert(values, kind), place.line
    except msgspec.ValidationError as error:
        raise place.error(str(error)) from None


def _check(kind: type[Settings], name: str, place: _plainyaml.YamlNode) -> None:
    """Raise TaskError for a value of another type. The message names its line.

    `name` is a field of `kind`, and `place` the node of its value in the file.
    """
    wanted = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    try:
        msgspec.convert(place.value(), wanted)
    except msgspec.ValidationError as error:
        raise place.error(f"{name}: {error}") from None


def plan(
    settings: Settings,
    *,
    suite_id: str,
    models: Mapping[str, Mapping[str, str]],
    rater: Mapping[str, str] | None,
    folder: Path,
    line: int,
) -> list[Measurement]:
    """Return the suite of a file for each model.

    Parameters
    ----------
    models
        The identity of each ``BACKEND:NAME``.
    rater
        The identity of the rater model in the settings, or None if they have none.
    folder
        The folder of the file, to which paths in it are relative.
    suite_id, line
        Id of the suite, and its line in the file.

    Raises
    ------
    SettingsError
        If a file that the settings name cannot be used.
    """
    planned: list[Measurement] = []
    for model, identity in models.items():
        if isinstance(settings, CsiSettings):
            planned.append(
                plan_csi(
                    settings,
                    suite_id=suite_id,
                    model=model,
                    identity=identity,
                    rater_identity=rater,
                    folder=folder,
                    line=line,
                )
            )
        elif isinstance(settings, EmotionBenchSettings):
            planned.append(
                plan_emotionbench(
                    settings,
                    suite_id=suite_id,
                    model=model,
                    identity=identity,
                    folder=folder,
                    line=line,
                )
            )
        else:
            planned.append(
                plan_manipulation(
                    settings, suite_id=suite_id, model=model, identity=identity, line=line
                )
            )
    if not any(each.probes for each in planned) and planned:
        raise SettingsError(
            f"{suite_id}: the settings select no prompt; add words, situations or prompts"
        )
    return planned
