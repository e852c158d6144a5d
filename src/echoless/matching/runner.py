"""Asks the judge, and where there is one the verifier, about every candidate pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from echoless.core.batches import batched
from echoless.core.claims import is_long
from echoless.core.model import Judged, Memory, Pair, Verdict
from echoless.core.profiles import Profile
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.matching import Judge

if TYPE_CHECKING:
    from echoless.matching.questions import Questions
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
    signals: Iterable[tuple[tuple[str, str], Mapping[str, float]]],
    apart: AbstractSet[tuple[str, str]],
    tell: Progress,
) -> list[Judged]:
    """Returns the verdict on every pair but those kept apart, by ids.

    Args:
        judge: Decides.
        memories: By id.
        signals: Similarity by detector, by pair of ids (smaller first), in their order.
        apart: Pairs nobody is to be asked about again.
        tell: Receives the progress.
    """
    from echoless.matching import judge as road

    pairs = [
        Pair(memories[a], memories[b], values) for (a, b), values in signals if (a, b) not in apart
    ]
    rules = judge.rules if isinstance(judge, road.LearnedJudge) else judge
    verdicts: list[Verdict] = []
    tell(JUDGING, 0, len(pairs))
    for some in batched(pairs, max(JUDGED_AT_ONCE, len(pairs) // 50)):
        verdicts += rules.judge_all(some)
        tell(JUDGING, len(verdicts), len(pairs))
    if isinstance(judge, road.LearnedJudge):
        verdicts = judge.settle(
            pairs, verdicts, lambda done, whole: tell("asking the pair model", done, whole)
        )
    return [Judged(p.a.id, p.b.id, v) for p, v in zip(pairs, verdicts, strict=True)]


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
) -> list[Judged]:
    """Verdicts with a verifier's word."""
    if asked is None:
        return judged
    pairs = [Pair(memories[j.a], memories[j.b], signals.get((j.a, j.b), {})) for j in judged]
    verdicts = asked.settle(pairs, [j.verdict for j in judged], tally)
    asked.report(tally)
    return [Judged(j.a, j.b, new) for j, new in zip(judged, verdicts, strict=True)]
