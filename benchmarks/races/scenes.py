"""What two commands are told when they meet, for each pair of the eight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final

from benchmarks.races.worlds import World

COMMANDS: Final = (
    "import",
    "export",
    "backup",
    "apply",
    "remember",
    "undo",
    "purge",
    "check",
)
PAIRS: Final = tuple(combinations_with_replacement(COMMANDS, 2))

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """Two command lines on one world.

    Attributes:
        name: What they have to do with each other.
        a: The first command line; the race decides which starts first.
        b: The second.
        back: Whether undoing all that stands must give back the beginning; not where a file brings
            ids again that a run removed, which undo rightly refuses to overwrite.
    """

    name: str
    a: Words
    b: Words
    back: bool = True

    def words(self) -> tuple[Words, Words]:
        """Both."""
        return self.a, self.b


def scenes(pair: tuple[str, str], world: World) -> list[Scene]:
    """All that is tried for a pair, in the order of `COMMANDS`."""
    made = list(_SPECIAL.get(pair, _plain)(pair, world))
    if world.kind.name not in {"sqlite", "jsonl"}:
        made = [scene for scene in made if not scene.name.startswith("a new store")]
    return made


def _plain(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    a, b = (_words(name, world) for name in pair)
    yield Scene("one store", a, b)


def _words(name: str, world: World, *, target: str = "") -> Words:
    """A command in its plain form."""
    store = world.kind.store
    match name:
        case "import":
            return ("import", "a.jsonl", target or store)
        case "export" | "backup":
            return (name, store, target or "out.db")
        case "apply":
            return ("apply", store, "delete.json")
        case "remember":
            return _remember(store, "Olga keeps the spare key under the blue pot.", "r-a")
        case "undo":
            return ("undo", store, world.first)
        case "purge":
            return ("purge", store, world.first, "--yes")
        case _:
            return (name, store)


def _remember(store: str, text: str, id_: str, *more: str) -> Words:
    words: Words = ("remember", store, text, "--encoder", "none", *more)
    return words if store.startswith("recall") else (*words, "--id", id_)


# ------------------------------------------------------------------ import


def _import_import(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store, new = world.kind.store, f"new{world.kind.suffix}"
    yield Scene(
        "a new store, other texts", ("import", "a.jsonl", new), ("import", "clash.jsonl", new)
    )
    yield Scene("two files", ("import", "a.jsonl", store), ("import", "b.jsonl", store))
    yield Scene("other texts", ("import", "a.jsonl", store), ("import", "clash.jsonl", store))
    yield Scene(
        "a new store, one refused", ("import", "a.jsonl", new), ("import", "bad.jsonl", new)
    )
    yield Scene("one file", ("import", "a.jsonl", store), ("import", "a.jsonl", store))
    yield Scene("a new store, one file", ("import", "a.jsonl", new), ("import", "a.jsonl", new))


def _import_copy(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    copy, new = pair[1], f"new{world.kind.suffix}"
    store = world.kind.store
    yield Scene("one store", ("import", "a.jsonl", store), (copy, store, "out.db"))
    yield Scene(
        "a new store under the name of the copy", ("import", "a.jsonl", new), (copy, store, new)
    )
    yield Scene("a new store, copied", ("import", "a.jsonl", new), (copy, new, "out.db"))
    if copy == "export":
        yield Scene("as lines", ("import", "a.jsonl", store), (copy, store, "out.jsonl"))


def _import_remember(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store, new = world.kind.store, f"new{world.kind.suffix}"
    remembering = _words("remember", world)
    made = _remember(new, "Olga keeps the spare key under the blue pot.", "r-a", "--create")
    yield Scene("one store", ("import", "a.jsonl", store), remembering)
    yield Scene("a new store", ("import", "a.jsonl", new), made)
    yield Scene("one fact", ("import", "a.jsonl", store), _remember(store, world.new, "r-a"))
    yield Scene("a new store, the file refused", ("import", "bad.jsonl", new), made)


def _import_other(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    store, new = world.kind.store, f"new{world.kind.suffix}"
    other = _words(pair[1], world)
    yield Scene("one store", ("import", "a.jsonl", store), other)
    if pair[1] == "check":
        yield Scene("a new store", ("import", "a.jsonl", new), ("check", new))
        return
    yield Scene("ids a run removes", ("import", "removed.jsonl", store), other, back=False)


# ------------------------------------------------------------------ export and backup


def _copy_copy(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    store, (a, b) = world.kind.store, pair
    yield Scene("one name", (a, store, "out.db"), (b, store, "out.db"))
    if pair == ("export", "export"):
        yield Scene("one name, lines", (a, store, "out.jsonl"), (b, store, "out.jsonl"))
    yield Scene("two names", (a, store, "out.db"), (b, store, "other.db"))


def _copy_other(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    other = _words(pair[1], world)
    targets = ("out.db", "out.jsonl") if pair[0] == "export" else ("out.db",)
    for target in targets:
        yield Scene(f"into {target}", _words(pair[0], world, target=target), other)


# ------------------------------------------------------------------ those that write


def _apply_apply(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store = world.kind.store
    yield Scene("one plan", ("apply", store, "delete.json"), ("apply", store, "delete.json"))
    yield Scene("mark and delete", ("apply", store, "mark.json"), ("apply", store, "delete.json"))
    yield Scene("mark and merge", ("apply", store, "mark.json"), ("apply", store, "merge.json"))


def _apply_remember(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store = world.kind.store
    yield Scene("one store", ("apply", store, "delete.json"), _words("remember", world))
    known = _remember(store, world.planned, "r-a")
    yield Scene("what the plan removes", ("apply", store, "merge.json"), known)


def _apply_other(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    store = world.kind.store
    for action in ("delete", "mark", "merge"):
        yield Scene(action, ("apply", store, f"{action}.json"), _words(pair[1], world))
    if pair[1] == "undo":
        yield Scene("undo last", ("apply", store, "delete.json"), ("undo", store, "last"))


def _remember_remember(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store, text = world.kind.store, "Olga keeps the spare key under the blue pot."
    other = "The quarterly report is due on Friday at noon."
    yield Scene("one fact", _remember(store, text, "r-a"), _remember(store, text, "r-b"))
    yield Scene("two facts", _remember(store, text, "r-a"), _remember(store, other, "r-b"))
    yield Scene("one id", _remember(store, text, "r-a"), _remember(store, other, "r-a"))
    yield Scene("known", _remember(store, world.known, "r-a"), _remember(store, world.known, "r-b"))
    key = ("--key", "request-7")
    yield Scene("one key", _remember(store, text, "r-a", *key), _remember(store, text, "r-a", *key))


def _remember_other(pair: tuple[str, str], world: World) -> Iterator[Scene]:
    other = _words(pair[1], world)
    yield Scene("one store", _words("remember", world), other)
    if pair[1] == "undo":
        yield Scene("what undo brings", _remember(world.kind.store, world.gone, "r-a"), other)


def _undo_undo(_: tuple[str, str], world: World) -> Iterator[Scene]:
    store = world.kind.store
    yield Scene("one run", ("undo", store, world.first), ("undo", store, world.first))
    yield Scene("two runs", ("undo", store, world.first), ("undo", store, world.second))
    yield Scene("last, twice", ("undo", store, "last"), ("undo", store, "last"))


_Maker = Callable[[tuple[str, str], World], Iterator[Scene]]

_SPECIAL: Final[dict[tuple[str, str], _Maker]] = {
    ("import", "import"): _import_import,
    ("import", "export"): _import_copy,
    ("import", "backup"): _import_copy,
    ("import", "remember"): _import_remember,
    **{("import", name): _import_other for name in ("apply", "undo", "purge", "check")},
    ("export", "export"): _copy_copy,
    ("export", "backup"): _copy_copy,
    ("backup", "backup"): _copy_copy,
    **{(copy, name): _copy_other for copy in ("export", "backup") for name in COMMANDS[3:]},
    ("apply", "apply"): _apply_apply,
    ("apply", "remember"): _apply_remember,
    **{("apply", name): _apply_other for name in ("undo", "purge", "check")},
    ("remember", "remember"): _remember_remember,
    **{("remember", name): _remember_other for name in ("undo", "purge", "check")},
    ("undo", "undo"): _undo_undo,
}
