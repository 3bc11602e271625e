"""The content of two texts, compared word by word."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance.finding import Finding
from pytest_promptse.variants.invariance.order import order_findings
from pytest_promptse.variants.invariance.talk import are_names, is_address, is_own_talk, objection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pytest_promptse.variants.invariance.reading import Sentence, Token
    from pytest_promptse.variants.invariance.vocabulary import Vocabulary

__all__ = ["content_findings", "line_findings"]

_HALF = 0.5
_FEW = 0.34


def line_findings(original: Sequence[str], variant: Sequence[str]) -> Iterator[Finding]:
    """Yield the lines of code that were lost, added or moved."""
    matcher = SequenceMatcher(None, original, variant, autojunk=False)
    for kind, start, end, begin, stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        for line in original[start:end]:
            yield Finding("verbatim", f"the line {line!r} is missing or out of its place")
        for line in variant[begin:stop]:
            yield Finding("verbatim", f"the line {line!r} was added")


def content_findings(
    original: Sequence[Sentence],
    variant: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    known: Callable[[str], bool],
) -> Iterator[Finding]:
    """Yield what the sentences of `variant` ask for otherwise than those of `original`.

    Sentences that both have are taken out first. The writer's own talk is taken out of the
    variant. What remains is matched token by token; a token without a partner is a finding.

    Parameters
    ----------
    known
        Whether a sentence is known to say nothing about the task.
    """
    yield from _item_order(original, variant)
    was, now = _different(original, variant)
    now = [sentence for sentence in now if not known(sentence.text)]
    there = _Content(was)
    spec: list[Token] = []
    for place, sentence in enumerate(now):
        if place and place == len(now) - 1 and are_names(sentence.tokens, sentence.words):
            continue  # a signature
        tokens, findings = _asked(sentence, there, vocabulary)
        spec.extend(tokens)
        yield from findings
    pairs = _matched([list(sentence.tokens) for sentence in was], _by_sentence(spec))
    yield from _unmatched(was, spec, pairs, vocabulary)
    yield from order_findings([t for s in was for t in s.tokens], spec, pairs)


def _different(
    original: Sequence[Sentence], variant: Sequence[Sentence]
) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences of each text that the other one does not have."""
    common = Counter(s.bare for s in original) & Counter(s.bare for s in variant)

    def rest(sentences: Sequence[Sentence]) -> list[Sentence]:
        left = Counter(common)
        result = []
        for sentence in sentences:
            if left[sentence.bare]:
                left[sentence.bare] -= 1
            else:
                result.append(sentence)
        return result

    return rest(original), rest(variant)


def _item_order(original: Sequence[Sentence], variant: Sequence[Sentence]) -> Iterator[Finding]:
    """Yield numbered items that stand in another order."""
    places = {sentence.bare: place for place, sentence in enumerate(variant)}
    last = -1
    for sentence in original:
        if sentence.number and sentence.bare in places:
            place = places[sentence.bare]
            if place < last:
                yield Finding("order", f"the item {sentence.text!r} stands in another place")
                return
            last = place


class _Content:
    """What a list of sentences is about."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        tokens = [token for s in sentences for token in s.tokens if _counts(token)]
        self._keys = frozenset(key for token in tokens for key in token.keys)
        self._groups = frozenset(group for token in tokens for group in token.groups)

    def share(self, tokens: Sequence[Token]) -> float:
        """Return the share of the content of `tokens` that occurs here, 0 for none."""
        content = [token for token in tokens if _counts(token)]
        found = sum(1 for t in content if t.keys & self._keys or t.groups & self._groups)
        return found / len(content) if content else 0.0


def _counts(token: Token) -> bool:
    return not token.optional and not token.request


def _asked(
    sentence: Sentence, there: _Content, vocabulary: Vocabulary
) -> tuple[list[Token], list[Finding]]:
    """Return the tokens of `sentence` that belong to the specification, and its instructions."""
    share = there.share(sentence.tokens)
    if is_address(sentence.words, sentence.tokens, vocabulary):
        return [], []
    if share <= _HALF:
        problem = objection(sentence.words, sentence.tokens, vocabulary) or _on_task(
            sentence, there, vocabulary
        )
        if not problem:
            return [], []
        if share < _FEW and not any(token.request for token in sentence.tokens):
            return [], [Finding("instruction", f"{sentence.text!r} was added, and {problem}")]
    asked = next((t.clause for t in sentence.tokens if t.request), sentence.tokens[0].clause)
    tokens: list[Token] = []
    for clause in _clauses(sentence.tokens):
        words = _words(clause)
        before = clause[0].clause < asked and not objection(words, clause, vocabulary)
        talk = before or is_own_talk(words, clause, vocabulary)
        if not (talk and there.share(clause) <= _FEW or is_address(words, clause, vocabulary)):
            tokens.extend(clause)
    return tokens, []


def _on_task(sentence: Sentence, there: _Content, vocabulary: Vocabulary) -> str:
    """Say which word of the task a sentence is about that is not about its writer."""
    words = sentence.words
    first = sentence.tokens[0]
    if set(words) & vocabulary.first_person or first.optional or words[0].endswith(("ing", "ed")):
        return ""
    found = next((t for t in sentence.tokens if _counts(t) and there.share([t])), None)
    return f"{found.text!r} speaks of the task" if found else ""


def _words(tokens: Sequence[Token]) -> list[str]:
    return [word for token in tokens for word in token.text.lower().split()]


def _clauses(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    clause: list[Token] = []
    for token in tokens:
        if clause and token.clause != clause[-1].clause:
            yield clause
            clause = []
        clause.append(token)
    if clause:
        yield clause


def _by_sentence(tokens: Sequence[Token]) -> list[list[Token]]:
    found: dict[int, list[Token]] = {}
    for token in tokens:
        found.setdefault(token.sentence, []).append(token)
    return list(found.values())


def _same(a: Token, b: Token) -> bool:
    return bool(a.keys & b.keys)


def _alike(a: Token, b: Token) -> bool:
    return bool(a.keys & b.keys or a.groups & b.groups)


def _matched(was: Sequence[list[Token]], now: Sequence[list[Token]]) -> dict[Token, Token]:
    """Return the partner of each token of the original that has one."""
    pairs: dict[Token, Token] = {}
    taken: set[Token] = set()

    def left(tokens: Collection[Token], *, optional: bool) -> list[Token]:
        return [
            token
            for token in tokens
            if token not in pairs and token not in taken and (optional or _counts(token))
        ]

    def pair(mine: Sequence[Token], theirs: Sequence[Token], test: Callable[[Token, Token], bool]) -> None:
        for a, b in _common(mine, theirs, test):
            pairs[a] = b
            taken.add(b)

    def greedy(mine: Sequence[Token], theirs: Sequence[Token], test: Callable[[Token, Token], bool]) -> None:
        for a in mine:
            for b in theirs:
                if b not in taken and (_counts(a) or _counts(b)) and test(a, b):
                    pairs[a] = b
                    taken.add(b)
                    break

    partners = [_partner(tokens, now) for tokens in was]
    for test in (_same, _alike):
        for mine, theirs in zip(was, partners, strict=True):
            if theirs is not None:
                pair(left(mine, optional=False), left(theirs, optional=False), test)
                greedy(left(mine, optional=False), left(theirs, optional=False), test)
    everything = [token for tokens in was for token in tokens]
    other = [token for tokens in now for token in tokens]
    for optional in (False, True):
        for test in (_same, _alike):
            greedy(left(everything, optional=optional), left(other, optional=optional), test)
    return pairs


def _partner(tokens: Sequence[Token], now: Sequence[list[Token]]) -> list[Token] | None:
    """Return the sentence of `now` that shares most with `tokens`."""
    keys = frozenset(key for token in tokens if _counts(token) for key in token.keys)
    groups = frozenset(group for token in tokens if _counts(token) for group in token.groups)
    best, most = None, 0.0
    for other in now:
        shared = sum(
            1.0 if token.keys & keys else 0.5 for token in other
            if _counts(token) and (token.keys & keys or token.groups & groups)
        )
        if shared > most:
            best, most = other, shared
    return best


def _common(
    mine: Sequence[Token], theirs: Sequence[Token], test: Callable[[Token, Token], bool]
) -> list[tuple[Token, Token]]:
    """Return a longest common subsequence as pairs."""
    rows, columns = len(mine), len(theirs)
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            if test(mine[i], theirs[j]):
                table[i][j] = table[i + 1][j + 1] + 1
            else:
                table[i][j] = max(table[i + 1][j], table[i][j + 1])
    result = []
    i = j = 0
    while i < rows and j < columns:
        if test(mine[i], theirs[j]):
            result.append((mine[i], theirs[j]))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return result


def _unmatched(
    was: Sequence[Sentence],
    now: Sequence[Token],
    pairs: dict[Token, Token],
    vocabulary: Vocabulary,
) -> Iterator[Finding]:
    lost: list[Token] = []
    talk = False
    for clause in [clause for sentence in was for clause in _clauses(sentence.tokens)]:
        content = [token for token in clause if _counts(token)]
        missing = [token for token in content if token not in pairs]
        signed = talk and are_names(clause, _words(clause))
        talk = is_own_talk(_words(clause), clause, vocabulary)
        if not ((talk or signed) and len(missing) == len(content)):
            lost.extend(missing)
    partners = set(pairs.values())
    added = [token for token in now if _counts(token) and token not in partners]
    lost, added = _without_joint(lost, added, vocabulary)
    requested = any(token.request for token in now)
    for tokens, others, counterpart, verb in (
        (lost, added, now, "lost"),
        (added, lost, [t for s in was for t in s.tokens], "added"),
    ):
        for token in tokens:
            if _tolerated(token, others, vocabulary) or _again(token, counterpart):
                continue
            if requested and _asks(token, was if verb == "lost" else (), now, vocabulary):
                continue
            yield Finding(_rule(token, verb), f"{token.text!r} was {verb}")


def _without_joint(
    lost: list[Token], added: list[Token], vocabulary: Vocabulary
) -> tuple[list[Token], list[Token]]:
    """Take out turns of phrase that say the same together, as "not touch" and "leave alone"."""

    def stems(tokens: Sequence[Token]) -> set[str]:
        return {stem for token in tokens for stem in map(vocabulary.stem, _words([token]))}

    for one, other in vocabulary.joint:
        for mine, theirs in ((one, other), (other, one)):
            if mine <= stems(lost) and theirs <= stems(added):
                lost = [token for token in lost if not stems([token]) & mine]
                added = [token for token in added if not stems([token]) & theirs]
    return lost, added


def _again(token: Token, others: Sequence[Token]) -> bool:
    """Whether a word of content is there, but more or less often."""
    return token.kind == "word" and not token.rule and any(_same(token, o) for o in others)


def _asks(
    token: Token, was: Sequence[Sentence], now: Sequence[Token], vocabulary: Vocabulary
) -> bool:
    """Whether `token` is a verb like "write" at the head of a request."""
    if token.kind != "word" or vocabulary.stem(token.text.lower()) not in vocabulary.request_verbs:
        return False
    if was:
        firsts = (next(filter(_counts, sentence.tokens), None) for sentence in was)
        return any(first is token for first in firsts)
    place = next(place for place, other in enumerate(now) if other is token)
    return place > 0 and now[place - 1].request


def _tolerated(token: Token, others: Sequence[Token], vocabulary: Vocabulary) -> bool:
    """Whether `token` may come or go; `others` are those that went or came."""
    if token.core:
        return not any(other.core for other in others)
    words = set(map(vocabulary.stem, token.text.lower().split()))
    if words & vocabulary.soft:
        return not token.rule or not any(other.rule for other in others)
    return False


def _rule(token: Token, verb: str) -> str:
    if token.rule:
        return token.rule
    return verb if token.kind == "word" else token.kind
