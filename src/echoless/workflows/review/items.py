"""What a person is asked in a review: groups, chains of newer values, and unsure pairs.

Pure but for `all_items`, which reads the store. Items that are most surely right come first, so
that a person is soon through with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from echoless.core.connected_pairs import connected, oldest_first
from echoless.core.groups import Group
from echoless.core.model import Judged, Memory, Update, digest, verdict_name
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.text import content_key, token_estimate
from echoless.stores.base import Store
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.dedupe.series import outside, series_of

ItemKind: TypeAlias = Literal["same", "newer", "unsure"]
GroupClass: TypeAlias = Literal["same-text", "same-facts", "other-words", "says-more"]

KINDS: Final[Mapping[ItemKind, str]] = {
    "same": "Same",
    "newer": "Newer value",
    "unsure": "Unsure",
}
"""Kinds of item with their titles, in the order a review shows them."""

CLASSES: Final[Mapping[GroupClass, str]] = {
    "same-text": "The same text but for case, spaces and signs",
    "same-facts": "The same facts in nearly the same words",
    "other-words": "The same in other words",
    "says-more": "One says more than the others",
}
"""Classes of groups with their titles, surest first. A group is of the class of its least sure
member."""

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
    """Memories a person decides about together.

    Attributes:
        key: Digest of the kind, the ids and the texts: equal as long as none of them changes.
        kind: `same` for a group, `newer` for a chain of values, `unsure` for a pair.
        group_class: Class of a group; None for other kinds.
        ids: All memories. Of a group the survivor first, of a chain the oldest first.
        survivor: The memory that stays if the item is accepted as it is; of an unsure pair empty,
            as a person has to choose.
        why: Reason for the survivor, as a clause.
        verdicts: Verdicts between the memories, by the id they are about: of a group the one with
            the survivor, of a chain the one with a newer value, of a pair the one with the other.
        certainty: Of the least sure memory, 0 to 1.
        tokens: Estimated tokens that recall saves if the item is accepted.
        namespace: That of the memories.
        group: Of kind `same`: the group as found.
    """

    key: str
    kind: ItemKind
    group_class: GroupClass | None
    ids: tuple[str, ...]
    survivor: str
    why: str
    verdicts: Mapping[str, Judged]
    certainty: float
    tokens: int
    namespace: str
    group: Group | None = field(default=None, repr=False)

    @property
    def others(self) -> tuple[str, ...]:
        """Returns the memories that go if the item is accepted unchanged."""
        return tuple(id_ for id_ in self.ids if id_ != self.survivor)


Reviewed: TypeAlias = tuple[Findings, tuple[ReviewItem, ...]]
"""What a review is about: the findings in a store, and the items made of them."""

Source: TypeAlias = Callable[[Store, Settings, Progress | None], Reviewed]


def all_items(store: Store, settings: Settings, progress: Progress | None) -> Reviewed:
    """Returns all groups, newer values and unsure pairs of a store."""
    findings = find(store, settings, progress=progress)
    return findings, review_items(findings)


def review_items(findings: Findings) -> tuple[ReviewItem, ...]:
    """Returns everything a person can decide about, by kind, surest first.

    Memories that would go behind the survivor of a group are not asked about a second time: pairs
    of them are taken for pairs of their survivors. Series (one sentence with other figures) are
    left out, as in an audit.
    """
    behind = {m.id: group.survivor for group in findings.groups for m in group.members}
    series = series_of(findings.held, findings.memories, labels=False)
    apart = outside(findings.held, series)
    updates = [pair for pair in apart if isinstance(pair.verdict, Update)]
    others = [pair for pair in apart if not isinstance(pair.verdict, Update)]
    groups = sorted(
        (_group_item(findings, group) for group in findings.groups),
        key=lambda item: (-item.certainty, -item.tokens, item.survivor),
    )
    chains = sorted(
        (_chain_item(findings, pairs) for pairs in connected(_between(updates, behind))),
        key=lambda item: (-item.certainty, -len(item.ids), item.survivor),
    )
    pairs = sorted(
        (
            pair_item(findings.memories[pair.a], findings.memories[pair.b], pair)
            for pair in _between(others, behind)
        ),
        key=lambda item: (-item.certainty, item.ids),
    )
    return (*_sampled(groups), *chains, *pairs)


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


def item_key(kind: str, memories: Iterable[Memory]) -> str:
    """Returns the key of an item: it changes with a text of its memories."""
    return digest([kind, sorted([memory.id, content_key(memory.content)] for memory in memories)])


# ------------------------------------------------------------------ groups


def _group_item(findings: Findings, group: Group) -> ReviewItem:
    """Returns the item of a group."""
    memories = findings.memories
    members = [memories[member.id] for member in group.members]
    judged = [member.judged for member in group.members]
    rules = (
        (verdict_name(j.verdict), j.verdict.evidence.rule) if j else (None, "") for j in judged
    )
    return ReviewItem(
        key=item_key("same", [memories[group.survivor], *members]),
        kind="same",
        group_class=class_of(rules),
        ids=(group.survivor, *(member.id for member in group.members)),
        survivor=group.survivor,
        why=findings.reasons[group.survivor],
        verdicts={member.id: member.judged for member in group.members if member.judged},
        certainty=min(certainty_of(member.judged) for member in group.members),
        tokens=sum(token_estimate(memory.content) for memory in members),
        namespace=memories[group.survivor].namespace,
        group=group,
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


def certainty_of(judged: Judged | None) -> float:
    """Returns the probability of a verdict; its similarity where the model was not asked."""
    if judged is None:
        return 0.0
    evidence = judged.verdict.evidence
    return evidence.similarity if evidence.chance is None else evidence.chance


# ------------------------------------------------------------------ pairs that stay apart


def _between(pairs: Iterable[Judged], behind: Mapping[str, str]) -> list[Judged]:
    """Returns one pair for each two groups or memories, by ids.

    Args:
        pairs: Any.
        behind: Survivor of each memory that would be hidden.

    Returns:
        A pair of two survivors where there is one, else the closest.
    """
    best: dict[tuple[str, str], Judged] = {}
    for pair in pairs:
        ends = sorted((behind.get(pair.a, pair.a), behind.get(pair.b, pair.b)))
        known = best.get((ends[0], ends[1]))
        if ends[0] != ends[1] and (known is None or _nearness(pair, ends) > _nearness(known, ends)):
            best[ends[0], ends[1]] = pair
    return [best[ends] for ends in sorted(best)]


def _nearness(pair: Judged, ends: Sequence[str]) -> tuple[bool, float, str, str]:
    """Returns a sorting key: pairs of the ends themselves are nearest, then the most similar."""
    return [pair.a, pair.b] == ends, pair.verdict.evidence.similarity, pair.a, pair.b


def pair_item(
    one: Memory, other: Memory, judged: Judged, *, survivor: str = "", why: str = ""
) -> ReviewItem:
    """Returns the item of an unsure pair.

    Args:
        one: Memory that is shown first.
        other: Memory that is shown second.
        judged: The verdict on both.
        survivor: The memory that is proposed to stay; empty where a person has to choose.
        why: Reason for the survivor, as a clause.
    """
    return ReviewItem(
        key=item_key("unsure", [one, other]),
        kind="unsure",
        group_class=None,
        ids=(one.id, other.id),
        survivor=survivor,
        why=why,
        verdicts={one.id: judged, other.id: judged},
        certainty=certainty_of(judged),
        tokens=min(token_estimate(one.content), token_estimate(other.content)),
        namespace=one.namespace,
    )


# ------------------------------------------------------------------ chains of values


def _chain_item(findings: Findings, pairs: Sequence[Judged]) -> ReviewItem:
    """Returns the item of a chain of values."""
    memories = findings.memories
    ids = oldest_first(map(older_and_newer, pairs), memories)
    newest = ids[-1]
    newest_last = sorted(pairs, key=lambda pair: newest in {pair.a, pair.b})
    verdicts = {older_and_newer(pair)[0]: pair for pair in newest_last}
    older_ids = ids[:-1]
    return ReviewItem(
        key=item_key("newer", [memories[id_] for id_ in ids]),
        kind="newer",
        group_class=None,
        ids=ids,
        survivor=newest,
        why="the newest value",
        verdicts={id_: verdicts[id_] for id_ in older_ids if id_ in verdicts},
        certainty=min(pair.verdict.evidence.similarity for pair in pairs),
        tokens=sum(token_estimate(memories[id_].content) for id_ in older_ids),
        namespace=memories[newest].namespace,
    )


def older_and_newer(pair: Judged) -> tuple[str, str]:
    """Returns the ids of the older and the newer memory of an update."""
    assert isinstance(pair.verdict, Update)
    return (pair.b, pair.a) if pair.verdict.newer == "a" else (pair.a, pair.b)
