"""Candidate generation: from memories to the pairs that the judge sees, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple

from echoless.blocking.detector import Joins, no_pulse
from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.blocking.equal_values import fold
from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.profiles import SAFE, DetectorUse, Profile
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.core.text import is_blank, loose, unreadable, utf16_length
from echoless.core.timestamps import instant, now
from echoless.models.encoders.base import Vectoriser

if TYPE_CHECKING:  # what brings in numpy or an encoder
    from echoless.blocking import candidate_cache, pair_budget
    from echoless.blocking.pair_budget import Order
    from echoless.blocking.pair_scores import PairSignals
    from echoless.blocking.relational import large_joins
    from echoless.models.encoders import registry
    from echoless.models.encoders.memory_mapped import Spill
    from echoless.models.encoders.vectorizer import MemoryVectoriser
else:
    candidate_cache = lazy_module("echoless.blocking.candidate_cache")
    large_joins = lazy_module("echoless.blocking.relational.large_joins")
    pair_budget = lazy_module("echoless.blocking.pair_budget")
    registry = lazy_module("echoless.models.encoders.registry")


MAX_LENGTH: Final = 1_000_000
"""Characters of a memory, at most; longer ones are counted as skipped. Far above any real memory,
far below what would stall a comparison."""


LARGE: Final = 500_000
"""Memories of a partition up to which joins in memory, 2 GB, are never replaced by default."""


MARKED: Final = "already marked"
TOO_SHORT: Final = "too short"
EXPIRED: Final = "expired"
NOT_LOOKED_AT: Final = "not looked at by the profile"
"""Reasons in the tally that other packages look up."""


class Preference(NamedTuple):
    """Limits on pairs, and the order of preferred memories.

    Attributes:
        touching: Pairs count only if one of the two is among these ids; all by default.
        order: Puts memories best survivor first, for the choice where there are more partners than
            are wanted; by id by default.
    """

    touching: AbstractSet[str] | None = None
    order: Order | None = None


NO_PREFERENCE: Final = Preference()


class Found(NamedTuple):
    """Pairs that the detectors propose, and what was left out.

    Attributes:
        signals: The pairs with their similarities.
        left_out: How many more were proposed, beyond the budget, by namespace.
        notes: Sentences of the detectors, by the namespace they are about.
        taken_over: Partitions, counted for each detector, taken from the cache of an earlier run.
        renewed: Partitions of which a detector was asked for the memories that changed alone.
    """

    signals: PairSignals
    left_out: Mapping[str, int]
    notes: Mapping[str, Collection[str]]
    taken_over: int
    renewed: int = 0


def eligible(
    memories: Mapping[str, Memory],
    marked: Mapping[str, str],
    tally: Tally,
    profile: Profile = SAFE,
) -> list[Memory]:
    """Returns the memories that can be compared; the others are counted with the reason.

    Args:
        memories: By id.
        marked: Survivor by hidden duplicate, of earlier runs.
        tally: Takes the others.
        profile: Says which memories it covers, which are too short, and which have expired.
    """
    comparable = []
    moment = instant(now())
    for memory in memories.values():
        reason = _reason_to_skip(memory, marked, profile, moment)
        if reason:
            tally.skip(reason, memory.id)
        else:
            comparable.append(memory)
    return comparable


def _reason_to_skip(
    memory: Memory, marked: Mapping[str, str], profile: Profile, moment: int | None
) -> str | None:
    """Returns why a memory cannot be compared, None if it can."""
    if profile.only and not profile.looks_at(memory):
        return NOT_LOOKED_AT
    if memory.id in marked:
        return MARKED
    reason = unfit(memory.content)
    if profile.shortest and reason in {None, "empty"}:
        reason = TOO_SHORT if utf16_length(loose(memory.content)) < profile.shortest else reason
    if reason is None and profile.expiry and expired(profile.expires(memory), moment):
        return EXPIRED
    return reason


def expired(end: str | None, moment: int | None) -> bool:
    """Returns whether a stored time has come; one that cannot be read has not."""
    ends = instant(end)
    return ends is not None and moment is not None and ends <= moment


def unfit(text: str) -> str | None:
    """Returns why a text cannot be compared with any other, or None."""
    if len(text) > MAX_LENGTH:
        return "too long"
    if is_blank(text):
        return "empty"
    return "unreadable text" if unreadable(text) else None


def candidates(
    memories: Mapping[str, Memory],
    copies: Mapping[str, Sequence[str]],
    settings: Settings,
    tally: Tally,
    tell: Progress,
    vectoriser: Vectoriser | None = None,
    preference: Preference = NO_PREFERENCE,
    joins: Joins | None = None,
) -> Found:
    """Returns the pairs that the detectors of the profile propose.

    Args:
        memories: By id.
        copies: Classes of identical texts by one of each; detectors see that one.
        settings: Profile, encoder, cache.
        tally: Takes what detectors skip.
        tell: Takes the progress.
        vectoriser: Gives vectors to detectors that want them, see `open_vectors`.
        preference: Which pairs count, and which are preferred.
        joins: For large partitions; by default on files where memory would not do.

    Returns:
        The pairs with their similarities, and what was left out and taken over.
    """
    profile = settings.profile
    scopes = fold((profile.scope_of(memories[id_]), memories[id_]) for id_ in sorted(copies))
    partitions = [scopes[key] for key in sorted(scopes, key=repr) if len(scopes[key]) > 1]
    count = sum(map(len, partitions))
    cache = None
    if settings.cache:
        cache = candidate_cache.open_looks(profile, vectoriser, count, tally)
    largest = max(map(len, partitions), default=0)
    if joins is None and largest >= LARGE:
        joins = large_joins.joins_for(largest)
    search = pair_budget.Search(profile, partitions, tally, *preference, cache)
    for use in profile.detectors:
        done = 0

        def pulse(finished: int | None = None, name: str = use.name) -> None:
            nonlocal done
            done = done if finished is None else finished
            tell(f"looking ({name})", done, len(partitions))

        detector = open_detector(use.name, options_for(use, vectoriser, pulse, joins))
        search.look(use, detector, partitions, pulse)
        pulse(len(partitions))
    return Found(search.signals(), search.left_out, search.notes, search.taken_over, search.renewed)


def beside(
    memories: Mapping[str, Memory],
    centres: Mapping[str, Sequence[str]],
    settings: Settings,
    vectoriser: Vectoriser | None = None,
) -> PairSignals:
    """Returns what the bulk detectors measure between each centre and its partners.

    Args:
        memories: By id.
        centres: By the centre, the ids it is compared with.
        settings: Profile, encoder, cache.
        vectoriser: As for `candidates`.
    """
    search = pair_budget.Beside(memories, centres)
    for use in settings.profile.detectors:
        search.look(use.name, open_detector(use.name, options_for(use, vectoriser)))
    return search.signals()


def options_for(
    use: DetectorUse,
    vectoriser: Vectoriser | None,
    pulse: Callable[[], None] = no_pulse,
    joins: Joins | None = None,
) -> DetectorOptions:
    """Returns the options of one detector of the profile."""
    return DetectorOptions(
        threshold=use.threshold,
        inclusive=use.inclusive,
        settings=use.settings,
        vectoriser=vectoriser,
        pulse=pulse,
        joins=joins,
    )


def open_vectors(
    settings: Settings, tally: Tally, tell: Progress, spill: Spill | None = None
) -> MemoryVectoriser | None:
    """Returns the vectors of a run, for detectors and judge; None where the profile wants none.

    Args:
        settings: Profile, encoder, cache.
        tally: Takes the memories without a vector.
        tell: Takes how many texts are encoded.
        spill: Where large matrices are stored; in memory by default.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    if not any(use.name == "semantic" for use in settings.profile.detectors):
        return None
    return registry.open_vectoriser(
        settings.encoder,
        cache=settings.cache,
        tally=tally,
        progress=lambda done, whole: tell("encoding", done, whole),
        allocate=spill.allocate if spill else None,
    )
