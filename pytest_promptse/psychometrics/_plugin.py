"""The instruments of this package, registered by the same entry point and hook as any others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.instruments import Instrument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.instruments import Measurement, SuitePlace, SuiteSettings
    from pytest_promptse.instruments._measurement import Commands
    from pytest_promptse.psychometrics.csi._suite import CsiSettings
    from pytest_promptse.psychometrics.emotionbench._suite import EmotionBenchSettings
    from pytest_promptse.psychometrics.manipulation._suite import ManipulationSettings

# What is imported in functions loads SciPy, which `promptse --help` does not need.


class CoreSentimentInventory(Instrument):
    """Shares of everyday words that a model links with the positive and the negative anchor."""

    name = "csi"
    title = "Core Sentiment Inventory"
    about = (
        "Optimism and pessimism are the shares of words that go with the positive and the negative "
        "anchor word in all runs; neutrality is the rest. They describe associations in the "
        "model's output, not feelings. Intervals resample batches."
    )

    @property
    def settings(self) -> type[SuiteSettings]:
        from pytest_promptse.psychometrics.csi._suite import CsiSettings  # noqa: PLC0415

        return CsiSettings

    def plan(self, settings: CsiSettings, place: SuitePlace) -> Measurement:
        from pytest_promptse.psychometrics.csi._suite import plan_csi  # noqa: PLC0415

        return plan_csi(settings, instrument=self, place=place)

    def add_commands(self, commands: Commands) -> None:
        from pytest_promptse.psychometrics.csi._command import add_parser  # noqa: PLC0415

        add_parser(commands)


class EmotionBench(Instrument):
    """The change of self-reported affect after situations."""

    name = "emotionbench"
    title = "EmotionBench"
    about = (
        "How self-reported affect changes after situations, in points of the scale. An arrow is a "
        "change that is significant at 0.01. Human changes are those of the 1,266 subjects of "
        "Huang et al. (arXiv:2308.03656), in other situations of the same factors. The figures "
        "describe answers to a questionnaire; they do not show that a model feels anything."
    )

    @property
    def settings(self) -> type[SuiteSettings]:
        from pytest_promptse.psychometrics.emotionbench._suite import (  # noqa: PLC0415
            EmotionBenchSettings,
        )

        return EmotionBenchSettings

    def plan(self, settings: EmotionBenchSettings, place: SuitePlace) -> Measurement:
        from pytest_promptse.psychometrics.emotionbench._suite import (  # noqa: PLC0415
            plan_emotionbench,
        )

        return plan_emotionbench(settings, instrument=self, place=place)

    def add_commands(self, commands: Commands) -> None:
        from pytest_promptse.psychometrics.emotionbench._command import add_parser  # noqa: PLC0415

        add_parser(commands)


class ManipulationCheck(Instrument):
    """Whether a model recognises the emotions of variants."""

    name = "manipulation"
    title = "Manipulation check"
    about = (
        "Whether variants carry the emotion of their label. The model rates the PANAS after "
        "neutral messages of developers and after variants of them, once for itself and once for "
        "the writer, and names the writer's mood. Shifts are from the neutral message, over "
        "prompts, with 95 % intervals by Student's t. “neutral” is the control: other words "
        "without an emotion."
    )

    @property
    def settings(self) -> type[SuiteSettings]:
        from pytest_promptse.psychometrics.manipulation._suite import (  # noqa: PLC0415
            ManipulationSettings,
        )

        return ManipulationSettings

    def plan(self, settings: ManipulationSettings, place: SuitePlace) -> Measurement:
        from pytest_promptse.psychometrics.manipulation._suite import (  # noqa: PLC0415
            plan_manipulation,
        )

        return plan_manipulation(settings, instrument=self, place=place)


def pytest_promptse_instruments() -> Sequence[Instrument]:
    return [CoreSentimentInventory(), EmotionBench(), ManipulationCheck()]
