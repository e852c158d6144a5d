"""Finds long notes that share passages, and settles the verdicts on them by their passages.

Detectors see the passages of long notes and all short memories of the same scope. What they propose
counts for the notes the passages are from: where it could be most of one of the two, the notes are
compared (`matching/passages.py`). Notes that stay apart though most of one is in the other are
reported as `Overlap`; a plan never takes them up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from typing import Final, TypeAlias

from echoless.blocking.candidates import Preference, candidates
from echoless.core.groups import Group
from echoless.core.model import Judged, Memory, Pair, Subsumes, Verdict, merges, verdict_name
from echoless.core.overlaps import MOST, Overlap, SharedPassage
from echoless.core.passages import MOST_PASSAGES, is_long
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.matching.base import Judge
from echoless.matching.judge import Questions
from echoless.matching.passages import (
    NoteComparison,
    PassageMatch,
    compare_notes,
    has_long_side,
    not_borne_out,
    note_of,
    passages_to_judge,
)
from echoless.matching.rule_judge import RuleJudge
from echoless.models.encoders.base import Vectoriser

Ids: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, int]
"""A memory, and the place of one of its passages."""

MOST_PAIRS: Final = 2_000
"""Pairs of passages of a namespace that a run asks the pair model about: half as many as of
memories, some ten seconds on two cores."""

COMMON: Final = 30
"""Notes with one passage beyond which it is a phrase of the house and proposes no pair; in pairs
that other passages propose it counts. As many as the pairs looked at for one memory."""

PARTNERS: Final = 20
"""Notes that one note is compared with by passages, those with most in common first."""

MOST_JUDGED: Final = 100_000
"""Pairs of passages judged in one namespace, as estimated before equal ones are left out; some
minutes on two cores. Notes of 240 words need some 50 for each pair of notes."""

UNJUDGED: Final = f"beyond {MOST_JUDGED:,} pairs of passages, not compared by passages"
CAPPED: Final = f"passages beyond the first {MOST_PASSAGES} of a note, not compared"
LEFT_OUT: Final = f"more than {PARTNERS} notes with like passages, the others not compared"
"""Reasons in the tally."""

HOW: Final = "passages"
"""Stands for the detector where passages alone proposed a pair."""


@dataclass(frozen=True, slots=True)
class ProposedNotes:
    """Pairs of memories in which one may contain most of the other.

    Attributes:
        bounds: Share of the smaller part that may be in the other one, by ids; at least `MOST`.
        notes: Sentences on what was left out, by namespace.
    """

    bounds: Mapping[Ids, float]
    notes: Mapping[str, Sequence[str]]


def propose(
    memories: Mapping[str, Memory],
    ids: Collection[str],
    settings: Settings,
    tally: Tally,
    vectors: Vectoriser | None = None,
    touched: AbstractSet[str] | None = None,
) -> ProposedNotes:
    """Returns pairs of memories, of which one is long, that may share most passages of one side.

    Args:
        memories: By id.
        ids: Ids to compare, each the representative of its copies.
        settings: Of the run; its detectors look at passages.
        tally: Takes what was left out.
        vectors: Vectors for detectors that need them.
        touched: Pairs count only if one of the two is among these; all by default.
    """
    units = _units(memories, ids, settings)
    hidden = Tally()  # its ids are of passages
    proposed = candidates(
        units.memories,
        {id_: (id_,) for id_ in units.memories},
        settings,
        hidden,
        lambda _stage, _done, _all: None,  # it would tell the stages of the run once more
        vectors,
        Preference(units.of_long),
    )
    notes: dict[str, list[str]] = defaultdict(list)
    for name, pairs in sorted(proposed.left_out.items()):
        if pairs:
            notes[name].append(f"{pairs:,} pairs of passages beyond the budget were not compared.")
    for name, common in sorted(units.common.items()):
        notes[name].append(
            f"{common:,} passages stand in more than {COMMON} notes; by themselves they propose "
            "no pair of notes."
        )
    for sentences in notes.values():
        for sentence in sentences:
            tally.note(sentence)
    for id_ in sorted(ids):
        if is_long(memories[id_].content) and note_of(memories[id_].content).capped:
            tally.skip(CAPPED, id_)
    hits = _Hits(units)
    hits.add((int(low), int(high)) for low, high in proposed.signals)
    bounds = hits.bounds()
    if touched is not None:
        bounds = {pair: share for pair, share in bounds.items() if touched & {*pair}}
    return ProposedNotes(_closest_partners(bounds, tally), notes)


@dataclass(frozen=True, slots=True)
class _Units:
    """Texts that detectors see: each text of a scope once.

    Attributes:
        memories: A stand-in for each text, by its id.
        owners: Whose passage it is, in the order of the sorted ids.
        of_long: Ids of texts that are a passage of a long note.
        words: Of each passage of a memory, by its id.
        long: Ids of long notes.
    """

    memories: Mapping[str, Memory]
    owners: Sequence[Sequence[Place]]
    of_long: AbstractSet[str]
    words: Mapping[str, Sequence[int]]
    long: AbstractSet[str]

    @property
    def common(self) -> Mapping[str, int]:
        """Returns how many texts have more than `COMMON` owners, by namespace."""
        pairs = zip(self.memories.values(), self.owners, strict=True)
        return Counter(memory.namespace for memory, own in pairs if len(own) > COMMON)


def _units(memories: Mapping[str, Memory], ids: Collection[str], settings: Settings) -> _Units:
    """Returns the texts of the scopes that have a long note."""
    profile = settings.profile
    long = {id_ for id_ in ids if is_long(memories[id_].content)}
    scopes = {profile.scope_of(memories[id_]) for id_ in long}
    counts: dict[str, Sequence[int]] = {}
    places: dict[tuple[object, str], list[Place]] = {}
    long_texts = set()
    for id_ in sorted(ids):
        memory = memories[id_]
        scope = profile.scope_of(memory)
        if scope not in scopes:
            continue
        note = note_of(memory.content)
        counts[id_] = note.words
        for place, text in enumerate(note.texts):
            places.setdefault((scope, text), []).append((id_, place))
            if id_ in long:
                long_texts.add((scope, text))
    stand_ins, owners, of_long = {}, [], set()
    for at, (key, own) in enumerate(places.items()):
        memory = memories[own[0][0]]
        whole = memory.content == key[1]
        name = f"{at:09}"
        vectors = memory.vectors if whole else ()
        stand_ins[name] = replace(memory, id=name, content=key[1], vectors=vectors)
        owners.append(own)
        if key in long_texts:
            of_long.add(name)
    return _Units(stand_ins, owners, of_long, counts, long)


class _Hits:
    """Passages of two memories that are equal or alike, counted for the memories."""

    def __init__(self, units: _Units) -> None:
        self._units, self._owners = units, units.owners
        self._hits: dict[Ids, tuple[set[int], set[int]]] = {}
        self._common: dict[str, dict[int, list[int]]] = defaultdict(dict)
        for unit, own in enumerate(units.owners):
            if len(own) > COMMON:
                for id_, place in own:
                    self._common[id_].setdefault(unit, []).append(place)

    def add(self, alike: Iterable[tuple[int, int]]) -> None:
        """Counts passages of one text, and of texts that are alike.

        Args:
            alike: Two places among the texts each.
        """
        rare = [own if len(own) <= COMMON else () for own in self._owners]
        pairs = chain(
            chain.from_iterable(combinations(own, 2) for own in rare),
            chain.from_iterable(product(rare[low], rare[high]) for low, high in alike),
        )
        for (one, at_one), (other, at_other) in map(sorted, pairs):
            if one != other:
                of_one, of_other = self._hits.setdefault((one, other), (set(), set()))
                of_one.add(at_one)
                of_other.add(at_other)

    def bounds(self) -> dict[Ids, float]:
        """Returns upper bounds of the larger shared fraction of two notes, above `MOST`, by ids."""
        bounds, words = {}, self._units.words
        for (one, other), (of_one, of_other) in self._hits.items():
            if self._units.long.isdisjoint((one, other)):
                continue
            for unit in self._common[one].keys() & self._common[other].keys():
                of_one.update(self._common[one][unit])
                of_other.update(self._common[other][unit])
            share = max(_share(words[one], of_one), _share(words[other], of_other))
            if share > MOST:
                bounds[one, other] = share
        return bounds


def _share(words: Sequence[int], places: Iterable[int]) -> float:
    """Returns the share of words in some passages, 0 to 1."""
    return sum(words[place] for place in places) / max(1, sum(words))


def _closest_partners(bounds: Mapping[Ids, float], tally: Tally) -> dict[Ids, float]:
    """Returns the pairs with most in common, `PARTNERS` of each note; counts the others."""
    partners: Counter[str] = Counter()
    closest = {}
    for pair, share in sorted(bounds.items(), key=lambda item: (-item[1], item[0])):
        if min(partners[pair[0]], partners[pair[1]]) >= PARTNERS:
            tally.skip(LEFT_OUT, *pair)
            continue
        partners.update(pair)
        closest[pair] = share
    return closest


# ------------------------------------------------------------------ verdicts and overlaps


def questions_of(settings: Settings) -> Questions:
    """Returns the budget of questions about passages, see `MOST_PAIRS`."""
    return Questions(None if settings.asks_all else MOST_PAIRS)


@dataclass(slots=True)
class PassageComparison:
    """Compares the pairs of a run that have a long side.

    Attributes:
        memories: By id.
        proposed: Pairs in which one note may contain most of the other.
        judge: Judges passages.
        questions: Chooses the passages that the pair model is asked about.
        apart: Pairs a person decided to keep both of.
        tally: Takes what was left out.
        tell: Progress.
    """

    memories: Mapping[str, Memory]
    proposed: ProposedNotes
    judge: Judge
    questions: Questions
    apart: AbstractSet[Ids]
    tally: Tally
    tell: Progress
    _judged: Counter[str] = field(default_factory=Counter)
    _compared: dict[Ids, NoteComparison] = field(default_factory=dict)
    _merged: set[Ids] = field(default_factory=set)

    def settle(self, judged: Sequence[Judged]) -> list[Judged]:
        """Returns verdicts of the judge, those on long notes settled by their passages."""
        settled = list(judged)
        places = [at for at, each in enumerate(judged) if self._is_asked(each)]
        pairs = [self._pair((judged[at].a, judged[at].b), {HOW: 0.0}) for at in places]
        compared = self._compare(pairs, [judged[at].verdict for at in places])
        for at, pair in zip(places, pairs, strict=True):
            settled[at] = self._with_passages(judged[at], compared.get((pair.a.id, pair.b.id)))
        return settled

    def _is_asked(self, judged: Judged) -> bool:
        """Returns whether passages could change the verdict, or have to bear it out."""
        asked = merges(judged.verdict) or isinstance(judged.verdict, Subsumes)
        asked = asked or (judged.a, judged.b) in self.proposed.bounds
        return asked and has_long_side(self._pair((judged.a, judged.b), {HOW: 0.0}))

    def further(self, known: Collection[Judged]) -> list[Judged]:
        """Returns merges of pairs that no detector proposed as a whole, by ids.

        Args:
            known: Pairs that were judged.
        """
        done = {(each.a, each.b) for each in known} | self.apart
        wanted = sorted(self.proposed.bounds.keys() - done)
        pairs = [self._pair(ids, {HOW: self.proposed.bounds[ids]}) for ids in wanted]
        compared = self._compare(pairs)
        judged = [
            self._with_passages(Judged(*ids, verdict), compared.get(ids))
            for ids, verdict in zip(wanted, RuleJudge().judge_all(pairs), strict=True)
        ]
        return [each for each in judged if merges(each.verdict)]

    def _pair(self, ids: Ids, signals: Mapping[str, float]) -> Pair:
        return Pair(self.memories[ids[0]], self.memories[ids[1]], signals)

    def _compare(
        self, pairs: Sequence[Pair], wholes: Sequence[Verdict] = ()
    ) -> dict[Ids, NoteComparison]:
        """Returns comparisons by ids within the budget, and counts the pairs beyond it.

        Args:
            pairs: Of notes.
            wholes: Verdicts on the whole texts, where there are any.
        """
        if pairs:
            self.tell("comparing passages", 0, len(pairs))
        within = []
        for at, pair in enumerate(pairs):
            namespace, most = pair.a.namespace, passages_to_judge(pair)
            if self._judged[namespace] + most > MOST_JUDGED:
                self.tally.skip(UNJUDGED, pair.a.id, pair.b.id)
            else:
                self._judged[namespace] += most
                within.append(at)
        wanted = [pairs[at] for at in within]
        known = [wholes[at] for at in within] if wholes else ()
        compared = compare_notes(self.judge, wanted, known)
        return {(p.a.id, p.b.id): each for p, each in zip(wanted, compared, strict=True)}

    def _with_passages(self, judged: Judged, comparison: NoteComparison | None) -> Judged:
        """Returns the verdict with the word of the passages, and remembers the comparison."""
        ids = judged.a, judged.b
        if comparison is None:
            return Judged(*ids, not_borne_out(judged.verdict))
        verdict = comparison.verdict(judged.verdict)
        self._compared[ids] = comparison
        if merges(verdict):
            self._merged.add(ids)
        return Judged(*ids, verdict)

    def overlaps(self, groups: Iterable[Group]) -> tuple[Overlap, ...]:
        """Returns visible notes that contain most of another visible note, by ids.

        Args:
            groups: Their members are not reported: the survivor says what they say.
        """
        members = {member.id for group in groups for member in group.members}
        return tuple(
            overlap
            for ids, comparison in sorted(self._compared.items())
            if ids not in self._merged and members.isdisjoint(ids)
            if (overlap := _overlap(ids, comparison)).largest > MOST
        )


def _overlap(ids: Ids, comparison: NoteComparison) -> Overlap:
    """Returns what two notes share."""
    shared = [m for m in comparison.matches if m.b_holds_a or m.flipped.b_holds_a]
    in_a, in_b = {m.a for m in shared if m.b_holds_a}, {m.b for m in shared if m.flipped.b_holds_a}
    differing = (m for m in comparison.matches if m.differs and m.a not in in_a and m.b not in in_b)
    return Overlap(
        a=ids[0],
        b=ids[1],
        share_a=comparison.share_a,
        share_b=comparison.share_b,
        passages=tuple(_shared(comparison, shared)),
        differing=tuple(_shared(comparison, differing)),
    )


def _shared(comparison: NoteComparison, matches: Iterable[PassageMatch]) -> Iterator[SharedPassage]:
    """Yields matches with the offsets of their passages."""
    for match in matches:
        a, b = comparison.a.passages[match.a], comparison.b.passages[match.b]
        name = verdict_name(match.verdict)
        yield SharedPassage((a.start, a.end), (b.start, b.end), name)
