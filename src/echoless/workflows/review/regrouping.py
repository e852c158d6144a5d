"""Puts another survivor that a person chose in the place of a group's own one.

Pure: nothing here asks, prints or writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from echoless.blocking.candidates import candidates, open_vectors
from echoless.clustering.assign import fold
from echoless.clustering.grouping import Bonds
from echoless.core.errors import UsageError
from echoless.core.groups import Group, Membership
from echoless.core.model import Judged, Pair
from echoless.core.run_notes import Tally
from echoless.matching.runner import open_judge, verdicts_on
from echoless.workflows.dedupe.findings import Findings

Pairs = AbstractSet[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Regrouped:
    """A group around another survivor.

    Attributes:
        group: The group as it is now.
        left_out: Memories that may not stand behind the new survivor, with the reason.
    """

    group: Group
    left_out: Mapping[str, str]


def regroup(
    findings: Findings,
    group: Group,
    survivor: str,
    *,
    prior: AbstractSet[str] = frozenset(),
    apart: Pairs = frozenset(),
) -> Regrouped:
    """Puts another memory of a group in the survivor's place.

    Every member needs a direct verdict with the new survivor that lets it be hidden (law 3); those
    that have none are left out, and stay visible.

    Args:
        findings: What the group was found in.
        group: The group.
        survivor: A member of it.
        prior: Survivors of earlier runs; they are never hidden.
        apart: Pairs of ids (smaller first) a person decided to keep both of.

    Raises:
        UsageError: It is no member, the present survivor may not be hidden, or nothing would be
            left of the group.
    """
    ids = [group.survivor, *(m.id for m in group.members)]
    if survivor not in ids[1:]:
        raise UsageError(f"{survivor!r} is no other memory of this group: {', '.join(ids[1:])}.")
    if findings.memories[group.survivor].pinned:
        raise UsageError(f"{group.survivor} is pinned and is never hidden; it stays the survivor.")
    if group.survivor in prior:
        raise UsageError(
            f"{group.survivor} is the survivor of an earlier run and is never hidden; undo that "
            "run to choose another."
        )
    known = {frozenset((group.survivor, m.id)): m.judged for m in group.members if m.judged}
    bonds = bonds_among(findings, ids, apart)
    members: list[Membership] = []
    left_out: dict[str, str] = {}
    for id_ in sorted(set(ids) - {survivor}):
        judged = known.get(frozenset((id_, survivor))) or bonds.between(id_, survivor)
        promised = findings.memories[survivor].promise.covers(findings.memories[id_].promise)
        if judged is not None and judged.hides(id_, survivor) and promised:
            members.append(Membership(id_, judged))
        else:
            reason = "has no direct match with" if judged is None else "says more than"
            reason = reason if promised else "stays in force longer than"
            left_out[id_] = f"{reason} {survivor}"
    if not members:
        reasons = "; ".join(f"{id_} {why}" for id_, why in left_out.items())
        raise UsageError(f"Nothing may stand behind {survivor}: {reasons}.")
    return Regrouped(Group(survivor, tuple(members)), left_out)


def bonds_among(findings: Findings, ids: Iterable[str], apart: Pairs = frozenset()) -> Bonds:
    """Judges some memories again, each with each, with the settings they were found by.

    A verifier is not asked again; what it said when they were found still holds.

    Args:
        findings: Holds the memories and the settings.
        ids: Memories of one partition.
        apart: Pairs that have no bond, ever.
    """
    memories = {id_: findings.memories[id_] for id_ in sorted(ids)}
    settings = findings.settings
    tally = Tally()
    read = {id_: findings.as_read(id_) for id_ in memories}
    copies = fold(list(read.values()), settings.profile, frozenset(), apart, tally)
    vectors = open_vectors(settings, tally, lambda *_: None)
    signals = candidates(memories, copies, settings, tally, lambda *_: None, vectors).signals
    judge = open_judge(settings.profile, vectors, tally)
    pairs = [Pair(read[a], read[b], measured) for (a, b), measured in sorted(signals.items())]
    verdicts = verdicts_on(judge, settings.profile, pairs)
    judged = [
        Judged(pair.a.id, pair.b.id, findings.settled.get((pair.a.id, pair.b.id)) or verdict)
        for pair, verdict in zip(pairs, verdicts, strict=True)
    ]
    by_passages = (
        each
        for each in findings.judged
        if each.a in copies and each.b in copies and (each.a, each.b) not in signals
    )
    return Bonds([*judged, *by_passages], copies, apart)
