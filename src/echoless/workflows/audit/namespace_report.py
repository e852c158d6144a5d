"""The page of an audit about one namespace.

Memories of two namespaces never meet, so a page hangs on what is in its own, and on what people and
earlier runs decided about that.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Final, TypeVar

from echoless.core.groups import Group, Membership
from echoless.core.model import Judged, Memory, Related, Sibling, Update, flipped, verdict_name
from echoless.core.overlaps import Overlap
from echoless.core.text import is_blank, token_estimate
from echoless.core.timestamps import spelled
from echoless.core.verdict_sentences import sentence
from echoless.workflows.audit.staleness import Sign, signs_of
from echoless.workflows.dedupe.findings import Findings, Part, held, measure, spared_note
from echoless.workflows.dedupe.series import Series, outside, series_of

HELD_KINDS: Final = ("update", "contradiction", "unsure", "sibling")
"""Verdicts of pairs that are held, worst first."""
NEAR: Final = 0.62
"""Similarity, inclusive, from which a pair about one topic is told though nothing need be done.

Of 12 such pairs of 67 notes ten were what a person wanted to see."""

DIGEST: Final = 8
"""Characters of the digest of a text, six bits each: a million texts seldom have two in common."""

MOST_NEAR: Final = 100
"""Such pairs of a namespace that are listed, the closest. Of 10,000 sentences on few topics there
were more of them than of all other pairs; a page shows 20, a terminal 3."""

_Item = TypeVar("_Item")


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
        """Returns redundant over total, 0 to 1."""
        return self.redundant / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class ReportedMember:
    """A memory of a group, as reported.

    Attributes:
        id: The memory.
        verdict: Its direct verdict with the survivor; None in a transitive group without one.
        similarity: Their similarity, 0 to 1; None where nothing measured it.
        evidence: Why, in one line; None without a verdict.
        rule: Short name of the rule that decided, such as `same-text`; None without a verdict.
        chance: Probability that both state the same, 0 to 1; None where it was not asked.
        sentence: The verdict as a clause for a person; empty without one.
    """

    id: str
    verdict: str | None
    similarity: float | None
    evidence: str | None
    rule: str | None = None
    chance: float | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ReportedGroup:
    """A group of memories with one meaning, for the report.

    Attributes:
        survivor: The memory that would stay visible.
        why: Reason for this survivor.
        members: The others, by id.
    """

    survivor: str
    why: str
    members: tuple[ReportedMember, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of all its memories, the survivor first."""
        return (self.survivor, *(member.id for member in self.members))


@dataclass(frozen=True, slots=True)
class ReportedPair:
    """Two memories that look alike and stay apart, as reported.

    Attributes:
        a: One memory; of an update the older one.
        b: The other.
        verdict: One of `HELD_KINDS`, or `subsumes`.
        difference: The first named difference, if there is one.
        similarity: 0 to 1.
        evidence: Why, in one line.
        chance: Probability that both state the same, 0 to 1; None where it was not asked.
        sentence: The verdict as a clause for a person.
    """

    a: str
    b: str
    verdict: str
    difference: str | None
    similarity: float
    evidence: str
    chance: float | None = None
    sentence: str = ""

    @property
    def ids(self) -> tuple[str, str]:
        """Returns both ids, smaller first."""
        return (self.a, self.b) if self.a < self.b else (self.b, self.a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The findings of an audit in one namespace.

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
        unasked: Pairs that the pair model was not asked about because of the budget.
        spared: Pairs not judged because one of the two was already hidden behind another memory.
        skipped: Ids by the reason why they were left out, both sorted.
        notes: Sentences about the work in this namespace.
        general: Sentences about the run that any run like it would tell.
        overlaps: Notes that stay apart though most of one is in the other, by ids.
        near: Pairs of one topic with other facts, from `NEAR` on, the closest first; none is held.
        near_left_out: How many more of them there are.
        signs: What in its memories may be stale, whatever the day; see `staleness.stale`.
        digests: Of the text of each memory that a plan leaves visible, `DIGEST` characters each.
    """

    namespace: str
    total: int
    marked: int
    tokens: int
    wasted_tokens: int
    months: Mapping[str, Share]
    groups: tuple[ReportedGroup, ...]
    held: tuple[ReportedPair, ...]
    series: tuple[Series, ...]
    verdicts: Mapping[str, int]
    left_out: int
    unasked: int
    spared: int
    skipped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    general: tuple[str, ...]
    overlaps: tuple[Overlap, ...] = ()
    near: tuple[ReportedPair, ...] = ()
    near_left_out: int = 0
    signs: tuple[Sign, ...] = ()
    digests: str = ""

    @property
    def share(self) -> Share:
        """Returns the repetition in the namespace."""
        return Share(self.total - self.marked, sum(len(group.members) for group in self.groups))


def pages_of(findings: Findings) -> Iterator[Page]:
    """Yields one page for each namespace with memories in scope, by name."""
    by_id = findings.memories
    memories = _by_key(by_id.values(), lambda memory: memory.namespace)
    groups = _by_key(findings.groups, lambda group: by_id[group.survivor].namespace)
    judged = _by_key(findings.judged, lambda pair: by_id[pair.a].namespace)
    overlaps = _by_key(findings.overlaps, lambda overlap: by_id[overlap.a].namespace)
    skipped = _skipped(findings)
    own = {note for part in findings.parts.values() for note in part.notes}
    own.add(spared_note(sum(part.spared for part in findings.parts.values())))
    general = tuple(note for note in findings.tally.lasting if note not in own)
    tell = group_reporter(findings)
    for name in sorted(memories):
        part = findings.parts.get(name, Part())
        visible = [m for m in memories[name] if m.id not in findings.marked]
        copies = {member.id for group in groups.get(name, ()) for member in group.members}
        pairs = judged.get(name, [])
        hidden = copies | findings.marked.keys()
        apart = [pair for pair in pairs if held(pair.verdict)]
        series = series_of(apart, by_id)
        near = [pair for pair in pairs if _is_near(pair, hidden)]
        closest = nsmallest(
            MOST_NEAR, near, key=lambda pair: (-pair.verdict.evidence.similarity, pair.a, pair.b)
        )
        yield Page(
            namespace=name,
            total=len(memories[name]),
            marked=len(memories[name]) - len(visible),
            tokens=sum(token_estimate(m.content) for m in visible),
            wasted_tokens=sum(token_estimate(m.content) for m in visible if m.id in copies),
            months=_months(visible, copies),
            groups=tuple(tell(group) for group in groups.get(name, ())),
            held=tuple(map(reported_pair, outside(apart, series))),
            series=tuple(series),
            verdicts=Counter(verdict_name(pair.verdict) for pair in pairs),
            left_out=part.left_out,
            unasked=part.unasked,
            spared=part.spared,
            skipped=skipped.get(name, {}),
            notes=part.notes,
            general=general,
            overlaps=tuple(overlaps.get(name, ())),
            near=tuple(map(reported_pair, closest)),
            near_left_out=len(near) - len(closest),
            signs=tuple(signs_of(visible)),
            digests=_digests(findings.as_read(m.id).content for m in visible if m.id not in copies),
        )


def _digests(texts: Iterable[str]) -> str:
    """Returns the digests of texts that say something, in the order of the digests."""
    raw = (text.encode("utf-8", "surrogatepass") for text in texts if not is_blank(text))
    each = (blake2b(text, digest_size=DIGEST * 6 // 8).digest() for text in raw)
    return b64encode(b"".join(sorted(each))).decode()


def _is_near(judged: Judged, hidden: AbstractSet[str]) -> bool:
    """Returns whether a pair is of one topic, and neither is a copy of another memory."""
    verdict = judged.verdict
    alike = isinstance(verdict, Related | Sibling) and verdict.evidence.similarity >= NEAR
    return alike and not held(verdict) and hidden.isdisjoint((judged.a, judged.b))


def _by_key(items: Iterable[_Item], key: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    """Returns items by their key, in their order."""
    by_key: dict[str, list[_Item]] = {}
    for item in items:
        by_key.setdefault(key(item), []).append(item)
    return by_key


def _skipped(findings: Findings) -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns skipped ids of memories in scope, by namespace and reason."""
    skipped: dict[str, dict[str, list[str]]] = {}
    for reason, ids in findings.tally.skipped.items():
        for id_ in ids:
            if memory := findings.memories.get(id_):
                skipped.setdefault(memory.namespace, {}).setdefault(reason, []).append(id_)
    return {name: {r: tuple(ids) for r, ids in own.items()} for name, own in skipped.items()}


def _months(visible: Iterable[Memory], copies: set[str]) -> dict[str, Share]:
    """Returns the share of each month of creation, months sorted."""
    total: Counter[str] = Counter()
    redundant: Counter[str] = Counter()
    for memory in visible:
        text = spelled(memory.created_at)
        is_date = len(text) >= 7 and text[:4].isdecimal() and text[4] == "-"
        month = text[:7] if is_date else "unknown"
        total[month] += 1
        redundant[month] += memory.id in copies
    return {month: Share(total[month], redundant[month]) for month in sorted(total)}


def group_reporter(findings: Findings) -> Callable[[Group], ReportedGroup]:
    """Returns a function that turns groups of these findings into reported groups."""
    measured = measure(findings)

    def member(group: Group, each: Membership) -> ReportedMember:
        if each.judged is None:
            similarity = measured(each.id, group.survivor) if measured else None
            return ReportedMember(each.id, None, similarity, None)
        verdict = each.judged.verdict
        evidence = verdict.evidence
        return ReportedMember(
            each.id,
            verdict_name(verdict),
            evidence.similarity,
            evidence.line(),
            evidence.rule,
            evidence.chance,
            sentence(verdict, each.judged.a, each.judged.b),
        )

    def tell(group: Group) -> ReportedGroup:
        members = tuple(member(group, each) for each in group.members)
        return ReportedGroup(group.survivor, findings.reasons[group.survivor], members)

    return tell


def reported_pair(judged: Judged) -> ReportedPair:
    """Returns a pair as reported; of an update a is the older one."""
    a, b, verdict = judged.a, judged.b, judged.verdict
    if isinstance(verdict, Update) and verdict.newer == "a":
        a, b, verdict = b, a, flipped(verdict)
    evidence = verdict.evidence
    difference = evidence.difference.value if evidence.difference else None
    return ReportedPair(
        a=a,
        b=b,
        verdict=verdict_name(verdict),
        difference=difference,
        similarity=evidence.similarity,
        evidence=evidence.line(),
        chance=evidence.chance,
        sentence=sentence(verdict, a, b),
    )
