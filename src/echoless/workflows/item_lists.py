"""A list in, a list out: what to keep of some texts, and what two texts are to each other.

Nothing is opened or written: the items go the road of `find` as a list of memories, without caches.
The same calls are answered line by line for programs in other languages (`answer`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Final, Generic, TypeVar

from echoless.core.errors import BadRecord, EcholessError, InputError
from echoless.core.masking import learn
from echoless.core.model import (
    Json,
    JsonObject,
    Memory,
    Subsumes,
    Update,
    Verdict,
    flipped,
    verdict_name,
)
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.verdict_sentences import sentence
from echoless.models.encoders.base import NO_VECTOR
from echoless.stores.jsonl_record import KEYS
from echoless.stores.live import MemoryList
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.pairs import Question, json_object, judge_pairs

T = TypeVar("T")

ENCODER: Final = "fast"
"""Encoder of lists. Of 38 pairs in other words in lists of 20 it finds 16, `use` 17, `none` 0. It
takes half the time of `use`, which also keeps itself unpacked in the cache folder
(`benchmarks/results/speed_distinct.md`)."""
TEXT: Final = "content"
"""Key or attribute of the text by default."""

_NEEDED: Final = {"distinct": ("items",), "judge": ("a", "b")}
"""What a request must hold, by its call."""
_EXPECTED: Final = '{"call": "distinct", "items": […]} or {"call": "judge", "a": …, "b": …}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonedVerdict:
    """A verdict with its reason.

    Attributes:
        verdict: With its evidence.
        reason: What the two are to each other, as a clause of plain English.
    """

    verdict: Verdict
    reason: str

    def to_json(self, **places: int) -> dict[str, Json]:
        """Returns it as in the answers to requests, see `docs/cli.md`, behind some places."""
        return {
            **places,
            "verdict": verdict_name(self.verdict),
            "superset": self.verdict.superset if isinstance(self.verdict, Subsumes) else None,
            "newer": self.verdict.newer if isinstance(self.verdict, Update) else None,
            "similarity": self.verdict.evidence.similarity,
            "chance": self.verdict.evidence.chance,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedItem(ReasonedVerdict, Generic[T]):
    """An item that stands behind another one, which is side a of the verdict.

    Attributes:
        item: As it was given.
        place: In the list, from 0.
    """

    item: T
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor(Generic[T]):
    """An item that stays.

    Attributes:
        item: As it was given.
        place: In the list, from 0.
        folded: What it stands for as well, in the order of the list.
    """

    item: T
    place: int
    folded: tuple[FoldedItem[T], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPair(ReasonedVerdict, Generic[T]):
    """Two items that are not folded and are worth a look: another value, a newer one, a doubt.

    Attributes:
        a: The earlier item of the list.
        b: The later one.
        places: Of both.
    """

    a: T
    b: T
    places: tuple[int, int]

    @property
    def newer(self) -> T | None:
        """Returns the item that holds now, of an `Update`."""
        if not isinstance(self.verdict, Update):
            return None
        return self.a if self.verdict.newer == "a" else self.b


class DistinctItems(list[T]):
    """The items to keep, in the order of the list: the caller's own objects.

    Attributes:
        survivors: The same with what is folded behind each.
        held: Pairs that are not folded, see `HeldPair`.
        skipped: Places of items that were not compared, by reason, such as `empty` and `too long`,
            or whose pairs rules alone decided; such items stay.
        notes: Sentences about the whole, such as a model that is missing.
        unjudged: Pairs beyond the budget, of thousands of items on one topic.
    """

    def __init__(
        self, survivors: Iterable[Survivor[T]], held: Iterable[HeldPair[T]], tally: Tally, left: int
    ) -> None:
        """Takes what a run found, what it tallied, and the number of pairs it left out."""
        self.survivors, self.held, self.unjudged = tuple(survivors), tuple(held), left
        super().__init__(each.item for each in self.survivors)
        self.skipped = {why: [*map(int, ids)] for why, ids in tally.skipped.items()}
        self.skipped.pop(NO_VECTOR, None)  # where words alone were asked for
        self.notes = tally.notes

    def to_json(self) -> dict[str, Json]:
        """Returns places, verdicts and reasons, without the items; see `docs/cli.md`."""
        return {
            "keep": [
                {"place": each.place, "folded": [f.to_json(place=f.place) for f in each.folded]}
                for each in self.survivors
            ],
            "held": [each.to_json(a=each.places[0], b=each.places[1]) for each in self.held],
            "skipped": self.skipped,
            "notes": self.notes,
            "unjudged": self.unjudged,
        }


def distinct(items: Iterable[T], *, text: str = TEXT, encoder: str = ENCODER) -> DistinctItems[T]:
    """Returns which items to keep, with what each stands for; opens and writes no file.

    Of items that say the same one stays: the one that says more, else the clean, else the first. A
    pair with another value is never folded; it is in `held`.

    Args:
        items: Texts, mappings, `Memory` or any objects with a text attribute. Of a mapping the
            text, `created_at` and `updated_at` count; of a `Memory` everything but its id.
        text: Key or attribute of the text.
        encoder: `fast` by default; `none` compares words alone, in a tenth of the time; any other
            as for `find`.

    Raises:
        InputError: An item has no text; the message names its place.
        UsageError: The encoder is unknown.
    """
    if isinstance(items, str | bytes | Mapping):
        raise InputError(f"Expected a list of items, not one {type(items).__name__}.")
    listed = list(items)
    with MemoryList(_memories(listed, text)) as store:
        findings = find(store, _settings(encoder))
    folded: dict[int, list[FoldedItem[T]]] = {at: [] for at in range(len(listed))}
    for group in findings.groups:
        for pair in (member.judged for member in group.members if member.judged):
            stays_first = pair.a == group.survivor
            verdict = pair.verdict if stays_first else flipped(pair.verdict)
            reason = sentence(verdict, "the one that stays", "this one")
            place = int(pair.b if stays_first else pair.a)
            made = FoldedItem(item=listed[place], place=place, verdict=verdict, reason=reason)
            folded[int(group.survivor)].append(made)
            del folded[place]
    survivors = (
        Survivor(item=listed[at], place=at, folded=tuple(sorted(some, key=lambda f: f.place)))
        for at, some in folded.items()
    )
    held = (
        HeldPair(a=listed[a], b=listed[b], places=(a, b), verdict=verdict, reason=sentence(verdict))
        for a, b, verdict in ((int(j.a), int(j.b), j.verdict) for j in findings.held)
    )
    return DistinctItems(survivors, held, findings.tally, findings.left_out + findings.unasked)


def judge(a: object, b: object, *, text: str = TEXT, encoder: str = ENCODER) -> Verdict:
    """Returns what two texts are to each other; opens and writes no file.

    Args:
        a: A text, a mapping, a `Memory` or an object with a text attribute, as for `distinct`.
        b: The other.
        text: Key or attribute of the text.
        encoder: `fast` by default. With `none` the pair model is not asked, and words decide.

    Raises:
        InputError: One has no text.
        UsageError: The encoder is unknown.
    """
    question = Question("", _memory(a, "a", text, "a"), _memory(b, "b", text, "b"))
    (ruling,) = judge_pairs([question], _settings(encoder))
    return ruling.verdict


@lru_cache(maxsize=8)
def _settings(encoder: str) -> Settings:
    return resolve(Choices(encoder=encoder, cache=False))


def _memories(items: Sequence[object], text: str) -> list[Memory]:
    return [_memory(item, f"items[{at}]", text, f"{at:09}") for at, item in enumerate(items)]


def _memory(item: object, where: str, text: str, id_: str) -> Memory:
    """Returns an item as a memory.

    Args:
        item: Of the caller.
        where: Its place, for messages.
        text: Key or attribute of the text.
        id_: Of the memory. That of a `Memory` is not looked at, so that it may occur twice.

    Raises:
        InputError: It has no text.
    """
    if isinstance(item, str):
        return Memory(id=id_, content=item)
    if isinstance(item, Memory):
        return replace(item, id=id_)
    fields = item if isinstance(item, Mapping) else {text: getattr(item, text, None)}
    content = fields.get(text)
    if not isinstance(content, str):
        kind = type(item if content is None else content).__name__
        lack = f"is a {kind} without {text!r}"
        if content is not None:
            lack = f"has no text: its {text!r} is a {kind}"
        elif isinstance(item, Mapping):
            lack = f"has no {text!r}, only {', '.join(map(repr, [*fields][:6])) or 'nothing'}"
        raise InputError(f"{where} {lack}. Name the key or attribute of its text with `text`.")
    created, updated = (_time(fields, name) for name in ("created_at", "updated_at"))
    return Memory(id=id_, content=content, created_at=created, updated_at=updated)


def _time(fields: Mapping[str, object], name: str) -> str | None:
    """Returns a time as text; what is none, such as the NaN of an empty cell, tells no time."""
    value = next((fields[key] for key in KEYS[name] if key in fields), None)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, str | int | float) else None


# ------------------------------------------------------------------ requests of other programs


def answer(line: bytes, encoder: str = ENCODER) -> dict[str, Json]:
    """Returns the answer to one line of `echoless judge --serve`; see `docs/lists.md`.

    Args:
        line: A JSON object with `call`, its arguments, and an `id` that comes back.
        encoder: For requests that name none.

    Returns:
        What `distinct` or `judge` found, or an `error` in one sentence.
    """
    id_: Json = None
    try:
        request = json_object(line)
        id_ = request.get("id")
        return {"id": id_} | _answered({"text": TEXT, "encoder": encoder, **request})
    except BadRecord as problem:
        return {"id": id_, "error": f"The line is no request: {problem}. Expected {_EXPECTED}."}
    except EcholessError as problem:
        return {"id": id_, "error": str(problem)}


def _answered(request: JsonObject) -> dict[str, Json]:
    """Carries out one request.

    Raises:
        InputError: It asks for nothing, or lacks something.
    """
    call, text, encoder = request.get("call"), request["text"], request["encoder"]
    needed = _NEEDED.get(call if isinstance(call, str) else "")
    if needed is None:
        raise InputError(f"There is no call {call!r}. Expected {_EXPECTED}.")
    for name in [*needed, *sorted(request)]:
        if name not in request or name not in {*needed, "id", "call", "text", "encoder"}:
            what = "has the unknown" if name in request else "lacks"
            raise InputError(f"The call {call!r} {what} {name!r}. Expected {_EXPECTED}.")
    if not isinstance(text, str) or not isinstance(encoder, str):
        raise InputError("'text' and 'encoder' are texts.")
    items = request["items"] if call == "distinct" else [request["a"], request["b"]]
    if not isinstance(items, list):
        raise InputError("'items' is no list.")
    if call == "distinct":
        said = distinct(items, text=text, encoder=encoder).to_json()
    else:
        verdict = judge(*items, text=text, encoder=encoder)
        said = ReasonedVerdict(verdict=verdict, reason=sentence(verdict)).to_json()
    learn(_memories(items, text))  # reasons quote single words
    return said
