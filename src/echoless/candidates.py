"""The first half of the road: from memories to the pairs worth judging, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple

from echoless.detect import DetectorOptions, open_detector
from echoless.model import Json, Memory
from echoless.profiles import SAFE, DetectorUse, Profile
from echoless.readings import Readings
from echoless.settings import Settings
from echoless.sources import digest_of
from echoless.tally import Tally
from echoless.text import is_blank, loose, unreadable, utf16_length
from echoless.times import instant, now
from echoless.vectors.base import Vectoriser

if TYPE_CHECKING:
    from echoless.looking import Order
    from echoless.signals import PairSignals
    from echoless.vectors.spilling import Spill
    from echoless.vectors.vectorise import MemoryVectoriser

Progress = Callable[[str, int, int], None]
"""Told (stage, done, in all); in all is 0 where it is not known."""

MAX_LENGTH: Final = 1_000_000
"""Characters; longer memories are counted as skipped. Far above any memory, far below what would
stall a comparison."""

READ_FOR_DAYS: Final = 2_000
"""Characters up to which identical texts are read for days told from the day of writing."""

DAY: Final = 86_400 * 10**9
"""Nanoseconds."""

PRIOR_SURVIVOR: Final = "survivor of an earlier run"
KEPT_SURVIVOR: Final = f"{PRIOR_SURVIVOR}, kept visible"
MARKED: Final = "already marked"
TOO_SHORT: Final = "too short"
EXPIRED: Final = "expired"
NOT_LOOKED_AT: Final = "not looked at by the profile"
"""Reasons in the tally that fronts ask for."""


class Found(NamedTuple):
    """What detectors propose.

    Attributes:
        signals: The pairs with their similarities.
        left_out: How many more were proposed, beyond the budget, by namespace.
        notes: Sentences of the detectors, by the namespace they are about.
        taken_over: Looks of a detector at a partition that were known from an earlier run.
    """

    signals: PairSignals
    left_out: Mapping[str, int]
    notes: Mapping[str, Collection[str]]
    taken_over: int


def eligible(
    memories: Mapping[str, Memory],
    marked: Mapping[str, str],
    tally: Tally,
    profile: Profile = SAFE,
) -> list[Memory]:
    """Memories that can be compared; the others are counted with the reason.

    Args:
        memories: By id.
        marked: Survivor by hidden duplicate, of earlier runs.
        tally: Takes the others.
        profile: Says which memories it looks at, which are too short, and which have expired.
    """
    kept = []
    moment = instant(now())
    for memory in memories.values():
        reason = _left_out(memory, marked, profile, moment)
        if reason:
            tally.skip(reason, memory.id)
        else:
            kept.append(memory)
    return kept


def _left_out(
    memory: Memory, marked: Mapping[str, str], profile: Profile, moment: int | None
) -> str | None:
    if not profile.looks_at(memory):
        return NOT_LOOKED_AT
    if memory.id in marked:
        return MARKED
    reason = unfit(memory.content)
    if profile.shortest and reason in {None, "empty"}:
        reason = TOO_SHORT if utf16_length(loose(memory.content)) < profile.shortest else reason
    if reason is None and expired(profile.expires(memory), moment):
        return EXPIRED
    return reason


def expired(end: str | None, moment: int | None) -> bool:
    """Whether a time that was written down has come; one that cannot be read has not."""
    ends = instant(end)
    return ends is not None and moment is not None and ends <= moment


def unfit(text: str) -> str | None:
    """Why a text cannot be compared with any other, or None."""
    if len(text) > MAX_LENGTH:
        return "too long"
    if is_blank(text):
        return "empty"
    return "unreadable text" if unreadable(text) else None


def folded(
    memories: Iterable[Memory], profile: Profile, readings: Readings
) -> dict[str, tuple[str, ...]]:
    """Identical texts of one partition, by the smallest id: judged once, whatever their number.

    To a judge that reads, `the demo is tomorrow` of two days are two texts. Where stored vectors
    alone decide, one text with two vectors, or with none, is not one thing.

    Args:
        memories: Each id once.
        profile: Names the partition, and whether days and vectors count.
        readings: What was read of texts in earlier runs.
    """
    classes: dict[tuple[object, ...], list[Memory]] = {}
    for memory in memories:
        seen: tuple[object, ...] = (memory.content,)
        if profile.encoder == "stored":
            comparable = any(vector.data.strip(b"\0") for vector in memory.vectors)
            seen = (*seen, memory.vectors if comparable else memory.id)
        classes.setdefault((*profile.scope_of(memory), *seen), []).append(memory)
    apart = {
        key: days
        for key, same in classes.items()
        if len(same) > 1 and len(days := _by_day(same, profile)) > 1
    }
    tells = _telling_days((classes[key][0].content for key in apart), readings)
    copies: dict[str, tuple[str, ...]] = {}
    for key, same in classes.items():
        if len(same) == 1:
            copies[same[0].id] = (same[0].id,)
            continue
        split = key in apart and tells[same[0].content]
        for ids in apart[key] if split else [[memory.id for memory in same]]:
            copies[min(ids)] = tuple(sorted(ids))
    return copies


def folded_loosely(
    ranked: Iterable[Memory],
    profile: Profile,
    prior: AbstractSet[str],
    apart: AbstractSet[tuple[str, str]],
    tally: Tally,
) -> dict[str, tuple[str, ...]]:
    """Texts of one partition that are equal in their loose form, by the best of them.

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
        key = (*profile.scope_of(memory), loose(memory.content))
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


def _by_day(same: Sequence[Memory], profile: Profile) -> list[list[str]]:
    """Ids of identical texts by the day they were made; all together where days do not count."""
    if profile.judge != "full" or len(same[0].content) > READ_FOR_DAYS:
        return [[memory.id for memory in same]]
    days: dict[object, list[str]] = {}
    for memory in same:
        made = instant(memory.created_at)
        days.setdefault(None if made is None else made // DAY, []).append(memory.id)
    return list(days.values())


def _telling_days(texts: Iterable[str], readings: Readings) -> Mapping[str, bool]:
    """Which texts tell a day from where their writer stands (`tomorrow`)."""

    def read(text: str) -> bool:
        from echoless.matching.facts import facts_of  # noqa: PLC0415 - brings in the lexicons

        return facts_of(text).relative

    found = readings.of(f"days {digest_of('matching', 'text.py')}", texts, read)
    return {text: bool(told) for text, told in found.items()}


def candidates(
    memories: Mapping[str, Memory],
    copies: Mapping[str, Sequence[str]],
    settings: Settings,
    tally: Tally,
    tell: Progress,
    vectoriser: Vectoriser | None = None,
    touching: AbstractSet[str] | None = None,
    order: Order | None = None,
) -> Found:
    """What the detectors of the profile propose.

    Args:
        memories: By id.
        copies: Classes of identical texts, see `folded`; detectors see one of each.
        settings: Profile, encoder, cache.
        tally: Takes what detectors skip.
        tell: Progress.
        vectoriser: Gives vectors to detectors that want them, see `open_vectors`.
        touching: Pairs count only if one of the two is among these ids; all by default.
        order: Puts memories best survivor first, for the choice where there are more partners than
            are wanted; by id by default.

    Returns:
        The pairs with their similarities, and what was left out and taken over.
    """
    from echoless.looking import Search  # noqa: PLC0415 - brings in numpy
    from echoless.looks import open_looks  # noqa: PLC0415

    profile = settings.profile
    partitions = list(_partitions(memories, copies, profile))
    looked_at = sum(map(len, partitions))
    kept = open_looks(profile, vectoriser, looked_at, tally) if settings.cache else None
    search = Search(profile, partitions, tally, touching, order, kept)
    for use in profile.detectors:
        done = 0

        def pulse(finished: int | None = None, name: str = use.name) -> None:
            nonlocal done
            done = done if finished is None else finished
            tell(f"looking ({name})", done, len(partitions))

        detector = open_detector(use.name, _options(use, vectoriser, pulse, looked_at))
        search.look(use, detector, partitions, pulse)
        pulse(len(partitions))
    return Found(search.signals(), search.left_out, search.notes, search.taken_over)


def beside(
    memories: Mapping[str, Memory],
    centres: Mapping[str, Sequence[str]],
    settings: Settings,
    vectoriser: Vectoriser | None = None,
) -> PairSignals:
    """What the detectors that work in bulk measure between some memories and one of each.

    Args:
        memories: By id.
        centres: By the one, those it is compared with.
        settings: Profile, encoder, cache.
        vectoriser: As for `candidates`.
    """
    from echoless.looking import Beside  # noqa: PLC0415 - brings in numpy

    search = Beside(memories, centres)
    for use in settings.profile.detectors:
        search.look(use.name, open_detector(use.name, _options(use, vectoriser, lambda: None)))
    return search.signals()


def _options(
    use: DetectorUse,
    vectoriser: Vectoriser | None,
    pulse: Callable[[], None],
    memories: int = 0,
) -> DetectorOptions:
    return DetectorOptions(
        threshold=use.threshold,
        inclusive=use.inclusive,
        settings=use.settings,
        vectoriser=vectoriser,
        pulse=pulse,
        memories=memories,
    )


def open_vectors(
    settings: Settings, tally: Tally, tell: Progress, spill: Spill | None = None
) -> MemoryVectoriser | None:
    """The vectors of a run, for detectors and judge; None where the profile wants none.

    Args:
        settings: Profile, encoder, cache.
        tally: Told what goes without.
        tell: Told how many texts are encoded.
        spill: Where large matrices lie; in memory by default.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    if not any(use.name == "semantic" for use in settings.profile.detectors):
        return None
    from echoless.vectors.opening import open_vectoriser  # noqa: PLC0415 - only where it is used

    return open_vectoriser(
        settings.encoder,
        cache=settings.cache,
        tally=tally,
        progress=lambda done, whole: tell("encoding", done, whole),
        allocate=spill.allocate if spill else None,
    )


def _partitions(
    memories: Mapping[str, Memory], copies: Mapping[str, Sequence[str]], profile: Profile
) -> Iterator[list[Memory]]:
    parts: dict[tuple[Json, ...], list[Memory]] = {}
    for rep in sorted(copies):
        parts.setdefault(profile.scope_of(memories[rep]), []).append(memories[rep])
    for key in sorted(parts, key=repr):
        if len(parts[key]) > 1:
            yield parts[key]
