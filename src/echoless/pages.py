"""What an audit says of one namespace.

Memories of two namespaces never meet, so a page hangs on what is in its own, and on what people and
earlier runs decided about that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from echoless.findings import Findings, Part, held, measure, spared_note
from echoless.groups import Group, Membership
from echoless.model import Judged, Memory, Update, flipped, verdict_name
from echoless.series import Series, outside, series_of
from echoless.text import token_estimate

HELD_KINDS: Final = ("contradiction", "update", "sibling", "unsure")
"""Verdicts of pairs that are held, worst first."""

_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True)
class Share:
    """Repetition in one part of a store.

    Attributes:
        total: Visible memories.
        redundant: Copies beyond the first among them.
    """

    total: int
    redundant: int

    @property
    def ratio(self) -> float:
        """Redundant over total, 0 to 1."""
        return self.redundant / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class ToldMember:
    """A memory of a group, as a report tells it.

    Attributes:
        id: The memory.
        verdict: Its direct verdict with the survivor; None in a transitive group without one.
        similarity: Their similarity, 0 to 1; None where nothing measured it.
        evidence: Why, in one line; None without a verdict.
    """

    id: str
    verdict: str | None
    similarity: float | None
    evidence: str | None


@dataclass(frozen=True, slots=True)
class ToldGroup:
    """Memories that say the same, as a report tells them.

    Attributes:
        survivor: The one that would stay visible.
        why: Why that one.
        members: The others, by id.
    """

    survivor: str
    why: str
    members: tuple[ToldMember, ...]


@dataclass(frozen=True, slots=True)
class ToldPair:
    """Two memories that look alike and stay apart, as a report tells them.

    Attributes:
        a: One memory; of an update the older one.
        b: The other.
        verdict: One of `HELD_KINDS`, or `subsumes`.
        difference: The first named difference, if there is one.
        similarity: 0 to 1.
        evidence: Why, in one line.
    """

    a: str
    b: str
    verdict: str
    difference: str | None
    similarity: float
    evidence: str

    @property
    def ids(self) -> tuple[str, str]:
        """Both, smaller first."""
        return (self.a, self.b) if self.a < self.b else (self.b, self.a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What an audit says of one namespace.

    Attributes:
        namespace: Its name.
        total: Memories in scope.
        marked: Those of them hidden by earlier runs.
        tokens: Estimated tokens of the visible ones.
        wasted_tokens: Estimated tokens of redundant copies.
        months: Share of each month of creation.
        groups: Largest first.
        held: By ids; those within a series are left out.
        series: Sentences written again and again with other figures, largest first.
        verdicts: How many candidate pairs got which verdict.
        left_out: Pairs beyond the budget, not judged.
        spared: Pairs not judged because one of them stood behind another one already.
        skipped: Ids by the reason why they were left out, both sorted.
        notes: Sentences about the work in this namespace.
        general: Sentences about the run that any run like it would tell.
    """

    namespace: str
    total: int
    marked: int
    tokens: int
    wasted_tokens: int
    months: Mapping[str, Share]
    groups: tuple[ToldGroup, ...]
    held: tuple[ToldPair, ...]
    series: tuple[Series, ...]
    verdicts: Mapping[str, int]
    left_out: int
    spared: int
    skipped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    general: tuple[str, ...]

    @property
    def share(self) -> Share:
        """Repetition in the namespace."""
        return Share(self.total - self.marked, sum(len(group.members) for group in self.groups))


def pages_of(findings: Findings) -> Iterator[Page]:
    """One page for each namespace with memories in scope, by name."""
    home = findings.memories
    memories = _sorted_out(findings.memories.values(), lambda memory: memory.namespace)
    groups = _sorted_out(findings.groups, lambda group: home[group.survivor].namespace)
    judged = _sorted_out(findings.judged, lambda pair: home[pair.a].namespace)
    skipped = _skipped(findings)
    own = {note for part in findings.parts.values() for note in part.notes}
    own.add(spared_note(sum(part.spared for part in findings.parts.values())))
    general = tuple(note for note in findings.tally.lasting if note not in own)
    tell = group_teller(findings)
    for name in sorted(memories):
        there, part = memories[name], findings.parts.get(name, Part())
        visible = [m for m in there if m.id not in findings.marked]
        found = groups.get(name, [])
        copies = {member.id for group in found for member in group.members}
        pairs = judged.get(name, [])
        apart = [pair for pair in pairs if held(pair.verdict)]
        series = series_of(apart, home)
        yield Page(
            namespace=name,
            total=len(there),
            marked=len(there) - len(visible),
            tokens=sum(token_estimate(m.content) for m in visible),
            wasted_tokens=sum(token_estimate(m.content) for m in visible if m.id in copies),
            months=_months(visible, copies),
            groups=tuple(tell(group) for group in found),
            held=tuple(map(told_pair, outside(apart, series))),
            series=tuple(series),
            verdicts=Counter(verdict_name(pair.verdict) for pair in pairs),
            left_out=part.left_out,
            spared=part.spared,
            skipped=skipped.get(name, {}),
            notes=part.notes,
            general=general,
        )


def _sorted_out(things: Iterable[_Thing], name: Callable[[_Thing], str]) -> dict[str, list[_Thing]]:
    found: dict[str, list[_Thing]] = {}
    for thing in things:
        found.setdefault(name(thing), []).append(thing)
    return found


def _skipped(findings: Findings) -> dict[str, dict[str, tuple[str, ...]]]:
    """Skipped ids by namespace and reason, of memories in scope."""
    found: dict[str, dict[str, list[str]]] = {}
    for reason, ids in findings.tally.skipped.items():
        for id_ in ids:
            if memory := findings.memories.get(id_):
                found.setdefault(memory.namespace, {}).setdefault(reason, []).append(id_)
    return {name: {r: tuple(ids) for r, ids in told.items()} for name, told in found.items()}


def _months(visible: Iterable[Memory], copies: set[str]) -> dict[str, Share]:
    total: Counter[str] = Counter()
    redundant: Counter[str] = Counter()
    for memory in visible:
        month = _month(memory)
        total[month] += 1
        redundant[month] += memory.id in copies
    return {month: Share(total[month], redundant[month]) for month in sorted(total)}


def _month(memory: Memory) -> str:
    text = memory.created_at or ""
    looks_right = len(text) >= 7 and text[:4].isdecimal() and text[4] == "-"
    return text[:7] if looks_right else "unknown"


def group_teller(findings: Findings) -> Callable[[Group], ToldGroup]:
    """Turns groups of these findings into what is told of them."""
    measured = measure(findings)

    def member(group: Group, each: Membership) -> ToldMember:
        if each.judged is None:
            similarity = measured(each.id, group.survivor) if measured else None
            return ToldMember(each.id, None, similarity, None)
        evidence = each.judged.verdict.evidence
        name = verdict_name(each.judged.verdict)
        return ToldMember(each.id, name, evidence.similarity, evidence.line())

    def tell(group: Group) -> ToldGroup:
        members = tuple(member(group, each) for each in group.members)
        return ToldGroup(group.survivor, findings.reasons[group.survivor], members)

    return tell


def told_pair(judged: Judged) -> ToldPair:
    """A pair with its verdict; of an update a is the older one."""
    a, b, verdict = judged.a, judged.b, judged.verdict
    if isinstance(verdict, Update) and verdict.newer == "a":
        a, b, verdict = b, a, flipped(verdict)
    evidence = verdict.evidence
    difference = evidence.difference.value if evidence.difference else None
    return ToldPair(a, b, verdict_name(verdict), difference, evidence.similarity, evidence.line())
