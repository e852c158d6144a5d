"""The health of a memory: which share of it an agent can see and trust, and what it costs.

Each part is a share of the memories, or of their tokens, that something is wrong with. The score is
what is left when all parts are taken away one after the other: 100 where nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import prod
from typing import Final

from echoless.core.destination import command_line
from echoless.core.model import Json, Memory
from echoless.core.text import count, percent, token_estimate
from echoless.stores.base import Store
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report

MOST_COSTLY: Final = 3
"""Memories that are named for what they cost."""
_STALE: Final = frozenset({"path", "link", "deadline"})
_UNSAFE: Final = frozenset({"order", "unseen", "secret"})

_MUCH: Final = 0.05
"""Share of tokens said twice, inclusive, from which what is said again is listed. Of 27 claims and
groups that nineteen public memories listed two readers each found 2 worth a line (docs/doctor.md).
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is wrong with some of a memory.

    Attributes:
        name: What is wrong, for programs.
        concerned: How many memories, or tokens.
        whole: Of how many.
        said: What is wrong with them, as the end of a sentence, for one and for several.
        fix: What to do about it; a command where there is one.
    """

    name: str
    concerned: int
    whole: int
    said: tuple[str, str]
    fix: str

    @property
    def share(self) -> float:
        """Returns the share that is concerned, 0 to 1."""
        return min(1.0, self.concerned / self.whole) if self.whole else 0.0

    @property
    def sentence(self) -> str:
        """Returns what is wrong with how many."""
        return f"{self.concerned:,} {self.said[self.concerned != 1]}"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What is wrong with a memory.

    Attributes:
        memories: How many are visible.
        tokens: Estimated tokens of them.
        parts: What is wrong, worst first.
        costly: The memories that cost most, with their estimated tokens.
    """

    memories: int
    tokens: int
    parts: Sequence[Part]
    costly: Sequence[tuple[str, int]]

    @property
    def score(self) -> int:
        """Returns 0 to 100: the share that nothing is wrong with, rounded down."""
        return int(100 * prod(1 - part.share for part in self.parts))

    @property
    def worth(self) -> Sequence[Part]:
        """Returns the parts to act on: all that concern something, of repetition only much."""
        return [p for p in self.parts if p.concerned and (p.name != "repeated" or p.share >= _MUCH)]

    @property
    def sentence(self) -> str:
        """Returns what matters most in one sentence."""
        whole = count(self.memories, "memory", "memories")
        wrong = [part.sentence for part in self.parts if part.concerned]
        return f"Of {whole}: {'; '.join(wrong)}." if wrong else f"Nothing is wrong with {whole}."

    def to_json(self) -> dict[str, Json]:
        """Returns the health as in `doctor --json`."""
        parts: list[Json] = [
            {"name": p.name, "concerned": p.concerned, "whole": p.whole, "fix": p.fix}
            for p in self.parts
        ]
        costly: list[Json] = [{"id": id_, "tokens": tokens} for id_, tokens in self.costly]
        whole = {"score": self.score, "memories": self.memories, "tokens": self.tokens}
        return {**whole, "parts": parts, "costly": costly}


def health(
    store: Store, memories: Sequence[Memory], report: Report, between: Between, name: str
) -> HealthReport:
    """Returns the health of a memory.

    Args:
        store: Open.
        memories: Its visible ones.
        report: Of its audit; of one that only looked at each memory by itself, less is wrong.
        between: What it says in several files or headings; of it the copies count, as values that
            differ there are mostly those of two things.
        name: The store, as a person typed it.
    """
    tokens = {memory.id: token_estimate(memory.content) for memory in memories}
    parts = _parts(store, memories, report, between, name)
    costly = nlargest(MOST_COSTLY, tokens.items(), key=lambda each: each[1])
    return HealthReport(len(memories), sum(tokens.values()), tuple(parts), costly)


def _parts(
    store: Store, visible: Sequence[Memory], report: Report, between: Between, name: str
) -> Iterator[Part]:
    """Yields what may be wrong, worst first."""
    memories, texts = len(visible), {memory.id: memory.content for memory in visible}
    tokens = sum(map(token_estimate, texts.values()))
    signs = [sign for sign in report.stale or () if sign.kind != "never_read"]

    def about(kinds: frozenset[str]) -> int:
        return len({sign.id for sign in signs if sign.kind in kinds})

    said = "orders an agent or holds a secret", "order an agent or hold a secret"
    yield Part("unsafe", about(_UNSAFE), memories, said, "Take out the order, or the secret.")
    said = "says again what was to be forgotten", "say again what was to be forgotten"
    fix = command_line("forget", name, "ID")
    yield Part("forgotten", about(frozenset({"forgotten"})), memories, said, fix)
    pairs = [*report.held, *(each.pair for each in report.claims)]
    against = {id_ for pair in pairs if pair.verdict == "contradiction" for id_ in pair.ids}
    said = "contradicts another one", "contradict another one"
    yield Part("contradicts", len(against), memories, said, command_line("review", name))
    unseen = sum(number for _, number in store.unloaded())
    said = "is not loaded by its agent", "are not loaded by their agent"
    yield Part("unloaded", unseen, memories, said, "Name them in the index, or shorten it.")
    older = {pair.a for pair in pairs if pair.verdict == "update"}
    said = "is out of date", "are out of date"
    fix = command_line("dedup", name, "--with-updates")
    yield Part("outdated", len(older), memories, said, fix)
    said = "names what is not there, or past", "name what is not there, or past"
    yield Part("stale", about(_STALE), memories, said, "Mend the path, link or day.")
    said = "says itself that it is over", "say themselves that they are over"
    yield Part("finished", about(frozenset({"finished"})), memories, said, "Archive what is over.")
    copies = {member.id for group in between.groups for member in group.members}
    again = sum(token_estimate(between.places[id_].content) for id_ in copies)
    again += report.wasted_tokens + sum(
        token_estimate(texts[each.pair.b][slice(*each.offsets_b)])
        for each in report.claims
        if each.pair.verdict in {"duplicate", "subsumes"}
    )
    some = f"of {count(tokens, 'token')} {{}} said twice"
    said = some.format("is"), some.format("are")
    fix = command_line("dedup", name) if report.groups else command_line("audit", name, "--explain")
    yield Part("repeated", again, tokens, said, fix)


def shares(health: HealthReport) -> str:
    """Returns the score with the parts that lower it."""
    low = [f"{part.name} {percent(part.share)}" for part in health.parts if part.concerned]
    return f"Score {health.score} of 100" + (f" ({', '.join(low)})." if low else ".")
