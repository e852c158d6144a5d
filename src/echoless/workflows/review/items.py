"""What a person or an agent is asked (groups, chains of newer values, pairs), and how far they are.

All are of one type, `ReviewItem`. A review asks about those of `review_items`, the surest first, so
that a person is soon through with them; `pairs.py` offers pairs to an agent. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never, get_args

from echoless.core.groups import Group, Membership, connected, oldest_first
from echoless.core.model import (
    Contradiction,
    Distinct,
    Duplicate,
    Json,
    Judged,
    Memory,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    digest,
    flipped,
    older_and_newer,
    verdict_name,
)
from echoless.core.secrets import uncut
from echoless.core.text import content_key, count, number, token_estimate
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.series import outside, series_of

ItemKind: TypeAlias = Literal["conflict", "newer", "same", "claim", "unsure"]
GroupClass: TypeAlias = Literal["same-text", "same-facts", "other-words", "says-more"]
Advice: TypeAlias = Literal["merge", "look", "keep_both"]
"""What a verdict suggests: both say the same; somebody has to look; both hold."""

State: TypeAlias = Literal["open", "accept", "different", "skip"]
STATES: Final[tuple[State, ...]] = get_args(State)

STATE_TITLES: Final[Mapping[State, str]] = {
    "open": "Open",
    "accept": "Accepted",
    "different": "Both stay",
    "skip": "Skipped",
}
"""Answers in words, in the order of a page."""

ORIGINS: Final[Mapping[str, str]] = {
    "user_authored": "written by a person",
    "verbatim": "copied word for word",
    "extracted": "taken out of a conversation",
    "derived": "derived from others",
}
"""Where a memory came from, in words; of an unknown origin nothing is said."""

KINDS: Final[Mapping[ItemKind, str]] = {
    "newer": "Out of date",
    "conflict": "Conflict",
    "same": "Same",
    "claim": "In notes",
    "unsure": "Unsure",
}
"""Kinds of item with their titles, in the order a review asks about them."""

LINE: Final = "#L"
"""Stands between the id of a note and the line of a claim, in the id of the claim."""

CLASSES: Final[Mapping[GroupClass, str]] = {
    "same-text": "The same text but for case, spaces and signs",
    "same-facts": "The same facts in nearly the same words",
    "other-words": "The same in other words",
    "says-more": "One says more than the others",
}
"""Classes of groups with their titles, surest first. A group is of the class of its least sure
member."""

ADVICE: Final[tuple[Advice, ...]] = get_args(Advice)

SAMPLE: Final = 5
"""Groups of a class that a person decides one by one before the rest can be accepted at once."""

_CLASS_OF_RULE: Final[Mapping[str, GroupClass]] = {
    "same-bytes": "same-text",
    "same-text": "same-text",
    "same-text-after-normalising": "same-text",
    "same-facts": "same-facts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """Memories that are decided about together.

    Attributes:
        key: Digest of the kind, the ids and the texts: equal as long as none of them changes.
        kind: `same` for a group, `newer` for a chain of values, `conflict` for a pair of which only
            one can be true, `claim` for two claims of notes, `unsure` for any other pair.
        group_class: Class of a group; None for other kinds.
        memories: Of a group the survivor first, of a chain the oldest first.
        survivor: The memory that stays if the item is accepted as it is; empty where a person has
            to choose, or where a merge would hide a memory that may not be hidden.
        why: Why that one stays, or why none is proposed, as a clause.
        verdicts: Verdicts between the memories, by the id they are about: of a group the one with
            the survivor, of a chain the one with a newer value, of a pair the one with the other.
    """

    key: str
    kind: ItemKind
    group_class: GroupClass | None = None
    memories: tuple[Memory, ...]
    survivor: str
    why: str
    verdicts: Mapping[str, Judged]

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of all memories, in their order."""
        return tuple(memory.id for memory in self.memories)

    @property
    def others(self) -> tuple[str, ...]:
        """Returns the memories that go if the item is accepted unchanged."""
        return tuple(id_ for id_ in self.ids if id_ != self.survivor)

    @property
    def namespace(self) -> str:
        """Returns the namespace of the memories."""
        return self.memories[0].namespace

    def reason(self, survivor: str) -> str:
        """Returns why one of the memories stays, as a clause for the person who decides."""
        return self.why if survivor == self.survivor else "you chose it"

    def compared_with(self, survivor: str) -> tuple[Memory, ...]:
        """Returns the memory that each one is compared with, in their order.

        Of a chain it is the next value, of others the survivor, or the first one where a person has
        to choose. The survivor of a larger group is compared with none: with itself.
        """
        memories = self.memories
        if self.kind == "newer":
            return (*memories[1:], memories[-2])
        chosen = next((m for m in memories if m.id == survivor), memories[0])
        other = next(m for m in memories if m is not chosen) if len(memories) == 2 else chosen
        return tuple(other if m is chosen else chosen for m in memories)

    def behind(self, survivor: str) -> Group:
        """Returns all other memories behind one of them, with the verdicts there are."""
        others = (id_ for id_ in self.ids if id_ != survivor)
        return Group(survivor, tuple(Membership(id_, self.verdicts.get(id_)) for id_ in others))

    def as_asked(self, state: State) -> dict[str, Json]:
        """Returns the item as in `echoless review --list --json`.

        Args:
            state: The answer it has, or `open`.
        """
        judged = {frozenset((each.a, each.b)): each for each in self.verdicts.values()}
        return {
            "key": self.key,
            "kind": self.kind,
            "class": self.group_class,
            "state": state,
            "namespace": self.namespace,
            "ids": list(self.ids),
            "texts": [memory.content for memory in self.memories],
            "survivor": self.survivor or None,
            "why": self.why,
            "verdicts": [
                {
                    "a": each.a,
                    "b": each.b,
                    "verdict": verdict_name(each.verdict),
                    "similarity": each.verdict.evidence.similarity,
                    "evidence": each.verdict.evidence.line(),
                }
                for each in judged.values()
            ],
        }


class Offer(ReviewItem):
    """Two memories that may say the same, as `memory_consolidate` offers them to an agent."""

    __slots__ = ()

    @property
    def a(self) -> Memory:
        """Returns the memory that is shown first.

        With a window it is the recent one, of two recent ones the more recent, then the one with
        the smaller id; else always the one with the smaller id.
        """
        return self.memories[0]

    @property
    def b(self) -> Memory:
        """Returns the other memory."""
        return self.memories[1]

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict of the judge, with a on side a."""
        judged = self.verdicts[self.a.id]
        return judged.verdict if judged.a == self.a.id else flipped(judged.verdict)

    @property
    def advice(self) -> Advice:
        """Returns what follows from the verdict."""
        return advice_on(self.verdict)

    @property
    def similarity(self) -> float:
        """Returns the similarity, 0 to 1, by the detector that saw them closest."""
        return self.verdict.evidence.similarity

    @property
    def how(self) -> str:
        """Returns the name of that detector."""
        return self.verdict.evidence.how

    @property
    def keep(self) -> str | None:
        """Returns the id of the suggested survivor; None if a protected memory would be hidden."""
        return self.survivor or None

    @property
    def remove(self) -> str | None:
        """Returns the one a merge had better hide, or None."""
        return self.others[0] if self.survivor else None

    def to_json(self, *, characters: int | None = None) -> dict[str, Json]:
        """Returns the offer as in the answer of `memory_consolidate`.

        Args:
            characters: Cut both texts to so many, never inside a secret; whole texts by default.
        """
        verdict, evidence = self.verdict, self.verdict.evidence
        text_a, text_b = (
            m.content if characters is None else m.content[: uncut(m.content, characters)]
            for m in self.memories
        )
        merge: Json = {"keep": self.keep, "remove": self.remove, "why": self.why}
        return {
            "a": self.a.id,
            "b": self.b.id,
            "text_a": text_a,
            "text_b": text_b,
            "namespace": self.namespace,
            "similarity": self.similarity,
            "chance": evidence.chance,
            "how": self.how,
            "verdict": verdict_name(verdict),
            "evidence": evidence.line(),
            "difference": evidence.difference.value if evidence.difference else None,
            "superset": verdict.superset if isinstance(verdict, Subsumes) else None,
            "newer": verdict.newer if isinstance(verdict, Update) else None,
            "advice": self.advice,
            "merge": merge if self.survivor else None,
            "no_merge": None if self.survivor else self.why,
        }


def offer(one: Memory, other: Memory, judged: Judged, survivor: str = "", why: str = "") -> Offer:
    """Returns the item of a pair.

    Args:
        one: Memory that is shown first.
        other: Memory that is shown second.
        judged: The verdict on both.
        survivor: The memory that is proposed to stay; empty where none is.
        why: Why that one stays, or why none may, as a clause.
    """
    return Offer(
        key=item_key("unsure", [one, other]),
        kind="conflict" if isinstance(judged.verdict, Contradiction) else "unsure",
        memories=(one, other),
        survivor=survivor,
        why=why,
        verdicts={one.id: judged, other.id: judged},
    )


def advice_on(verdict: Verdict) -> Advice:
    """Returns what a verdict suggests to do."""
    match verdict:
        case Duplicate() | Subsumes():
            return "merge"
        case Sibling() | Related() | Distinct():
            return "keep_both"
        case Update() | Contradiction() | Unsure():
            return "look"
        case _:
            assert_never(verdict)


def item_key(kind: str, memories: Iterable[Memory]) -> str:
    """Returns the key of an item: it changes with a text of its memories.

    A pair keeps its key, and so its answer, if it becomes a conflict; a claim if its line moves.
    """
    kind = "unsure" if kind == "conflict" else kind
    name = note_id if kind == "claim" else str
    named = ([name(memory.id), content_key(memory.content)] for memory in memories)
    return digest([kind, sorted(named)])


def note_id(claim: str) -> str:
    """Returns the id of the note of a claim, by the id of the claim."""
    return claim.rpartition(LINE)[0]


# ------------------------------------------------------------------ all items of a store


def review_items(findings: Findings, claims: Iterable[ReviewItem] = ()) -> tuple[ReviewItem, ...]:
    """Returns everything a person can decide about, by kind, surest first.

    Memories that would go behind the survivor of a group are not asked about a second time: pairs
    of them are taken for pairs of their survivors. Series (one sentence with other figures) are
    left out, as in an audit.

    Args:
        findings: What was found.
        claims: Items of claims, from `claims.claim_items`.
    """
    behind = {m.id: group.survivor for group in findings.groups for m in group.members}
    series = series_of(findings.held, findings.memories, labels=False)
    apart = outside(findings.held, series)
    updates = [pair for pair in apart if isinstance(pair.verdict, Update)]
    others = [pair for pair in apart if not isinstance(pair.verdict, Update)]
    groups = sorted(findings.groups, key=lambda group: _surest(findings, group))
    memories, separate = findings.memories, findings.apart
    chains = sorted(connected(_between(updates, behind, separate)), key=_closest)
    pairs = _between(others, behind, separate)
    pairs.sort(key=lambda pair: (-_certainty(pair), pair.a, pair.b))
    items = (
        *(_chain_item(findings, each) for each in chains),
        *_sampled([_group_item(findings, group) for group in groups]),
        *(offer(memories[pair.a], memories[pair.b], pair) for pair in pairs),
        *claims,
    )
    return tuple(sorted(items, key=lambda item: list(KINDS).index(item.kind)))


def pairs_note(findings: Findings, items: Iterable[ReviewItem]) -> str:
    """Returns why a review asks about fewer pairs than look alike; empty where it asks about all.

    Args:
        findings: What was found.
        items: From `review_items`.
    """
    asked = sum(len(item.ids) - 1 for item in items if item.kind not in {"same", "claim"})
    left = len(findings.held) - asked
    if left < 1:
        return ""
    return (
        f"Pairs that look alike and stay apart: {number(len(findings.held))}, asked about: "
        f"{number(asked)}. The others are between members of one group or chain, which is asked "
        "about once, or in a series of figures."
    )


def sample_of(items: Sequence[ReviewItem]) -> tuple[ReviewItem, ...]:
    """Returns items spread evenly from the first to the last, at most `SAMPLE`.

    Args:
        items: Of one class, surest first: the sample has the surest and the least sure one.
    """
    if len(items) <= SAMPLE:
        return tuple(items)
    last = len(items) - 1
    return tuple(items[round(at * last / (SAMPLE - 1))] for at in range(SAMPLE))


def _sampled(groups: Sequence[ReviewItem]) -> Iterator[ReviewItem]:
    """Yields groups class by class, the sample of each class before its rest."""
    for name in CLASSES:
        own = [item for item in groups if item.group_class == name]
        sample = sample_of(own)
        keys = {item.key for item in sample}
        yield from sample
        yield from (item for item in own if item.key not in keys)


def _between(
    pairs: Iterable[Judged], behind: Mapping[str, str], separate: AbstractSet[tuple[str, str]]
) -> list[Judged]:
    """Returns one pair for each two groups or memories, by ids.

    Args:
        pairs: Any.
        behind: Survivor of each memory that would be hidden.
        separate: Pairs that are kept apart, smaller id first, which are left out.

    Returns:
        A pair of two survivors where there is one, else the closest.
    """
    best: dict[tuple[str, str], Judged] = {}
    for pair in pairs:
        one, other = behind.get(pair.a, pair.a), behind.get(pair.b, pair.b)
        ends = min(one, other), max(one, other)
        if one == other or ends in separate:
            continue
        known = best.get(ends)
        if known is None or _nearness(pair, ends) > _nearness(known, ends):
            best[ends] = pair
    return [best[ends] for ends in sorted(best)]


def _nearness(pair: Judged, ends: tuple[str, str]) -> tuple[bool, float, str, str]:
    """Returns a sorting key: pairs of the ends themselves are nearest, then the most similar."""
    return (pair.a, pair.b) == ends, pair.verdict.evidence.similarity, pair.a, pair.b


# ------------------------------------------------------------------ groups


def _group_item(findings: Findings, group: Group) -> ReviewItem:
    """Returns the item of a group."""
    ids = (group.survivor, *(member.id for member in group.members))
    memories = tuple(findings.memories[id_] for id_ in ids)
    judged = [member.judged for member in group.members]
    rules = (
        (verdict_name(j.verdict), j.verdict.evidence.rule) if j else (None, "") for j in judged
    )
    return ReviewItem(
        key=item_key("same", memories),
        kind="same",
        group_class=class_of(rules),
        memories=memories,
        survivor=group.survivor,
        why=findings.reasons[group.survivor],
        verdicts={member.id: member.judged for member in group.members if member.judged},
    )


def class_of(members: Iterable[tuple[str | None, str | None]]) -> GroupClass:
    """Returns the class of a group: that of its least sure member.

    Args:
        members: Verdict and rule of each; no verdict for one that a chain joined.
    """
    classes = [
        "says-more" if verdict in {None, "subsumes"} else _CLASS_OF_RULE.get(rule or "")
        for verdict, rule in members
    ]
    return max((each or "other-words" for each in classes), key=list(CLASSES).index)


def _surest(findings: Findings, group: Group) -> tuple[float, int, str]:
    """Returns a sorting key: the surest groups first, then those that save the most tokens."""
    tokens = sum(token_estimate(findings.memories[m.id].content) for m in group.members)
    return -min(_certainty(m.judged) for m in group.members), -tokens, group.survivor


def _certainty(judged: Judged | None) -> float:
    """Returns the probability of a verdict; its similarity where the model was not asked."""
    if judged is None:
        return 0.0
    evidence = judged.verdict.evidence
    return evidence.similarity if evidence.chance is None else evidence.chance


# ------------------------------------------------------------------ chains of values


def _chain_item(findings: Findings, pairs: Sequence[Judged]) -> ReviewItem:
    """Returns the item of a chain of values."""
    ids = oldest_first(map(older_and_newer, pairs), findings.memories)
    memories, newest = tuple(findings.memories[id_] for id_ in ids), ids[-1]
    newest_last = sorted(pairs, key=lambda pair: newest in {pair.a, pair.b})
    verdicts = {older_and_newer(pair)[0]: pair for pair in newest_last}
    return ReviewItem(
        key=item_key("newer", memories),
        kind="newer",
        memories=memories,
        survivor=newest,
        why="the newest value",
        verdicts={id_: verdicts[id_] for id_ in ids[:-1] if id_ in verdicts},
    )


def _closest(pairs: Sequence[Judged]) -> tuple[float, int, str]:
    """Returns a sorting key: chains of the closest texts first, then those of the most values."""
    ids = {id_ for pair in pairs for id_ in (pair.a, pair.b)}
    return -min(pair.verdict.evidence.similarity for pair in pairs), -len(ids), min(ids)


def facts_of(memory: Memory) -> tuple[str, ...]:
    """Returns what is known about a memory besides text, date and namespace, in words."""
    importance = memory.importance
    parts = (
        "" if memory.type == "unknown" else memory.type,
        ", ".join(memory.tags),
        ORIGINS.get(memory.provenance, ""),
        f"importance {importance:g}" if importance is not None else "",
        f"recalled {count(memory.access_count, 'time')}" if memory.access_count else "",
    )
    return tuple(part for part in parts if part)


# ------------------------------------------------------------------ which are shown, how far


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which items are shown.

    Attributes:
        kind: Of the items.
        words: Each has to be in the text or the id of one memory, in any case.
        namespace: Only this one; all if None.
        group_class: Only groups of this class; all if None.
        state: Only items without an answer (`open`), or with this one; all if None.
    """

    kind: ItemKind = "same"
    words: str = ""
    namespace: str | None = None
    group_class: GroupClass | None = None
    state: State | None = None


@dataclass(frozen=True, slots=True)
class ClassState:
    """How far a person is with a class of groups.

    Attributes:
        group_class: The class.
        total: Groups of it.
        open: Those without an answer.
    """

    group_class: GroupClass
    total: int
    open: int

    @property
    def sample_left(self) -> int:
        """Returns how many groups have to be answered before the rest can be accepted at once."""
        return max(0, min(SAMPLE, self.total) - (self.total - self.open))
