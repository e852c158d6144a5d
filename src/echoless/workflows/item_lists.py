"""A list in, a list out: what to keep of some texts, and what two texts are to each other.

Nothing is opened or written: the items go the road of `find` as a list of memories, without caches.
The same calls are answered line by line for programs in other languages (`answer`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Final, Generic, TypeVar, overload

from echoless.core.errors import EcholessError, InputError
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
from echoless.core.secret_masking import learn
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.verdict_sentences import sentence
from echoless.models.encoders.base import NO_VECTOR
from echoless.stores.jsonl_record import KEYS
from echoless.stores.memory_list import MemoryList
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.pairs.judge_pairs import Question, Ruling, judge_pairs

T = TypeVar("T")

ENCODER: Final = "fast"
"""Encoder of lists. Of 38 pairs in other words among 500 texts it finds 14, `use` 15 and `none` 0;
20 texts take it a half of the time of `use`, which also keeps itself in the cache folder."""
TEXT: Final = "content"
"""Field of the text by default."""

_MOST_NAMED: Final = 6
"""Keys of a mapping that a message names."""
_NEEDED: Final = {"distinct": ("items",), "judge": ("a", "b")}
"""What a request must hold, by its call."""
_EXPECTED: Final = '{"call": "distinct", "items": […]} or {"call": "judge", "a": …, "b": …}'


@dataclass(frozen=True, slots=True)
class FoldedItem(Generic[T]):
    """An item that stands behind another one.

    Attributes:
        item: As it was given.
        place: In the list, from 0.
        verdict: On the one that stays (side a) and this one (side b).
        reason: What the two are to each other, as a clause of plain English.
    """

    item: T
    place: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class HeldPair(Generic[T]):
    """Two items that are not folded and are worth a look: another value, a newer one, a doubt.

    Attributes:
        a: The earlier item of the list.
        b: The later one.
        places: Of both.
        verdict: `Update`, `Contradiction`, `Sibling` or `Unsure`.
        reason: What the two are to each other, as a clause of plain English.
    """

    a: T
    b: T
    places: tuple[int, int]
    verdict: Verdict
    reason: str

    @property
    def newer(self) -> T | None:
        """Returns the item that holds now, of an `Update`."""
        if not isinstance(self.verdict, Update):
            return None
        return self.a if self.verdict.newer == "a" else self.b


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctItems(Sequence[T]):
    """The items to keep, in the order of the list; a sequence of the caller's own objects.

    Attributes:
        survivors: The same with what is folded behind each.
        held: Pairs that are not folded, see `HeldPair`.
        skipped: Places of items that were not compared, by reason, such as `empty` and `too long`,
            or whose pairs rules alone decided; such items stay.
        notes: Sentences about the whole, such as a model that is missing.
        unjudged: Pairs beyond the budget, of thousands of items on one topic.
    """

    survivors: tuple[Survivor[T], ...]
    held: tuple[HeldPair[T], ...]
    skipped: Mapping[str, tuple[int, ...]]
    notes: tuple[str, ...]
    unjudged: int

    def __len__(self) -> int:
        return len(self.survivors)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [each.item for each in self.survivors[place]]
        return self.survivors[place].item

    def to_json(self) -> dict[str, Json]:
        """Returns places, verdicts and reasons, without the items; see `docs/lists.md`."""
        return {
            "keep": [
                {
                    "place": each.place,
                    "folded": [
                        {"place": item.place} | _verdict_json(item.verdict, item.reason)
                        for item in each.folded
                    ],
                }
                for each in self.survivors
            ],
            "held": [
                {"a": each.places[0], "b": each.places[1]}
                | _verdict_json(each.verdict, each.reason)
                for each in self.held
            ],
            "skipped": {reason: list(places) for reason, places in self.skipped.items()},
            "notes": list(self.notes),
            "unjudged": self.unjudged,
        }


def _verdict_json(verdict: Verdict, reason: str) -> dict[str, Json]:
    return {
        "verdict": verdict_name(verdict),
        "superset": verdict.superset if isinstance(verdict, Subsumes) else None,
        "newer": verdict.newer if isinstance(verdict, Update) else None,
        "similarity": verdict.evidence.similarity,
        "chance": verdict.evidence.chance,
        "reason": reason,
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
        raise InputError(
            f"Expected a list of items, not one {type(items).__name__}. Write distinct([…])."
        )
    listed = list(items)
    with MemoryList(_memories(listed, text)) as store:
        findings = find(store, _settings(encoder))
    folded: dict[int, list[FoldedItem[T]]] = defaultdict(list)
    behind: set[int] = set()
    for group in findings.groups:
        for place, judged in sorted((int(m.id), m.judged) for m in group.members if m.judged):
            behind.add(place)
            verdict = judged.verdict if judged.a == group.survivor else flipped(judged.verdict)
            reason = sentence(verdict, "the one that stays", "this one")
            folded[int(group.survivor)].append(FoldedItem(listed[place], place, verdict, reason))
    return DistinctItems(
        survivors=tuple(
            Survivor(item, place, tuple(folded[place]))
            for place, item in enumerate(listed)
            if place not in behind
        ),
        held=tuple(
            HeldPair(
                listed[int(each.a)],
                listed[int(each.b)],
                (int(each.a), int(each.b)),
                each.verdict,
                sentence(each.verdict),
            )
            for each in findings.held
        ),
        skipped={
            reason: tuple(map(int, ids))
            for reason, ids in findings.tally.skipped.items()
            if reason != NO_VECTOR  # words alone were asked for
        },
        notes=findings.tally.notes,
        unjudged=findings.left_out + findings.unasked,
    )


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
    return _ruling(a, b, text, encoder).verdict


def _ruling(a: object, b: object, text: str, encoder: str) -> Ruling:
    question = Question("", _memory(a, "a", text, "a"), _memory(b, "b", text, "b"))
    (ruling,) = judge_pairs([question], _settings(encoder))
    return ruling


def _memories(items: Sequence[object], text: str) -> list[Memory]:
    return [_memory(item, f"items[{at}]", text, f"{at:09}") for at, item in enumerate(items)]


@lru_cache(maxsize=8)
def _settings(encoder: str) -> Settings:
    return resolve(Choices(encoder=encoder, cache=False))


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
        raise InputError(f"{where} {_lack(item, text, content)}")
    created, updated = (_time(fields, name) for name in ("created_at", "updated_at"))
    return Memory(id=id_, content=content, created_at=created, updated_at=updated)


def _time(fields: Mapping[str, object], name: str) -> str | None:
    """Returns a time as text; what is none, such as the NaN of an empty cell, tells no time."""
    value = next((fields[key] for key in KEYS[name] if key in fields), None)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, str | int | float) else None


def _lack(item: object, text: str, content: object) -> str:
    """Returns what is wrong with an item without a text, and what would help."""
    if content is not None:
        return f"has no text: its {text!r} is a {type(content).__name__}."
    if isinstance(item, Mapping):
        names = ", ".join(repr(key) for key in list(item)[:_MOST_NAMED]) or "nothing"
        return f"has no {text!r}, only {names}. Name the field of its text with text=…"
    return (
        f"is a {type(item).__name__} without {text!r}. Expected a text, a mapping or an object "
        "with a text."
    )


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
        request = _request(line)
        id_ = request.get("id")
        return {"id": id_} | _answered(request, encoder)
    except EcholessError as problem:
        return {"id": id_, "error": str(problem)}


def _request(line: bytes) -> JsonObject:
    """Reads the JSON object of a line.

    Raises:
        InputError: It holds none.
    """
    try:
        request = json.loads(line)
    except (RecursionError, ValueError) as problem:
        raise InputError(f"The line is no JSON: {problem}.") from problem
    if not isinstance(request, dict):
        raise InputError(f"The line holds no JSON object. Expected {_EXPECTED}.")
    return request


def _answered(request: JsonObject, encoder: str) -> dict[str, Json]:
    """Carries out one request.

    Raises:
        InputError: It asks for nothing, or lacks something.
    """
    call = request.get("call")
    needed = _NEEDED.get(call if isinstance(call, str) else "")
    if needed is None:
        raise InputError(f"There is no call {call!r}. Expected {_EXPECTED}.")
    missing = [name for name in needed if name not in request]
    unknown = sorted(request.keys() - {*needed, "id", "call", "text", "encoder"})
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"has the unknown {unknown[0]!r}"
        raise InputError(f"The call {call!r} {what}. Expected {_EXPECTED}.")
    text, named = request.get("text", TEXT), request.get("encoder", encoder)
    if not isinstance(text, str) or not isinstance(named, str):
        raise InputError("'text' and 'encoder' are texts.")
    if call == "judge":
        ruling = _ruling(request["a"], request["b"], text, named)
        learn((ruling.question.a, ruling.question.b))
        return _verdict_json(ruling.verdict, sentence(ruling.verdict))
    items = request["items"]
    if not isinstance(items, list):
        raise InputError("'items' is no list.")
    answered = distinct(items, text=text, encoder=named).to_json()
    learn(_memories(items, text))  # reasons quote single words
    return answered
