"""Groups of similar entries, found with the settings of the cleanup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from echoless.core.groups import Group
from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.profiles import SLIDING_CONTEXT, Profile
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.integrations.sliding_context.arguments import SIMILARITY
from echoless.stores.lancedb.rows import in_order
from echoless.workflows.dedupe.pipeline import groups_among

if TYPE_CHECKING:
    from echoless.blocking.vector_join import exact_join
else:
    exact_join = lazy_module("echoless.blocking.vector_join.exact_join")


def cosine_similarity(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Returns the cosine of two vectors, rounded to six decimals.

    Returns:
        -1 to 1; None where they cannot be compared: another length, zero, or not finite.
    """
    return exact_join.cosine(one, other)


def cleanup_settings(
    similarity: float = SIMILARITY, *, across_sessions: bool = False, guards: bool = False
) -> Settings:
    """Returns the settings with which a cleanup finds groups.

    The profile of that name holds pairs whose figures differ, because the common commands drop the
    text of a duplicate. A cleanup merges the texts and checks the result, so it trusts the cosine
    and begins its groups with the oldest entry.

    Args:
        similarity: Cosine above which entries are alike; itself does not count.
        across_sessions: Whether session type and channel are ignored.
        guards: Whether pairs are held whose figures or denials differ.
    """
    profile: Profile = replace(
        SLIDING_CONTEXT,
        detectors=tuple(replace(d, threshold=similarity) for d in SLIDING_CONTEXT.detectors),
        judge="guards" if guards else "bare",
        centre="oldest",
        partition=() if across_sessions else SLIDING_CONTEXT.partition,
    )
    return Settings(profile=profile, encoder=profile.encoder)


def group_similar(
    entries: Sequence[Memory],
    threshold: float = SIMILARITY,
    *,
    across_sessions: bool = False,
    guards: bool = False,
    tally: Tally | None = None,
) -> list[list[Memory]]:
    """Returns groups of similar entries, each group begun by its oldest.

    By time, then id, each entry that is in no group yet takes all later ones whose cosine with it
    is above the threshold.

    Args:
        entries: Memories with a stored vector.
        threshold: Above 0 and below 1, strict.
        across_sessions: Whether session type and channel are ignored.
        guards: Whether pairs are held whose figures or denials differ.
        tally: Takes entries that cannot be compared.

    Returns:
        Groups of at least two, oldest entry first, by their oldest entry.
    """
    settings = cleanup_settings(threshold, across_sessions=across_sessions, guards=guards)
    by_id = {entry.id: entry for entry in entries}
    groups = groups_among(entries, settings, tally)
    return [members_of(group, by_id) for group in in_turn(groups, by_id)]


def members_of(group: Group, entries: Mapping[str, Memory]) -> list[Memory]:
    """Returns the entries of a group, oldest first."""
    ids = (group.survivor, *(m.id for m in group.members))
    return sorted((entries[id_] for id_ in ids), key=in_order)


def in_turn(groups: Sequence[Group], entries: Mapping[str, Memory]) -> list[Group]:
    """Returns groups in the order of their oldest entries."""
    return sorted(groups, key=lambda group: in_order(members_of(group, entries)[0]))
