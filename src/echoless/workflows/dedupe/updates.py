"""Chooses the out-of-date memories that a plan may hide, each behind the one with the newer value.

An update loses a value on purpose, so more is asked of it than of a copy. Words and times agree on
which side is newer, and nothing but the replaced value is missing in the text that stays. No older
value is left alone: a memory stays if one that it replaced stays, or one that stands behind it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
_PLANNED, _UNDER_WAY, _DONE = range(3)
"""Stages, see `Facts.stage`."""


@dataclass(frozen=True, slots=True)
class OutOfDate:
    """Memories with an older value, and what becomes of them.

    Attributes:
        groups: Newer memories, each with the older ones that go behind it, most first.
        reasons: Why each newer one stays, by its id.
        left: The newer memory, and why the older one stays visible, by the id of the older one.
    """

    groups: tuple[Group, ...]
    reasons: Mapping[str, str]
    left: Mapping[str, tuple[str, str]]

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
    updates = dict(_updates(findings, behind))
    ways: dict[str, list[str]] = defaultdict(list)
    left: dict[str, tuple[str, str]] = {}
    for (older, newer), pair in updates.items():
        if reason := _against(findings, older, newer, pair):
            left.setdefault(older, (newer, reason))
        else:
            ways[older].append(newer)
    chosen: dict[str, str] = {}
    for older in reversed(oldest_first(updates, findings.memories)):
        if last := [newer for newer in ways[older] if newer not in chosen]:
            closeness = {newer: updates[older, newer].verdict.evidence.similarity for newer in last}
            chosen[older] = max(last, key=closeness.__getitem__)
    while stranded := dict(_stranded(chosen, updates, behind)):
        left.update((older, (chosen.pop(older), reason)) for older, reason in stranded.items())
    by_newer: dict[str, list[Membership]] = defaultdict(list)
    for older, newer in sorted(chosen.items()):
        by_newer[newer].append(Membership(older, updates[older, newer]))
    groups = [Group(newer, tuple(members)) for newer, members in by_newer.items()]
    return OutOfDate(
        tuple(sorted(groups, key=lambda group: (-len(group.members), group.survivor))),
        {group.survivor: _why(findings, group) for group in groups},
        {id_: left[id_] for id_ in sorted(left.keys() - chosen.keys() - behind.keys())},
    )


def _updates(
    findings: Findings, behind: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str], Judged]]:
    """Yields the updates by a memory that stays visible; a verdict holds for all copies of a text.

    Args:
        findings: What was found.
        behind: Survivor of each memory that a group hides.

    Yields:
        The ids of the older and the newer memory, with the verdict.
    """
    series = series_of(findings.held, findings.memories)
    for pair in outside(findings.held, series):
        if isinstance(pair.verdict, Update):
            old, new = (findings.copies.get(id_, (id_,)) for id_ in older_and_newer(pair))
            verdict = pair.verdict if pair.verdict.newer == "b" else flipped(pair.verdict)
            for older, newer in product(old, (id_ for id_ in new if id_ not in behind)):
                if (min(older, newer), max(older, newer)) not in findings.apart:
                    yield (older, newer), judged_as(older, newer, verdict)


def _against(findings: Findings, old: str, new: str, pair: Judged) -> str:
    """Returns why the older memory of an update stays visible; empty where it may go."""
    older, newer = findings.as_read(old), findings.as_read(new)
    if old in findings.protected:
        return findings.protected[old]
    if not newer.promise.covers(older.promise):
        return f"it stays in force longer, or for more agents, than {new}"
    if later(older, newer) == "a":
        return "its words call it the older one, and it was written later"
    verdict = pair.verdict if pair.a == old else flipped(pair.verdict)
    texts, differences = compared(older, newer), verdict.evidence.differences
    return _unlike(texts, differences) or _lost(texts, differences)


def _unlike(texts: Comparison, differences: Sequence[Difference]) -> str:
    """Returns why both texts may be true: a plan, an event, another place; empty if not.

    Args:
        texts: The older text on side a, the newer one on side b.
        differences: Of the verdict, with the same sides.
    """
    a, b = texts.a, texts.b
    if a.capped or b.capped:
        return "too long to compare"
    if a.stage is None and (b.stage == _PLANNED or (b.stage == _UNDER_WAY and not b.update)):
        return "the newer one tells of a plan"
    if a.stage == b.stage == _DONE and not b.update:
        return "both tell of what was done"
    opposed = {word for each in differences if each.a for word in each.b}
    kinds = _NARROWING if b.update else {*_NARROWING, Kind.NAME, Kind.IDENTIFIER, Kind.PATH}
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
    chosen: Mapping[str, str], edges: Iterable[tuple[str, str]], behind: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields chosen memories that stay because others do, with the reason.

    Args:
        chosen: The newer memory by the id of the older one.
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


def _why(findings: Findings, group: Group) -> str:
    """Returns the value that a memory replaces and when it was said, as the reason of an action."""
    pairs = [member.judged for member in group.members if member.judged]
    nearest = max(pairs, key=lambda pair: pair.verdict.evidence.similarity)
    memory = findings.memories[group.survivor]
    said = day(memory.created_at) if memory.created_at else fields_of(memory.content).date
    when = f"said on {said}" if said else "its words tell of a change"
    more = f", and {count(len(pairs) - 1, 'more older value')}" if len(pairs) > 1 else ""
    return f"{sentence(nearest.verdict, nearest.a, nearest.b)}{more}; {when}"
