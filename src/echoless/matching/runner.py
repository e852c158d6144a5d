"""Asks the judge, and where there is one the verifier, about every candidate pair."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import TYPE_CHECKING, Final

from echoless.core.batches import batched
from echoless.core.claims import is_long
from echoless.core.groups import grouped
from echoless.core.model import Judged, Memory, Pair, Verdict
from echoless.core.profiles import Profile
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.matching import Judge

if TYPE_CHECKING:
    from echoless.matching.judge import Questions
    from echoless.matching.verifiers.consultation import Consultation
    from echoless.models.encoders.vectorizer import MemoryVectoriser

NO_MODEL: Final = (
    "No encoder was used, so the pair model was not asked either: copies in other words are "
    "missed, and some reported contradictions may be wrong."
)
"""What a run says that was asked to do without an encoder."""

JUDGING: Final = "judging"
"""The stage of a run in which pairs are judged."""

JUDGED_AT_ONCE: Final = 2_000
"""Pairs judged between two signs of progress, at least; a fiftieth of more than 100,000."""


def open_judge(
    profile: Profile,
    vectors: MemoryVectoriser | None,
    tally: Tally,
    *,
    questions: Questions | None = None,
) -> Judge:
    """Returns the judge of a profile.

    Args:
        profile: Names the judge.
        vectors: With an encoder the pair model is asked; without one values and wording decide.
        tally: Told what the judge has to do without.
        questions: Chooses the pairs that the pair model is asked about; all by default.

    Raises:
        DamagedPackage: The weights of the pair model are not as they were shipped.
    """
    if profile.judge != "full" or vectors is None or vectors.encoder is None:
        from echoless.matching import guards

        return guards.judge_named(profile.judge)
    cached = vectors.cache is not None
    from echoless.matching import judge as road

    return road.open_learned(tally, cache=cached, questions=questions, use=profile.use)


def left_off(settings: Settings) -> str:
    """Returns a sentence on the parts of matching that a run lacks; empty if it has all.

    A report begins with it: without the pair model an answer looks complete and is not.

    Args:
        settings: Of the run. A profile of another judge never asks the pair model.
    """
    if settings.profile.judge != "full":
        return ""
    by_meaning = any(use.name == "semantic" for use in settings.profile.detectors)
    if not by_meaning or settings.encoder in {"none", "stored"}:
        return NO_MODEL
    from echoless.matching import judge as road
    from echoless.matching.pair_model import network

    return "" if network.available() else road.WITHOUT


def rules_of(judge: Judge) -> Judge:
    """Returns the rules of a judge; the judge itself where it asks no model."""
    from echoless.matching import judge as road

    return judge.rules if isinstance(judge, road.LearnedJudge) else judge


def verdicts_on(judge: Judge, profile: Profile, pairs: Sequence[Pair]) -> list[Verdict]:
    """Returns the verdicts on pairs; long notes are compared by claims where texts are read.

    What pairs stand under is read too, see `guards.in_place`.

    Args:
        judge: The judge of the profile.
        profile: Only the judge `full` reads texts.
        pairs: Any pairs.
    """
    return settled_by_claims(judge, profile, pairs, judge.judge_all(pairs))


def settled_by_claims(
    judge: Judge, profile: Profile, pairs: Sequence[Pair], verdicts: list[Verdict]
) -> list[Verdict]:
    """Returns verdicts of the judge, those on long notes settled by their claims.

    Args:
        judge: The judge of the profile.
        profile: Only the judge `full` reads texts.
        pairs: What was judged.
        verdicts: On the whole texts, in the same order.
    """
    if profile.judge == "full" and any(is_long(m.content) for p in pairs for m in (p.a, p.b)):
        from echoless.matching import claims

        verdicts = claims.by_claims(judge, pairs, verdicts)
    from echoless.matching import guards

    return [guards.in_place(p.a, p.b, verdict) for p, verdict in zip(pairs, verdicts, strict=True)]


def judge_all(
    judge: Judge,
    memories: Mapping[str, Memory],
    signals: Mapping[tuple[str, str], Mapping[str, float]],
    apart: AbstractSet[tuple[str, str]],
    tell: Progress,
    known: Mapping[tuple[str, str], Verdict] | None = None,
) -> list[Judged]:
    """Returns the verdict on every pair but those kept apart, by ids.

    Args:
        judge: Decides.
        memories: By id.
        signals: Similarity by detector, by pair of ids (smaller first).
        apart: Pairs nobody is to be asked about again.
        tell: Receives the progress.
        known: Verdicts of the rules on some of the pairs, by ids.
    """
    measured = _Measured(signals, apart)
    wanted = measured.pairs
    rules = rules_of(judge)

    def pairs_at(places: Sequence[int]) -> list[Pair]:
        some = ((wanted[at], measured.at(at)) for at in places)
        return [Pair(memories[a], memories[b], values) for (a, b), values in some]

    verdicts = [*map((known or {}).get, wanted)]
    left = _together(wanted, [at for at, verdict in enumerate(verdicts) if verdict is None])
    done = len(wanted) - len(left)
    tell(JUDGING, done, len(wanted))
    for places in batched(left, max(JUDGED_AT_ONCE, len(left) // 50)):
        ruled = rules.judge_all(pairs_at(places))
        for at, verdict in zip(places, ruled, strict=True):
            verdicts[at] = verdict
        done += len(places)
        tell(JUDGING, done, len(wanted))
    settled = [verdict for verdict in verdicts if verdict is not None]
    from echoless.matching import judge as road

    if isinstance(judge, road.LearnedJudge):
        settled = judge.settle(
            pairs_at(range(len(wanted))),
            settled,
            lambda done, whole: tell("asking the pair model", done, whole),
        )
    return [Judged(a, b, v) for (a, b), v in zip(wanted, settled, strict=True)]


class _Measured:
    """The pairs of a run by ids, and what was measured of each, in a tenth of the room of mappings.

    Attributes:
        pairs: Pairs of ids in order, without the pairs kept apart.
    """

    def __init__(
        self,
        signals: Mapping[tuple[str, str], Mapping[str, float]],
        apart: AbstractSet[tuple[str, str]],
    ) -> None:
        """Copies similarities into arrays.

        Args:
            signals: Similarity by detector, by pair of ids.
            apart: Pairs to leave out.
        """
        pairs: list[tuple[str, str]] = []
        starts, kinds, numbers = array("q"), array("q"), dict[tuple[str, ...], int]()
        self._values = array("d")
        for pair, measured in signals.items():
            if pair not in apart:
                pairs.append(pair)
                starts.append(len(self._values))
                kinds.append(numbers.setdefault(tuple(measured), len(numbers)))
                self._values.extend(measured.values())
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        self.pairs = [pairs[at] for at in order]
        self._starts = array("q", [starts[at] for at in order])
        self._kinds = array("q", [kinds[at] for at in order])
        self._names = list(numbers)

    def at(self, place: int) -> dict[str, float]:
        """Returns the similarities of a pair by its place, detectors in the order they came."""
        names, start = self._names[self._kinds[place]], self._starts[place]
        return dict(zip(names, self._values[start : start + len(names)], strict=True))


def _together(wanted: Sequence[tuple[str, str]], left: Sequence[int]) -> list[int]:
    """Places of pairs, those of one text near each other: each text is read once, then forgotten.

    Texts come in the order of a walk from each to what it is paired with, deep first; a pair when
    the second of its texts does. Where thousands of texts hang together, a fifth fewer are read
    twice than in the order of their ids.
    """
    beside = grouped(ends for at in left for ends in permutations(wanted[at], 2))
    reached: dict[str, int] = {}
    for start in beside:
        waiting = [start]
        while waiting:
            id_ = waiting.pop()
            if id_ not in reached:
                reached[id_] = len(reached)
                waiting += [each for each in beside[id_] if each not in reached]

    def turn(at: int) -> tuple[int, int]:
        one, other = (reached[id_] for id_ in wanted[at])
        return max(one, other), min(one, other)

    return sorted(left, key=turn)


def open_consultation(settings: Settings, tell: Progress) -> Consultation | None:
    """Returns the verifier of the run, made first: a wrong name is told before the long work."""
    if settings.verifier == "none":
        return None
    from echoless.matching.verifiers import consultation

    verifier = consultation.open_verifier(
        settings.verifier, settings.limits, locale=settings.locale
    )
    if verifier is None:
        return None
    return consultation.Consultation(
        verifier,
        limit=settings.questions,
        progress=lambda done, whole: tell("asking the verifier", done, whole),
    )


def consult(
    asked: Consultation | None,
    memories: Mapping[str, Memory],
    signals: Mapping[tuple[str, str], Mapping[str, float]],
    judged: list[Judged],
    tally: Tally,
) -> tuple[list[Judged], dict[tuple[str, str], Verdict]]:
    """Verdicts with a verifier's word, and those it changed."""
    if asked is None:
        return judged, {}
    pairs = [Pair(memories[j.a], memories[j.b], signals.get((j.a, j.b), {})) for j in judged]
    verdicts = asked.settle(pairs, [j.verdict for j in judged], tally)
    asked.report(tally)
    made = [Judged(j.a, j.b, new) for j, new in zip(judged, verdicts, strict=True)]
    changed = {
        (new.a, new.b): new.verdict
        for old, new in zip(judged, made, strict=True)
        if new.verdict is not old.verdict
    }
    return made, changed
