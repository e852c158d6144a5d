"""Candidate generation: from memories to the pairs that the judge sees, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple

from echoless.blocking.detector import no_pulse
from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.profiles import DetectorUse
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.models.encoders.base import Vectoriser

if TYPE_CHECKING:
    from echoless.blocking.pair_budget import Order
    from echoless.blocking.pair_scores import PairSignals
    from echoless.models.encoders.memory_mapped import Spill
    from echoless.models.encoders.vectorizer import MemoryVectoriser


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
        left_out: How many more were proposed, beyond the budget.
    """

    signals: PairSignals
    left_out: int


def candidates(
    memories: Mapping[str, Memory],
    copies: Mapping[str, Sequence[str]],
    settings: Settings,
    tally: Tally,
    tell: Progress,
    vectoriser: Vectoriser | None = None,
    preference: Preference = NO_PREFERENCE,
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

    Returns:
        The pairs with their similarities, and what was left out.
    """
    profile = settings.profile
    scopes = grouped((profile.scope_of(memories[id_]), memories[id_]) for id_ in sorted(copies))
    partitions = [scopes[key] for key in sorted(scopes, key=repr) if len(scopes[key]) > 1]
    from echoless.blocking import pair_budget

    search = pair_budget.Search(profile, partitions, tally, *preference)
    for use in profile.detectors:
        done = 0

        def pulse(finished: int | None = None, name: str = use.name) -> None:
            nonlocal done
            done = done if finished is None else finished
            tell(f"looking ({name})", done, len(partitions))

        detector = open_detector(use.name, options_for(use, vectoriser, pulse))
        search.look(use.name, detector, partitions, pulse)
        pulse(len(partitions))
    return Found(search.signals(), search.left_out)


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
    from echoless.blocking import pair_budget

    search = pair_budget.Beside(memories, centres)
    for use in settings.profile.detectors:
        search.look(use.name, open_detector(use.name, options_for(use, vectoriser)))
    return search.signals()


def options_for(
    use: DetectorUse, vectoriser: Vectoriser | None, pulse: Callable[[], None] = no_pulse
) -> DetectorOptions:
    """Returns the options of one detector of the profile."""
    return DetectorOptions(
        threshold=use.threshold,
        inclusive=use.inclusive,
        settings=use.settings,
        vectoriser=vectoriser,
        pulse=pulse,
    )


def open_vectors(
    settings: Settings, tell: Progress, spill: Spill | None = None
) -> MemoryVectoriser | None:
    """Returns the vectors of a run, for detectors and judge; None where the profile wants none.

    Args:
        settings: Profile, encoder, cache.
        tell: Takes how many texts are encoded.
        spill: Where large matrices are stored; in memory by default.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    if not any(use.name == "semantic" for use in settings.profile.detectors):
        return None
    from echoless.models.encoders import registry

    return registry.open_vectoriser(
        settings.encoder,
        cache=settings.cache,
        progress=lambda done, whole: tell("encoding", done, whole),
        allocate=spill.allocate if spill else None,
    )
