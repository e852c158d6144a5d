"""Was every exit code honest, and is the store in order? Each fault as one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.races.holdings import Holding, Seen
from benchmarks.races.orders import Outcome, Serial
from benchmarks.races.processes import KILLED, End
from benchmarks.races.scenes import Scene
from benchmarks.races.worlds import World

CANNOT_NOW: Final = 4
"""Exit code of what the store cannot do now: a command may end so where another one is at work."""

_MEANWHILE: Final = "was made by another process meanwhile"
"""What a command says whose new file another one made first; it ends with 2."""

_ALLOWED: Final = frozenset({0, 1, 2, 3, 4, 5, 6, 9})
_LEFT_BY_SQLITE: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Race:
    """One race and its end.

    Attributes:
        scene: What was tried.
        ends: Of both commands.
        outcomes: What both say.
        seen: The folder after it.
        killed: Place of the command that was to be killed, or None.
    """

    scene: Scene
    ends: Sequence[End]
    outcomes: Sequence[Outcome]
    seen: Seen
    killed: int | None = None


def faults(race: Race, serials: Sequence[Serial], world: World) -> list[str]:
    """Everything that is wrong after a race; empty where all is as it should be."""
    sentences = list(_codes(race))
    sentences += _store(race, serials, world)
    sentences += _claims(race)
    if not any(fits(race, serial) for serial in serials):
        sentences.append(f"like no order of the two: {_difference(race, serials)}")
    return list(dict.fromkeys(sentences))


# ------------------------------------------------------------------ exit codes and sentences


def _codes(race: Race) -> Iterator[str]:
    for words, end in zip(race.scene.words(), race.ends, strict=True):
        name = words[0]
        if end.code is None:
            yield f"{name} hangs"
        elif end.code == KILLED and race.killed is not None:
            continue
        elif end.code not in _ALLOWED:
            yield f"{name} ends with {end.code}: {_first(end.complained)}"
        if "Traceback" in end.complained or "This should not happen" in end.complained:
            yield f"{name} fails unforeseen: {_last(end.complained)}"
        elif end.code not in {0, None, KILLED} and not end.said.strip():
            lines = end.complained.strip().splitlines()
            if len(lines) != 1 or not lines[0].startswith("Error: "):
                yield f"{name} ends with {end.code} and says {end.complained.strip()!r}"


def _first(text: str) -> str:
    return (text.strip().splitlines() or ["nothing"])[0]


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing"])[-1]


# ------------------------------------------------------------------ the store


def _store(race: Race, serials: Sequence[Serial], world: World) -> Iterator[str]:
    nothing = next(serial.seen for serial in serials if not serial.order)
    seen = race.seen
    for name, holding in seen.before.items():
        if isinstance(holding, str):
            yield f"{name} cannot be read: {holding}"
    for name in seen.unsound:
        yield f"{name} is not sound: {seen.problems[name]}"
    if race.killed is None:
        yield from _left(seen, serials)
    yield from _lost(seen, nothing)
    if race.scene.back and world.kind.exact:
        yield from _returns(seen, nothing, world)


def _left(seen: Seen, serials: Sequence[Serial]) -> Iterator[str]:
    """What neither order leaves: problems that `check` tells, files that nobody needs."""
    for name, problems in seen.problems.items():
        expected = {problem for each in serials for problem in each.seen.problems.get(name, ())}
        for problem in sorted(set(problems) - expected):
            yield f"{name} is left with a problem: {problem[1]}"
    usual = set().union(*(serial.seen.names for serial in serials))
    for name in sorted(seen.names - usual):
        if not _may_stay(name, usual):
            yield f"{name} is left over"


def _may_stay(name: str, usual: set[str]) -> bool:
    """Locks and sidecars, and what SQLite leaves where a reader was the last to close."""
    if re.fullmatch(r"\..+\.lock", name):
        return name[1:-5] in usual
    if name.endswith(".echoless"):
        return name.removesuffix(".echoless") in usual
    return any(name.endswith(end) for end in _LEFT_BY_SQLITE)


def _lost(seen: Seen, nothing: Seen) -> Iterator[str]:
    """Every memory of the beginning is there, or comes back with undo."""
    if isinstance(seen.after, str) or isinstance(nothing.after, str):
        yield f"the store cannot be read once it was checked: {seen.after}"
        return
    back = {} if isinstance(seen.back, str) else seen.back.memories
    gone = nothing.after.memories.keys() - seen.after.memories.keys() - back.keys()
    if gone and not isinstance(seen.back, str):
        yield f"lost: {', '.join(sorted(gone)[:5])} ({len(gone)})"


def _returns(seen: Seen, nothing: Seen, world: World) -> Iterator[str]:
    """All that stands undone, the store is as it was before any run, additions aside."""
    if isinstance(seen.back, str) or isinstance(nothing.back, str):
        yield f"what stands cannot be undone: {seen.back}"
        return
    if seen.purged:
        return  # what a purged run did stays; the orders of the two tell how
    wrong = [
        id_ for id_, text in nothing.back.memories.items() if seen.back.memories.get(id_) != text
    ]
    if wrong:
        yield f"undo does not lead back: {', '.join(wrong[:5])} ({len(wrong)})"
    more = seen.back.memories.keys() - nothing.back.memories.keys()
    strange = [id_ for id_ in more if id_ not in world.ids]
    if strange:
        yield f"undo leaves {', '.join(sorted(strange)[:5])}"
    missing = set(nothing.lines) - set(seen.lines)
    if missing:
        yield f"{len(missing)} lines are not byte for byte as they were"
    if seen.back.marks:
        yield f"undo leaves {len(seen.back.marks)} memories hidden"


# ------------------------------------------------------------------ what is said against what is


def _claims(race: Race) -> Iterator[str]:
    for words, end, outcome in zip(race.scene.words(), race.ends, race.outcomes, strict=True):
        if end.code != 0:
            continue
        match words[0]:
            case "export" | "backup" if not _both_write(race, words[2]):
                yield from _copied(words, outcome, race.seen)
            case "import":
                if words[2] not in race.seen.before:
                    yield f"import says it is done, and there is no {words[2]}"
            case "remember":
                yield from _remembered(words, outcome, race.seen)
            case _:
                pass  # the orders of the two tell


def _both_write(race: Race, target: str) -> bool:
    """Whether the other command may have added to the copy; the orders of the two tell then."""
    others = (words for words in race.scene.words() if words[0] == "import")
    return any(words[2] == target for words in others)


def _copied(words: Sequence[str], outcome: Outcome, seen: Seen) -> Iterator[str]:
    name, target = words[0], words[2]
    said = re.search(r"memories (\d+)", outcome.claim)
    number = int(said[1]) if said else -1
    holding = seen.before.get(target)
    if holding is None:
        yield f"{name} says {number} memories, and there is no {target}"
    elif isinstance(holding, Holding) and len(holding.memories) != number:
        yield f"{name} says {number} memories, and {target} holds {len(holding.memories)}"


def _remembered(words: Sequence[str], outcome: Outcome, seen: Seen) -> Iterator[str]:
    holding = seen.before.get(words[1])
    if "admitted" not in outcome.claim or not isinstance(holding, Holding | None):
        return
    texts = "" if holding is None else "\n".join(holding.memories.values())
    if words[2] not in texts:
        yield f"remember says it is stored, and {words[1]} does not hold it"


# ------------------------------------------------------------------ one order or the other


def fits(race: Race, serial: Serial) -> bool:
    """Whether a race ended as one order would have."""
    return not any(_differences(race, serial))


def _differences(race: Race, serial: Serial) -> Iterator[str]:
    for place, outcome in enumerate(race.outcomes):
        name = f"{race.scene.words()[place][0]} ({place + 1})"
        if outcome.code == KILLED and race.killed == place:
            continue
        expected = serial.outcomes.get(place)
        if expected is None:
            if not _gave_way(race.ends[place]):
                yield f"{name} ends with {outcome.code}"
        elif outcome != expected and not (_gave_way(race.ends[place]) and expected.code):
            yield f"{name}: {outcome.code} {outcome.claim} for {expected.code} {expected.claim}"
    if race.killed is None:
        yield from _unlike("", race.seen.before, serial.seen.before)
    else:
        made = _of_the_living(race, race.seen.before)
        yield from _unlike("", made, _of_the_living(race, serial.seen.before))
    now = {"after check": race.seen.after, "undone": race.seen.back}
    then = {"after check": serial.seen.after, "undone": serial.seen.back}
    yield from _unlike(" ", now, then)


def _gave_way(end: End) -> bool:
    """Whether a command did nothing because the other one was at work."""
    return end.code == CANNOT_NOW or (end.code == 2 and _MEANWHILE in end.complained)


def _of_the_living(race: Race, before: Mapping[str, Holding | str]) -> Mapping[str, Holding | str]:
    """What the command that was not killed has made; the raced store is compared once checked."""
    assert race.killed is not None
    words = race.scene.words()[1 - race.killed]
    if words[0] not in {"export", "backup"}:
        return {}
    return {name: held for name, held in before.items() if name == words[2]}


def _unlike(
    where: str, now: Mapping[str, Holding | str], then: Mapping[str, Holding | str]
) -> Iterator[str]:
    for name in sorted(now.keys() | then.keys()):
        here, before = now.get(name), then.get(name)
        if here == before:
            continue
        if isinstance(here, Holding) and isinstance(before, Holding):
            yield f"{where}{name}: {_apart(here, before)}".strip()
        else:
            yield f"{where}{name}: {_brief(here)} for {_brief(before)}".strip()


def _apart(here: Holding, before: Holding) -> str:
    parts = []
    for field in ("memories", "marks", "runs", "images"):
        mine, other = getattr(here, field), getattr(before, field)
        differing = sorted(k for k in mine.keys() | other.keys() if mine.get(k) != other.get(k))
        if differing:
            parts.append(f"{len(differing)} {field} differ ({', '.join(differing[:2])})")
    if here.said_again != before.said_again:
        parts.append(f"said again {here.said_again} times for {before.said_again}")
    return "; ".join(parts)


def _brief(held: Holding | str | None) -> str:
    if held is None:
        return "nothing"
    return held if isinstance(held, str) else f"{len(held.memories)} memories"


def _difference(race: Race, serials: Sequence[Serial]) -> str:
    """What differs from the order it is most like."""

    def unlike(serial: Serial) -> tuple[int, int]:
        left_out = sum(
            outcome.code == 0 and place not in serial.outcomes
            for place, outcome in enumerate(race.outcomes)
        )
        return left_out, len(list(_differences(race, serial)))

    return " | ".join(_differences(race, min(serials, key=unlike)))
