"""Figures of what tools hide and name, from what is known of a corpus. No tool is called here."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from statistics import fmean
from typing import Any, Final, Protocol

from benchmarks.public.corpora import (
    HERE,
    Dialogues,
    Facts,
    Memories,
    News,
    Pairs,
    Question,
    digest,
)
from echoless import Memory
from echoless.stores import full_text

Figures = dict[str, Any]
DRAWS: Final = 20
"""Random removals that a chance is the mean of."""
DEPTHS: Final = (5, 20)
LABELS: Final = ("right", "arguable", "wrong")
READ: Final = {
    (row["hidden"], row["stays"]): row["label"]
    for row in map(json.loads, (HERE / "read.jsonl").read_text("utf-8").splitlines())
}
"""What one reader says of pairs of LoCoMo, by the digests of both texts. Right: nothing of the
hidden text is lost. Arguable: a shade of it is. Wrong: another subject, stage, event or fact."""
_PIECE: Final = re.compile(r"\w+|[^\w\s]")
"""Words and marks, counted in place of the tokens of some model."""


class WrongAnswer(Exception):
    """Error for a tool whose pairs cannot be: the message names the place."""


def settled(pairs: Iterable[tuple[int, int]], memories: Memories) -> dict[int, int]:
    """Returns the memory that stays visible, by the place of each hidden one.

    Args:
        pairs: Hidden and survivor, as a tool gave them. A survivor may be hidden itself.
        memories: What the tool was given.

    Raises:
        WrongAnswer: A place is none, is hidden twice, behind another scope, or in a circle.
    """
    behind: dict[int, int] = {}
    places = range(len(memories.texts))
    for hidden, stays in pairs:
        if hidden not in places or stays not in places:
            raise WrongAnswer(f"({hidden}, {stays}): places go from 0 to {len(places) - 1}.")
        if hidden in behind:
            raise WrongAnswer(f"({hidden}, {stays}): {hidden} was hidden before.")
        if memories.scopes[hidden] != memories.scopes[stays]:
            raise WrongAnswer(f"({hidden}, {stays}): the two are of different scopes.")
        behind[hidden] = stays
    return {hidden: _last(hidden, behind) for hidden in behind}


def _last(hidden: int, behind: Mapping[int, int]) -> int:
    seen = {hidden}
    while hidden in behind:
        hidden = behind[hidden]
        if hidden in seen:
            raise WrongAnswer(f"{hidden} stands behind itself: nothing stays visible for it.")
        seen.add(hidden)
    return hidden


class _Search(Protocol):
    def __call__(self, query: str, limit: int, scope: str | None = None) -> list[int]: ...


@contextmanager
def searching(memories: Memories, hidden: Collection[int]) -> Iterator[_Search]:
    """Gives the plain search of echoless (BM25 over words) over the visible memories."""
    database, names = full_text.index(
        Memory(id=f"{place:09}", content=text, namespace=scope)
        for place, (text, scope) in enumerate(zip(memories.texts, memories.scopes, strict=True))
        if place not in hidden
    )
    with closing(database):

        def search(query: str, limit: int, scope: str | None = None) -> list[int]:
            found = full_text.search(database.connection, query, scope, limit)
            return [int(names[name]) for name, _ in found]

        yield search


# ------------------------------------------------------------------------------- evidence kept


def evidence(corpus: Dialogues, behind: Mapping[int, int]) -> Figures:
    """Returns how many questions lose evidence, and how much of it a search still finds.

    A question loses evidence when no visible memory is drawn from one of its gold turns. The
    memory that stays may say the same, so this is an upper bound; `chance` is the same for as many
    memories hidden by lot.
    """
    places = range(len(corpus.turns))
    draw = random.Random(46)
    chance = [_lost(corpus, {*draw.sample(places, len(behind))}) for _ in range(DRAWS)]
    lost = _lost(corpus, behind)
    return {
        "hidden": len(behind),
        "questions": len(corpus.questions),
        "lost": lost,
        "lost_of_100_hidden": round(100 * lost / len(behind), 1) if behind else 0.0,
        "chance": round(fmean(chance), 1),
        **_recall(corpus, behind),
        "tokens": _tokens(corpus, behind),
        "read": _read(corpus.memories.texts, behind),
    }


def _read(texts: Sequence[str], behind: Mapping[int, int]) -> Figures:
    """Returns how many of the hidden memories a person who read both texts found right."""
    said = Counter(
        READ.get((digest(texts[hidden]), digest(texts[stays])), "unread")
        for hidden, stays in behind.items()
    )
    return {label: said[label] for label in (*LABELS, "unread")}


def _lost(corpus: Dialogues, hidden: Collection[int]) -> int:
    visible: dict[str, set[str]] = defaultdict(set)
    for place, turns in enumerate(corpus.turns):
        if place not in hidden:
            visible[corpus.memories.scopes[place]] |= turns
    return sum(not each.turns <= visible[each.scope] for each in corpus.questions)


def _recall(corpus: Dialogues, behind: Mapping[int, int]) -> Figures:
    shares: dict[str, list[float]] = defaultdict(list)
    with searching(corpus.memories, behind) as search:
        for each in corpus.questions:
            found = search(each.text, max(DEPTHS), each.scope)
            for depth in DEPTHS:
                share = _share(corpus, each, found[:depth])
                shares[f"recall_{depth}"].append(share)
                shares[f"recall_{depth}: {each.kind}"].append(share)
    return {name: round(fmean(values), 3) for name, values in sorted(shares.items())}


def _share(corpus: Dialogues, question: Question, found: Sequence[int]) -> float:
    turns = frozenset[str]().union(*(corpus.turns[place] for place in found))
    return len(question.turns & turns) / len(question.turns)


def _tokens(corpus: Dialogues, behind: Mapping[int, int]) -> Figures:
    """Returns the mean length of a prompt of the first hits before, and what is hidden of it."""
    sizes = [len(_PIECE.findall(text)) for text in corpus.memories.texts]
    with searching(corpus.memories, ()) as search:
        prompts = [search(each.text, max(DEPTHS), each.scope) for each in corpus.questions]
    whole = [sum(sizes[place] for place in found) for found in prompts]
    saved = [sum(sizes[place] for place in found if place in behind) for found in prompts]
    return {"prompt": round(fmean(whole), 1), "saved": round(fmean(saved), 2)}


# --------------------------------------------------------------------------- current value first


def current(corpus: Facts, behind: Mapping[int, int], named: Sequence[tuple[int, int]]) -> Figures:
    """Returns how often the current value comes first, and what became of superseded facts.

    `merged` counts superseded facts in one group with the current one, whichever of them stays;
    `newest` has the figures if the newest fact of each group stayed in place of the tool's choice.
    """
    superseded = corpus.superseded
    group = {place: behind.get(place, place) for place in range(len(corpus.slots))}
    last = {stays: place for place, stays in group.items()}
    newest = {place: last[stays] for place, stays in group.items() if place != last[stays]}
    right = sum(superseded.get(older) == newer for older, newer in set(named))
    return {
        "hidden": len(behind),
        "questions": len(corpus.questions),
        "superseded": len(superseded),
        "recognised": right,
        "named_wrongly": len(set(named)) - right,
        "merged": sum(group[older] == group[newer] for older, newer in superseded.items()),
        **_values(corpus, behind),
        "newest": _values(corpus, newest),
    }


def _values(corpus: Facts, behind: Mapping[int, int]) -> Figures:
    """Returns what search finds of the current values, and how many facts are hidden rightly.

    A hidden fact is so if it is superseded and the current one of its slot stays for it.
    """
    superseded = corpus.superseded
    rightly = sum(superseded.get(hidden) == stays for hidden, stays in behind.items())
    first, five = 0, 0
    with searching(corpus.memories, behind) as search:
        for question, answers in corpus.questions:
            hits = [_holds(corpus, place, answers) for place in search(question, 5)]
            first += any(hits[:1])
            five += any(hits)
    return {
        "first": first,
        "first_five": five,
        "rightly": rightly,
        "wrongly": len(behind) - rightly,
        "current_gone": sum(place not in superseded for place in behind),
    }


def _holds(corpus: Facts, place: int, answers: Sequence[str]) -> bool:
    text = corpus.memories.texts[place]
    return any(
        re.search(rf"(?<!\w){re.escape(str(answer))}(?!\w)", text, re.IGNORECASE)
        for answer in answers
    )


# ------------------------------------------------------------------------------- updates named


def updates(corpus: News, behind: Mapping[int, int], named: Sequence[tuple[int, int]]) -> Figures:
    """Returns how many labelled updates are named, and how many alarms are about no labelled note.

    Not all news of a corpus is labelled, so what counts as a false alarm is an upper bound.
    """
    pairs = {frozenset(pair) for pair in named}
    known = {frozenset(pair) for pair in corpus.updates}
    false = sum(not pair & corpus.labelled for pair in pairs - known)
    notes = len(corpus.memories.texts)
    return {
        "notes": notes,
        "updates": corpus.asked,
        "located": len(corpus.updates),
        "named": len(known & pairs),
        "alarms": len(pairs),
        "false_alarms": false,
        "false_of_1000_notes": round(1000 * false / notes, 1),
        "hidden": len(behind),
        "older_hidden": sum(behind.get(older) == newer for older, newer in corpus.updates),
        "newer_hidden": sum(newer in behind for _, newer in corpus.updates),
        "labelled_hidden": sum(place in behind for place in corpus.labelled),
    }


# ---------------------------------------------------------------------------------- same or not


def same(corpus: Pairs, behind: Mapping[int, int]) -> Figures:
    """Returns precision and recall with their bounds (Wilson, 95 %), by set."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for place, (name, mergeable) in enumerate(zip(corpus.sets, corpus.mergeable, strict=True)):
        merged = 2 * place in behind or 2 * place + 1 in behind
        for each, hit in enumerate((mergeable and merged, merged, mergeable, True)):
            counts[name][each] += hit
    return {
        name: {
            "pairs": pairs,
            "mergeable": mergeable,
            "merged": merged,
            "right": right,
            "precision": bounded(right, merged),
            "recall": bounded(right, mergeable),
        }
        for name, (right, merged, mergeable, pairs) in counts.items()
    }


def bounded(hits: int, of: int) -> list[float] | None:
    """Returns a share with its bounds by Wilson, 95 %; None for a share of nothing."""
    if not of:
        return None
    z, share = 1.96, hits / of
    whole = 1 + z * z / of
    middle = (share + z * z / (2 * of)) / whole
    width = z * (share * (1 - share) / of + (z / (2 * of)) ** 2) ** 0.5 / whole
    return [round(each, 3) for each in (share, max(0.0, middle - width), min(1.0, middle + width))]
