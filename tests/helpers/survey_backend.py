"""A model with scripted answers to word lists and questionnaires, for tests of their suites."""

from __future__ import annotations

import hashlib
import json
import re

from pytest_promptse.models._base import Capabilities, Completion, Response, Usage

# Words of situations that affect this model.
_SAD = re.compile(r"Imagine|假设")
_NEGATIVE_ITEMS = {
    "distressed", "upset", "guilty", "scared", "hostile",
    "irritable", "ashamed", "nervous", "jittery", "afraid",
}  # fmt: skip


def _number(*parts: object, below: int) -> int:
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") % below


class SurveyBackend:
    """Answers in the format that the prompts request.

    ``refuse`` is the share of prompts that it declines, in percent. ``strength`` is the number of
    points by which a situation shifts each item. Its default mood depends on ``name``.
    """

    concurrency = 64

    def __init__(self, name="even", *, refuse=0, strength=1):
        self.spec = f"survey:{name}"
        self.identity = {"backend": "survey", "model": name}
        self.name = name
        self.refuse = refuse
        self.strength = strength
        self.n_requests = 0

    async def start(self):
        return Capabilities(form="chat")

    async def complete(self, request):
        self.n_requests += 1
        text = self._answer(request.prompt.user, request.seed)
        completion = Completion(index=request.first, text=text, n_tokens=len(text) // 4)
        usage = Usage(requests=1, prompt_tokens=50, completion_tokens=len(text) // 4)
        return Response(completions=(completion,), usage=usage)

    async def close(self):
        pass

    def _answer(self, prompt, seed):
        if _number("refuse", prompt, below=100) < self.refuse:
            return "I'm sorry, but as an AI I have no feelings about this."
        if "one word only" in prompt:
            labels = re.search(r"mood best: (.*)\. Answer", prompt)[1].split(", ")
            return labels[_number(self.name, prompt.rpartition("<message>")[2], below=len(labels))]
        if '"tragedy"' in prompt:
            story = prompt.rpartition(":")[2]
            return json.dumps({"tragedy": 1 + min(9, 2 * story.count("sad")), "comedy": 3})
        if "short story" in prompt or "短篇故事" in prompt:
            words = re.search(r"(?:occurs|词)[:\uff1a](.*)[.\u3002]", prompt)[1]
            sad = sum(self._mood(word.strip(), 0) == 1 for word in re.split("[,、]", words))
            return "Once. " + "sad " * sad
        items = re.findall(r"^(\d+)\. (.+)$", prompt, re.MULTILINE)
        pair = re.search(r"either (\w+) or (\w+)\.|然后写(\S+?)或(\S+?)。", prompt)
        if pair:
            first, second = [group for group in pair.groups() if group]
            chosen = (first, second, "neither")
            return "\n".join(f"{n}. {w} - {chosen[self._mood(w, seed)]}" for n, w in items)
        return "\n".join(f"{n}. {item}: {self._rating(item, prompt)}" for n, item in items)

    def _mood(self, word, seed):
        """Return 0 for the positive anchor, 1 for the negative one, 2 for neither."""
        if _number(self.name, word, seed, below=100) < 6:
            return _number(word, seed, below=3)
        return 0 if _number(self.name, word, below=100) < 60 else 1

    def _rating(self, item, prompt):
        negative = item.lower() in _NEGATIVE_ITEMS
        bounds = re.search(r"numbers from (\d) to (\d)", prompt)
        low, high = map(int, bounds.groups()) if bounds else (1, 5)
        base = (low if negative else high - 1) + _number(self.name, item, prompt, below=2)
        if _SAD.search(prompt):
            base += self.strength if negative else -self.strength
        return min(high, max(low, base))
