"""Folds equal texts into classes, so that each text is judged once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.core.text import loose
from echoless.core.text_facts_cache import Readings
from echoless.core.timestamps import instant
from echoless.core.versions import edition
from echoless.matching.fields import limits

if TYPE_CHECKING:
    from echoless.matching import facts
else:
    facts = lazy_module("echoless.matching.facts")  # it brings in the lexicons

READ_FOR_DAYS: Final = 2_000
"""Characters up to which identical texts are read for days told from the day of writing."""

DAY: Final = 86_400 * 10**9
"""Nanoseconds."""

PRIOR_SURVIVOR: Final = "survivor of an earlier run"
KEPT_SURVIVOR: Final = f"{PRIOR_SURVIVOR}, kept visible"
PINNED: Final = "pinned"

Classes: TypeAlias = Mapping[tuple[object, ...], Sequence[Memory]]
"""Memories by partition, text and, where vectors count, vector: one key for a class of copies."""


def folded(
    memories: Iterable[Memory], profile: Profile, readings: Readings
) -> dict[str, tuple[str, ...]]:
    """Returns classes of identical texts of one partition, by the smallest id of the class.

    To a judge that reads, `the demo is tomorrow` of two days are two texts. Where stored vectors
    alone decide, one text with two vectors, or with none, is not one class.

    Args:
        memories: Each id once.
        profile: Names the partition, and whether days and vectors count.
        readings: What was read of texts in earlier runs.
    """
    classes: dict[tuple[object, ...], list[Memory]] = {}
    for memory in memories:
        seen: tuple[object, ...] = (memory.content, limits(memory))
        if profile.encoder == "stored":
            comparable = any(vector.data.strip(b"\0") for vector in memory.vectors)
            seen = (*seen, memory.vectors if comparable else memory.id)
        classes.setdefault((*profile.scope_of(memory), *seen), []).append(memory)
    by_day = _split_by_day(classes, readings) if profile.judge == "full" else {}
    copies: dict[str, tuple[str, ...]] = {}
    for key, same in classes.items():
        for ids in by_day.get(key) or [[memory.id for memory in same]]:
            copies[min(ids)] = tuple(sorted(ids))
    return copies


def _split_by_day(
    classes: Classes, readings: Readings
) -> dict[tuple[object, ...], list[list[str]]]:
    """Returns ids by day of writing, for classes whose text names a day relative to it."""
    by_day: dict[tuple[object, ...], list[list[str]]] = {}
    for key, same in classes.items():
        if len(same) == 1 or len(same[0].content) > READ_FOR_DAYS:
            continue
        days: dict[int | None, list[str]] = {}
        for memory in same:
            moment = instant(memory.created_at)
            days.setdefault(None if moment is None else moment // DAY, []).append(memory.id)
        if len(days) > 1:
            by_day[key] = list(days.values())
    relative = readings.of(
        f"days {edition('matching')}",
        (classes[key][0].content for key in by_day),
        lambda text: facts.facts_of(text).relative,
    )
    return {key: days for key, days in by_day.items() if relative[classes[key][0].content]}


def folded_loosely(
    ranked: Iterable[Memory],
    profile: Profile,
    prior: AbstractSet[str],
    apart: AbstractSet[tuple[str, str]],
    tally: Tally,
) -> dict[str, tuple[str, ...]]:
    """Returns classes of texts of one partition that are equal in loose form, by the best of them.

    Args:
        ranked: Memories, best survivor first.
        profile: Names the partition.
        prior: Survivors of earlier runs; one that is not the best of its class stands alone and is
            counted.
        apart: Pairs a person decided to keep both of; they are not folded.
        tally: Takes survivors that stand alone.
    """
    classes: dict[tuple[object, ...], list[str]] = {}
    for memory in ranked:
        key = (*profile.scope_of(memory), loose(memory.content), limits(memory))
        classes.setdefault(key, []).append(memory.id)
    copies: dict[str, tuple[str, ...]] = {}
    for best, *others in classes.values():
        joined = [best]
        for other in others:
            if other in prior:
                tally.skip(KEPT_SURVIVOR, other)
            if other in prior or (min(best, other), max(best, other)) in apart:
                copies[other] = (other,)
            else:
                joined.append(other)
        copies[best] = tuple(sorted(joined))
    return copies
