"""Chooses the out-of-date memories that a plan may hide, each behind the one with the newer value.

No older value is left alone: a memory stays if one that it replaced stays, or one that stands
behind it. What else is asked of each says `matching/replacement.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from echoless.core.groups import Group, Membership, oldest_first
from echoless.core.model import Judged, Update, flipped, judged_as, older_and_newer
from echoless.core.text import count
from echoless.core.timestamps import day
from echoless.core.verdict_sentences import sentence
from echoless.matching.fields import fields_of
from echoless.matching.replacement import why_visible
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.series import outside, series_of


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
    verdict = pair.verdict if pair.a == old else flipped(pair.verdict)
    why = findings.protected.get(old)
    return why or why_visible(findings.as_read(old), findings.as_read(new), verdict)


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
