"""Judges pairs of texts without a store, and explains one in full.

Each pair is ruled on by itself: the ruling depends on the two memories and the settings, not on the
pairs around it, the size of a batch or the order (a verifier's questions are counted over a run).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from echoless.blocking.candidates import options_for
from echoless.blocking.detectors import lexical, open_detector
from echoless.core.eligibility import unfit
from echoless.core.errors import BadRecord, InputError
from echoless.core.model import (
    Distinct,
    Evidence,
    Json,
    JsonObject,
    Memory,
    Pair,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    merges,
    verdict_name,
)
from echoless.core.profiles import SAFE, Profile
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.text import is_blank
from echoless.matching import Judge
from echoless.matching.explanation import Explanation, Reading, explain
from echoless.matching.runner import open_consultation, open_judge, settled_by_claims, verdicts_on
from echoless.matching.verifiers.consultation import Consultation
from echoless.models.encoders.registry import open_vectoriser
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.stores import jsonl_record as records

BATCH: Final = 256
"""Pairs judged, and texts encoded, together."""

EXPECTED: Final = (
    'one JSON object with "a" and "b", each a text or a memory object, such as '
    '{"id": "p-1", "a": "…", "b": "…"}'
)
_BOM: Final = b"\xef\xbb\xbf"

WORDS_ONLY: Final = "no vector, compared by words only"
NOT_COMPARED: Final = "not-compared"


@dataclass(frozen=True, slots=True)
class Question:
    """Two memories that are to be judged.

    Attributes:
        id: Any text; need not be unique.
        a: One memory.
        b: The other.
    """

    id: str
    a: Memory
    b: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The judge's answer to a question.

    Attributes:
        question: The question.
        verdict: The verdict, with `question.a` on side a.
        similarity: 0 to 1: cosine of the vectors where there are some, else shared wording.
        barred: Why the pair could not be merged whatever the verdict; empty if it could.
    """

    question: Question
    verdict: Verdict
    similarity: float
    barred: str = ""

    @property
    def merge(self) -> bool:
        """Checks whether the profile by itself would let one of the two stand behind the other."""
        return merges(self.verdict) and not self.barred

    @property
    def evidence(self) -> str:
        """Returns one line: the evidence of the verdict, and what bars a merge it would allow."""
        line = " ".join(self.verdict.evidence.line().split())
        return (
            f"{line}; not merged: {self.barred}" if merges(self.verdict) and self.barred else line
        )

    def to_json(self) -> dict[str, Json]:
        """Returns the ruling as in `judge --json`; see `docs/cli.md`."""
        difference = self.verdict.evidence.difference
        return {
            "id": self.question.id,
            "verdict": verdict_name(self.verdict),
            "merge": self.merge,
            "similarity": self.similarity,
            "chance": self.verdict.evidence.chance,
            "difference": difference.value if difference else None,
            "evidence": self.evidence,
            "superset": self.verdict.superset if isinstance(self.verdict, Subsumes) else None,
            "newer": self.verdict.newer if isinstance(self.verdict, Update) else None,
        }


def judge_pairs(
    questions: Iterable[Question],
    settings: Settings | None = None,
    *,
    profile: str | None = None,
    encoder: str | None = None,
    verifier: str | None = None,
    tally: Tally | None = None,
    batch: int = BATCH,
) -> Iterator[Ruling]:
    """Yields a ruling for each pair, in their order; reads and writes no store.

    Args:
        questions: Read batch by batch. If reading fails, what was read before is ruled on first.
        settings: Complete settings; `profile`, `encoder` and `verifier` are a shorter way to them.
        profile: Name of a profile; `safe` by default.
        encoder: `auto`, `stored`, `none` or `name:argument`. Used where the profile compares by
            meaning.
        verifier: `none` or `name:argument` of a model asked about unsure pairs.
        tally: Takes what was fallen back on, by id of the question.
        batch: Pairs at a time, at least 1.

    Raises:
        UsageError: A setting is unknown. This and a missing library are told at once, everything
            else when it comes up.
        MissingExtra: The library of a named encoder or verifier is not installed.
        EncoderError: The embedding model failed.
        VerifierError: The verifier cannot answer anything.
    """
    chosen = settings or resolve(Choices(profile=profile, encoder=encoder, verifier=verifier))
    tally = Tally() if tally is None else tally
    vectoriser = None
    if any(use.name == "semantic" for use in chosen.profile.detectors):
        vectoriser = open_vectoriser(chosen.encoder, cache=chosen.cache, prefer_stored=False)
    judge = open_judge(chosen.profile, vectoriser, tally)
    consultation = open_consultation(chosen, lambda _stage, _done, _all: None)
    pair_judge = _PairJudge(chosen.profile, judge, vectoriser, consultation, tally)

    def rulings() -> Iterator[Ruling]:
        for some in _batches(questions, max(1, batch)):
            yield from pair_judge.rule(some)
        if consultation is not None:
            consultation.report(tally)

    return rulings()


def _batches(questions: Iterable[Question], size: int) -> Iterator[list[Question]]:
    """Yields batches; what was read before an error comes before the error."""
    waiting: list[Question] = []
    try:
        for question in questions:
            waiting.append(question)
            if len(waiting) == size:
                yield waiting
                waiting = []
    except InputError:
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


@dataclass(frozen=True, slots=True)
class _PairJudge:
    """The judge of one run, with its profile, vectors and verifier."""

    profile: Profile
    judge: Judge
    vectoriser: MemoryVectoriser | None
    consultation: Consultation | None
    tally: Tally

    def rule(self, questions: Sequence[Question]) -> Iterator[Ruling]:
        """Yields the rulings on one batch."""
        reasons = {
            place: "; ".join(
                f"{side}: {why}"
                for side, memory in (("a", question.a), ("b", question.b))
                if (why := unfit(memory.content))
            )
            for place, question in enumerate(questions)
        }
        fit = [place for place, reason in reasons.items() if not reason]
        measured = dict(zip(fit, self._measured([questions[place] for place in fit]), strict=True))
        asked = [place for place in fit if measured[place][1]]
        pairs = [Pair(questions[p].a, questions[p].b, measured[p][1]) for p in asked]
        verdicts = verdicts_on(self.judge, self.profile, pairs)
        if self.consultation is not None:
            verdicts = self.consultation.settle(pairs, verdicts, self.tally)
        given = dict(zip(asked, verdicts, strict=True))
        not_proposed = f"no detector of the profile {self.profile.name} proposes it"
        for place, question in enumerate(questions):
            verdict: Verdict
            if barred := reasons[place]:
                similarity = float(question.a.content == question.b.content)
                verdict = Unsure(Evidence(NOT_COMPARED, "none", similarity, note=barred, veto=True))
            else:
                similarity = measured[place][0]
                verdict = given.get(place) or Distinct(
                    Evidence("not-alike", "lexical", similarity, note=not_proposed)
                )
                barred = self._barred(question, verdict)
            yield Ruling(question=question, verdict=verdict, similarity=similarity, barred=barred)

    def _barred(self, question: Question, verdict: Verdict) -> str:
        """Returns what would keep the two apart in a run: scope or protection; empty if nothing."""
        a, b = question.a, question.b
        scopes = zip(self.profile.scope_of(a), self.profile.scope_of(b), strict=True)
        for name, (one, other) in zip(self.profile.scopes, scopes, strict=True):
            if one != other:
                return f"another {name}"
        if a.pinned and b.pinned:
            return "both are pinned"
        if isinstance(verdict, Subsumes) and (b if verdict.superset == "a" else a).pinned:
            return "the one that says less is pinned"
        return ""

    def _measured(self, questions: Sequence[Question]) -> list[tuple[float, dict[str, float]]]:
        """Returns the similarity of each pair to report, and the signals for the judge.

        The full judge reads the texts, and is always asked. The others trust that a detector of
        their profile proposed the pair, so for them one has to.
        """
        measured = []
        for question, cosine in zip(questions, self._cosines(questions), strict=True):
            signals = {"lexical": lexical.pair_similarity(question.a.content, question.b.content)}
            if cosine is not None:
                signals["semantic"] = cosine
            elif self.vectoriser is not None and self.vectoriser.encoder is not None:
                self.tally.skip(WORDS_ONLY, question.id)
            similarity = signals.get("semantic", signals["lexical"])
            full = self.profile.judge == "full"
            measured.append((similarity, signals if full else self._proposals(question)))
        return measured

    def _proposals(self, question: Question) -> dict[str, float]:
        """Returns what the detectors of the profile measure for two memories without others."""
        if question.a.content == question.b.content:
            return {"exact": 1.0}
        alone = [replace(question.a, id="a"), replace(question.b, id="b")]
        signals: dict[str, float] = {}
        for use in self.profile.detectors:
            detector = open_detector(use.name, options_for(use, self.vectoriser))
            for candidate in detector.detect(alone, Tally()):
                signals[use.name] = candidate.similarity
        return signals

    def _cosines(self, questions: Sequence[Question]) -> list[float | None]:
        """Returns the cosine of each pair, or None without vectors of one model for both."""
        if self.vectoriser is None:
            return [None] * len(questions)
        if self.vectoriser.encoder is None:
            alone = (([q.a, q.b], [(0, 1)]) for q in questions)
            return [each for two in alone for each in _closest(self.vectoriser, *two, self.tally)]
        texts = sorted({text for q in questions for text in (q.a.content, q.b.content)})
        places = {text: place for place, text in enumerate(texts)}
        # stored vectors stay out: whether they are comparable would hang on the rest of the batch
        memories = [Memory(id=str(place), content=text) for text, place in places.items()]
        pairs = [(places[q.a.content], places[q.b.content]) for q in questions]
        return _closest(self.vectoriser, memories, pairs, self.tally)


def _closest(
    vectoriser: MemoryVectoriser,
    memories: Sequence[Memory],
    pairs: list[tuple[int, int]],
    tally: Tally,
) -> list[float | None]:
    """Returns the highest cosine any model gives each pair of positions."""
    from echoless.blocking.vector_join.self_join import measured

    scratch = Tally()
    by_model = [measured(each, pairs) for each in vectoriser.matrices(memories, scratch)]
    tally.note(*scratch.notes)
    return [
        max((cosine for each in by_model if (cosine := each[at]) is not None), default=None)
        for at in range(len(pairs))
    ]


# ------------------------------------------------------------------ pairs of a file


def read_questions(lines: Iterable[bytes], source: str) -> Iterator[Question]:
    """Yields questions from JSON Lines; each line is read and checked when it is asked for.

    Args:
        lines: Raw lines, UTF-8. Empty ones are passed over.
        source: Name of the file in messages.

    Raises:
        BadRecord: A line holds no pair; the message names the line.
    """
    for number, line in enumerate(lines, 1):
        raw = line.removeprefix(_BOM) if number == 1 else line
        if not raw.strip():
            continue
        try:
            yield _question(raw, number)
        except BadRecord as problem:
            raise BadRecord(
                f"Line {number} of {source} is no pair: {problem}. Expected {EXPECTED}. "
                "Mend or remove the line."
            ) from problem


def json_object(line: bytes) -> JsonObject:
    """Reads a line that is a JSON object.

    Raises:
        BadRecord: It is none; the message is a clause.
    """
    try:
        data = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise BadRecord(f"it is not valid UTF-8 (byte {problem.start + 1})") from problem
    except json.JSONDecodeError as problem:
        raise BadRecord(f"it is not JSON ({problem.msg} at column {problem.colno})") from problem
    except (RecursionError, ValueError) as problem:
        raise BadRecord(f"it cannot be read ({problem})") from problem
    if not isinstance(data, dict):
        raise BadRecord("it is not a JSON object")
    return data


def _question(line: bytes, number: int) -> Question:
    """Reads one line.

    Raises:
        BadRecord: It holds no pair; the message is a clause.
    """
    data = json_object(line)
    given = number if data.get("id") is None else data["id"]
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise BadRecord('its "id" is neither text nor whole number')
    id_ = str(given)
    a, b = _side(data, "a", id_), _side(data, "b", id_)
    if isinstance(data["a"], str):  # a bare text has no scope of its own: it takes the other's
        a = replace(a, namespace=b.namespace)
    elif isinstance(data["b"], str):
        b = replace(b, namespace=a.namespace)
    return Question(id_, a, b)


def _side(data: JsonObject, side: Side, id_: str) -> Memory:
    """Reads the memory of one side.

    Args:
        data: The whole line.
        side: The key.
        id_: Of the question.

    Raises:
        BadRecord: There is none, or it has no text; the message is a clause.
    """
    value = data.get(side)
    if value is None:
        raise BadRecord(f'"{side}" is missing')
    memory_id = f"{id_}/{side}"
    if isinstance(value, str):
        memory = Memory(id=memory_id, content=value)
    elif isinstance(value, dict):
        text, own = records.text_of(value), value.get("id")
        if text is None:
            raise BadRecord(
                f'"{side}" has no text: none of "content", "text" and "memory" is a string'
            )
        try:
            memory = records.from_object(
                value, own if isinstance(own, str) and own else memory_id, text
            )
        except BadRecord as problem:
            raise BadRecord(f'in "{side}": {problem}') from problem
    else:
        raise BadRecord(f'"{side}" is neither a text nor a memory object')
    if is_blank(memory.content):
        raise BadRecord(f'the text of "{side}" is blank')
    return memory


# ------------------------------------------------------------------ one pair in full


def explain_memories(a: Memory, b: Memory, *, settings: Settings, tally: Tally) -> Explanation:
    """Explains what the judge says of two memories; reads and writes no store.

    Args:
        a: One memory.
        b: The other.
        settings: Names encoder and cache. Without an encoder values and wording decide, as in a
            run.
        tally: Takes what was fallen back on.

    Raises:
        UsageError: The encoder is unknown.
        MissingExtra: Its library is not installed.
        DamagedPackage: The weights of the pair model are not as they were shipped.
    """
    vectors = open_vectoriser(settings.encoder, cache=settings.cache, prefer_stored=False)
    pair = Pair(a, b, {"lexical": 0.0})
    judge = open_judge(SAFE, vectors, tally)
    explanation = explain(judge, pair)
    (verdict,) = settled_by_claims(judge, SAFE, [pair], [explanation.verdict])
    return replace(explanation, verdict=verdict)


def explanation_json(explanation: Explanation) -> dict[str, Json]:
    """Returns the documented answer of `explain --json`."""
    reading = explanation.reading
    return {
        "verdict": verdict_name(explanation.verdict),
        "merge": merges(explanation.verdict),
        "evidence": explanation.verdict.evidence.line(),
        "shared": list(explanation.shared),
        "only_a": list(explanation.only_a),
        "only_b": list(explanation.only_b),
        "values": [
            {"kind": v.kind.value, "relation": v.relation.value, "a": list(v.a), "b": list(v.b)}
            for v in explanation.values
        ],
        "against": [
            {"rule": rule, "kind": d.kind.value, "a": list(d.a), "b": list(d.b)}
            for rule, d in explanation.against
        ],
        "model": None if reading is None else reading_json(reading),
        "would_change": list(explanation.would_change),
    }


def reading_json(reading: Reading) -> dict[str, Json]:
    """Returns the probabilities of the pair model, as in `explain --json`."""
    answer = asdict(reading)
    answer["words"] = [left | {"same": round(left["same"], 4)} for left in answer["words"]]
    return {key: round(x, 4) if isinstance(x, float) else x for key, x in answer.items()}
