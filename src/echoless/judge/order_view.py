"""A text under the keys of the text it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from echoless.judge.facts import Facts, remembered
from echoless.judge.language import Lexicon
from echoless.judge.scan import Token


@dataclass(frozen=True, slots=True)
class View:
    """The tokens of a text under the keys that the other text uses for them."""

    facts: Facts
    tokens: tuple[Token, ...]
    keys: tuple[str, ...]

    @property
    def lexicon(self) -> Lexicon:
        """The words of its language."""
        return self.facts.lexicon

    def part(self, places: Sequence[int]) -> View:
        """Some of the tokens."""
        tokens, keys = self.tokens, self.keys
        return View(self.facts, tuple(tokens[i] for i in places), tuple(keys[i] for i in places))


def view(facts: Facts, alike: Mapping[int, str]) -> View:
    """See a text under the keys of the text it is compared with."""
    if not alike:
        return View(facts, facts.tokens, _keys(facts))
    pairs = [(t, alike.get(id(t), t.key)) for t in facts.tokens]
    kept = [(t, key) for t, key in pairs if key]
    return View(facts, tuple(t for t, _ in kept), tuple(key for _, key in kept))


@remembered
def _keys(facts: Facts) -> tuple[str, ...]:
    """Only these: facts that remember what holds them would be a cycle."""
    return tuple([token.key for token in facts.tokens])


def without(text: View, gone: set[int]) -> View:
    """A text less the tokens at some places."""
    return text.part([i for i in range(len(text.keys)) if i not in gone])
