"""Chooses the out-of-date memories that a plan may hide, each behind the one with the newer value.

An update loses a value on purpose, so more is asked of it than of a copy. Words and times agree on
which side is newer, and nothing but the replaced value is missing in the text that stays. No older
value is left alone: a memory stays if one that it replaced stays, or one that stands behind it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.connected_pairs import oldest_first
from echoless.core.groups import Group, Membership
from echoless.core.model import (
    Difference,
    DifferenceKind,
    Judged,
    Update,
    flipped,
    judged_as,
    later,
    older_and_newer,
)
from echoless.core.timestamps import day
from echoless.core.verdict_sentences import sentence
from echoless.core.wording import count
from echoless.matching.comparison import Comparison
from echoless.matching.fields import fields_of
from echoless.matching.languages import relations_of
from echoless.matching.rule_judge import VALUES_OF_ONE, compared
from echoless.matching.values.tokens import Kind
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.series import outside, series_of

_STATES: Final = frozenset({DifferenceKind.NEGATION, DifferenceKind.POLARITY})
_REPLACEABLE: Final = VALUES_OF_ONE | {DifferenceKind.NAME}
_NARROWING: Final = frozenset({Kind.SCOPE, Kind.MODALITY})
"""Kinds of words that say where, when or whether: `in staging`, `may`."""
_THINGS: Final = frozenset({Kind.NAME, Kind.IDENTIFIER, Kind.PATH})
_DONE: Final = 2
"""Stage of what was done, see `Facts.stage`."""


@dataclass(frozen=True, slots=True)
class OutOfDate:
    """Memories with an older value, and what becomes of them.

    Attributes:
        groups: Newer memories, each with the older ones that go behind it, most first.
        reasons: Why each newer one stays, by its id.
        left: Updates whose older memory stays visible, with the reason, by the id of the older.
    """

    groups: tuple[Group, ...]
    reasons: Mapping[str, str]
    left: Mapping[str, tuple[Judged, str]]

    def notes(self) -> Iterator[str]:
        """Yields a sentence on each memory that stays; it may quote a secret of the memory."""
        for older, (pair, why) in self.left.items():
            yield f"{older} is out of date beside {older_and_newer(pair)[1]} and stays: {why}."

    @property
    def hidden(self) -> frozenset[str]:
        """Returns the ids of the memories that go."""
        return frozenset(member.id for group in self.groups for member in group.members)


def out_of_date(findings: Findings) -> OutOfDate:
    """Returns which out-of-date memories may go behind the newer ones; reads and writes nothing.

    Args:
        findings: From `find`. Series (one sentence or label with other figures) are left out.
    """
    behind = {m.id: group.survivor for group in findings.groups for m in group.members}
    updates = list(_updates(findings, behind))
    ways: dict[str, list[Judged]] = defaultdict(list)
    left: dict[str, tuple[Judged, str]] = {}
    for pair in updates:
        older, _ = older_and_newer(pair)
        if reason := _against(findings, pair):
            left.setdefault(older, (pair, reason))
        else:
            ways[older].append(pair)
    edges = [older_and_newer(pair) for pair in updates]
    chosen: dict[str, Judged] = {}
    for older in reversed(oldest_first(edges, findings.memories)):
        last = [pair for pair in ways[older] if older_and_newer(pair)[1] not in chosen]
        if last:
            chosen[older] = max(last, key=lambda pair: pair.verdict.evidence.similarity)
    while stranded := dict(_stranded(chosen, edges, behind)):
        left.update((older, (chosen.pop(older), reason)) for older, reason in stranded.items())
    by_newer: dict[str, list[Judged]] = defaultdict(list)
    for older in sorted(chosen):
        by_newer[older_and_newer(chosen[older])[1]].append(chosen[older])
    groups = (
        Group(newer, tuple(Membership(older_and_newer(pair)[0], pair) for pair in pairs))
        for newer, pairs in by_newer.items()
    )
    return OutOfDate(
        tuple(sorted(groups, key=lambda group: (-len(group.members), group.survivor))),
        {newer: _why(findings, newer, pairs) for newer, pairs in by_newer.items()},
        {id_: left[id_] for id_ in sorted(left.keys() - chosen.keys() - behind.keys())},
    )


def _updates(findings: Findings, behind: Mapping[str, str]) -> Iterator[Judged]:
    """Yields the updates by a memory that stays visible; a verdict holds for all copies of a text.

    Args:
        findings: What was found.
        behind: Survivor of each memory that a group hides.
    """
    series = series_of(findings.held, findings.memories)
    for pair in outside(findings.held, series):
        if isinstance(pair.verdict, Update):
            old, new = (findings.copies.get(id_, (id_,)) for id_ in older_and_newer(pair))
            verdict = pair.verdict if pair.verdict.newer == "b" else flipped(pair.verdict)
            every = (judged_as(a, b, verdict) for b in new if b not in behind for a in old)
            yield from (each for each in every if (each.a, each.b) not in findings.apart)


def _against(findings: Findings, pair: Judged) -> str:
    """Returns why the older memory of an update stays visible; empty where it may go."""
    old, new = older_and_newer(pair)
    older, newer = findings.as_read(old), findings.as_read(new)
    if old in findings.protected:
        return findings.protected[old]
    if not newer.promise.covers(older.promise):
        return f"it stays in force longer, or for more agents, than {new}"
    if later(older, newer) == "a":
        return "its words call it the older one, and it was written later"
    differences = pair.verdict.evidence.differences
    oriented = differences if pair.a == old else flipped(pair.verdict).evidence.differences
    return _unlike(compared(older, newer), oriented) or _lost(compared(older, newer), oriented)


def _unlike(texts: Comparison, differences: Sequence[Difference]) -> str:
    """Returns why both texts may be true: a plan, an event, another place; empty if not.

    Args:
        texts: The older text on side a, the newer one on side b.
        differences: Of the verdict, with the same sides.
    """
    a, b = texts.a, texts.b
    if a.capped or b.capped:
        return "too long to compare"
    if b.stage is not None and b.stage < _DONE and a.stage is None:
        return "the newer one tells of a plan"
    if a.stage == b.stage == _DONE and not b.update:
        return "both tell of what was done"
    opposed = {word for each in differences if each.a for word in each.b}
    kinds = _NARROWING if b.update else _NARROWING | _THINGS
    own = [t.text for t in texts.only_b if t.kind in kinds and t.text not in opposed]
    return f"only the newer one says: {', '.join(own)}" if own else ""


def _lost(texts: Comparison, differences: Sequence[Difference]) -> str:
    """Returns what the older text says beyond the replaced value, as a reason; empty if nothing.

    Arguments as for `_unlike`.
    """
    replaced = [
        each.a
        for place, each in enumerate(differences)
        if (each.kind in _REPLACEABLE and 0 < len({*each.a}) <= len({*each.b}))
        or (place == 0 and each.kind in _STATES)
    ]
    relations = relations_of(texts.b.body)
    lost = [
        token
        for token in texts.only_a
        if not any(token.text in words for words in replaced)
        and not (token.kind is Kind.WORD and relations_of(token.text) & relations)
    ]
    added = any(token.kind is Kind.WORD for token in texts.only_b)
    if len(lost) == 1 and lost[0].kind is Kind.WORD and added and not replaced:
        return ""  # the word is the value: `prefers tea`, `now prefers coffee`
    words = ", ".join(dict.fromkeys(token.text for token in lost))
    return words and f"not in the text that stays: {words}"


def _stranded(
    chosen: Mapping[str, Judged], edges: Iterable[tuple[str, str]], behind: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields chosen memories that stay because others do, with the reason.

    Args:
        chosen: By the id of the older memory.
        edges: Ids of an older and a newer memory each.
        behind: Survivor of each memory that a group hides.
    """
    for older, newer in edges:
        if newer in chosen and older not in chosen:
            yield newer, f"{older} has a still older value and stays"
    for member, survivor in behind.items():
        if survivor in chosen and member not in chosen:
            yield survivor, f"{member} says the same, and was not compared"
        elif member in chosen and survivor not in chosen:
            yield member, ""  # it stays behind its survivor


def _why(findings: Findings, newer: str, pairs: list[Judged]) -> str:
    """Returns the value that a memory replaces and when it was said, as the reason of an action."""
    nearest = max(pairs, key=lambda pair: pair.verdict.evidence.similarity)
    memory = findings.memories[newer]
    said = day(memory.created_at) if memory.created_at else fields_of(memory.content).date
    when = f"said on {said}" if said else "its words tell of a change"
    more = f", and {count(len(pairs) - 1, 'more older value')}" if len(pairs) > 1 else ""
    return f"{sentence(nearest.verdict, nearest.a, nearest.b)}{more}; {when}"
