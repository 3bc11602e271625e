"""The chat template of a model, which turns a prompt into the text format of its training."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_promptse.models._base import Prompt


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """A chat template in the format of Hugging Face.

    Attributes
    ----------
    source
        The Jinja source.
    tokens
        The special tokens that the template may use, by name.
    origin
        The file of the template, for error messages.
    """

    source: str
    tokens: Mapping[str, str]
    origin: str

    def render(self, prompt: Prompt) -> str:
        """Return the text of `prompt` up to where the response of the model begins.

        Raises
        ------
        ModelError
            If the template is invalid or refuses the messages, as some refuse a system message.
        """
        from jinja2.exceptions import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(reason: str) -> None:
            raise TemplateError(reason)

        # The options and names that chat templates expect:
        # https://huggingface.co/docs/transformers/chat_templating_writing
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = refuse
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system is not None:
            messages.insert(0, {"role": "system", "content": prompt.system})
        try:
            return environment.from_string(self.source).render(
                messages=messages, add_generation_prompt=True, **self.tokens
            )
        except TemplateError as error:
            raise ModelError(
                f"chat template in {self.origin}: {error}; "
                "use a prompt template that the model accepts, or correct the file"
            ) from error


def read_chat_template(folder: Path) -> ChatTemplate | None:
    """Return the chat template of the model in `folder`, or None without one.

    ``chat_template.jinja`` takes precedence over ``tokenizer_config.json``, as in transformers.
    Of several named templates, ``default`` is used.
    """
    settings = folder / "tokenizer_config.json"
    config = read_json(settings) if settings.is_file() else {}
    alone = folder / "chat_template.jinja"
    source: Any = config.get("chat_template")
    if isinstance(source, list):
        source = {entry["name"]: entry["template"] for entry in source}.get("default")
    if alone.is_file():
        source = alone.read_text(encoding="utf-8")
    if source is None:
        return None
    origin = str(alone if alone.is_file() else settings)
    return ChatTemplate(source=source, tokens=_special_tokens(config), origin=origin)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in `path`. Raise ModelError if it contains none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error}); copy the model's own file again") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a JSON object; copy the model's own file again")
    return content


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return special tokens such as ``bos_token``, which are stored as text or as an object."""
    tokens = {name: value for name, value in config.items() if name.endswith("_token")}
    texts = {
        name: value["content"] if isinstance(value, dict) else value
        for name, value in tokens.items()
    }
    return {name: text for name, text in texts.items() if isinstance(text, str)}
