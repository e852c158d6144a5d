"""Commands that only look: list, search, show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    again,
    chosen,
    examples,
    json_option,
    limit_option,
    settings_for,
    store_argument,
)
from echoless.cli.progress import Bar
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    MemoryText,
    Table,
    command,
    count,
    cut,
    dim,
    flat,
    names,
    records_in,
    say,
    short_time,
    strong,
    texts_in,
)
from echoless.core.errors import InputError
from echoless.core.json_codec import memory_to_json
from echoless.core.masking import learn
from echoless.core.model import Json, JsonObject, Memory
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices
from echoless.core.text import token_estimate
from echoless.core.timestamps import day, instant, spelled
from echoless.execution.plan_blocks import plain_verdict, skipped_blocks
from echoless.stores import Store, open_store
from echoless.stores.base import check_namespace
from echoless.stores.ledger import Event, Mark
from echoless.stores.reading import standing_marks
from echoless.workflows.retrieval.search import MODES, Answer, Mode, search

# ------------------------------------------------------------------ list

_ORDERS: Final[Mapping[str, Callable[[Memory], tuple[object, ...]]]] = {
    "name": lambda memory: (memory.namespace, memory.id),
    "size": lambda memory: (-token_estimate(memory.content), memory.id),
    "newest": lambda memory: (-(instant(memory.created_at) or 0.0), memory.id),
    "oldest": lambda memory: (instant(memory.created_at) or 0.0, memory.id),
}


@click.command(
    "list",
    epilog=examples("echoless list CLAUDE.md", "echoless list agent.db --sort size --limit 20"),
)
@store_argument
@click.option(
    "--sort",
    type=click.Choice(tuple(_ORDERS)),
    default="name",
    show_default=True,
    help="By name, estimated tokens, or time of creation.",
)
@click.option("--words", metavar="TEXT", default="", help="Only memories that hold this text.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N.")
@chosen("namespace")
@json_option
def list_command(
    *, store: str, sort: str, words: str, limit: int | None, choices: Choices, as_json: bool
) -> None:
    """List the memories of STORE: name, day, estimated tokens, how each begins. Reads only.

    Hidden duplicates are marked. `show` has all of one memory, `search` finds by meaning.
    """
    with open_store(store) as opened:
        namespace = settings_for(opened, choices).namespace
        check_namespace(opened, namespace)
        memories = {memory.id: memory for memory in opened.scan()}
        marks = standing_marks(opened, memories, Tally())
    some = [
        memory
        for memory in memories.values()
        if namespace in {None, memory.namespace} and words.casefold() in memory.content.casefold()
    ]
    some.sort(key=_ORDERS[sort])
    listed = some[:limit]
    learn(listed)
    rows: list[dict[str, Json]] = [
        {
            "id": memory.id,
            "namespace": memory.namespace,
            "created_at": memory.created_at,
            "tokens": token_estimate(memory.content),
            "hidden": marks[memory.id].survivor if memory.id in marks else None,
            "begins": flat(memory.content),
        }
        for memory in listed
    ]
    if as_json:
        render.show_json({"memories": rows, "count": len(some)})
        return
    for row, memory in zip(rows, listed, strict=True):
        made = f"{day(memory.created_at)}, " if memory.created_at else ""
        behind = f", hidden behind {row['hidden']}" if row["hidden"] else ""
        about = f" ({made}{row['tokens']} tokens{behind}): {row['begins']}"
        render.show([cut(strong(memory.id), about)])
    tokens = sum(token_estimate(memory.content) for memory in some)
    render.show([say(strong(f"{count(len(some), 'memory', 'memories')}, {tokens:,} tokens."))])


# ------------------------------------------------------------------ search


@click.command(
    "search",
    epilog=examples(
        'echoless search agent.db "database port"',
        'echoless search agent.db "what does she like to drink" --mode hybrid',
    ),
)
@store_argument
@click.argument("query", metavar="QUERY")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="auto",
    show_default=True,
    help="By words, by vector, or both (hybrid). auto: by words, and by vector where the words are "
    "in no memory and an encoder is at hand.",
)
@limit_option
@chosen("namespace", "encoder", "cache")
@click.option(
    "--include-duplicates", is_flag=True, help="Show hidden duplicates as hits of their own."
)
@json_option
def search_command(
    *,
    store: str,
    query: str,
    mode: Mode,
    limit: int,
    include_duplicates: bool,
    choices: Choices,
    as_json: bool,
) -> None:
    """Search STORE for QUERY. Reads only; access counts do not change.

    A hidden duplicate that matches folds under its survivor, and its place goes to the next hit. An
    older value that is known to be replaced gives its place to the newer one, and stands beside it.
    """
    with open_store(store) as opened, Bar(quiet=as_json) as bar:
        settings = settings_for(opened, choices)
        answer = search(
            opened,
            query,
            mode=mode,
            limit=limit,
            namespace=settings.namespace,
            include_duplicates=include_duplicates,
            encoder=settings.encoder,
            cache=settings.cache,
            progress=bar,
        )
    render.show_answer(answer.to_json(), _answer_blocks(answer, store), as_json=as_json)


_LEAST_SCORE: Final = 0.001
"""Minimum score to show; common words score lower."""


def _answer_blocks(answer: Answer, store: str) -> Iterator[Block]:
    """Yields the hits in their order, then how many there are."""
    for place, hit in enumerate(answer.hits, 1):
        memory = hit.memory
        made = short_time(memory.created_at or "")
        score = f"score {hit.score:.3f}" if hit.score >= _LEAST_SCORE else ""
        facts = " · ".join(filter(None, (memory.namespace, memory.type, made, score)))
        yield say(f"{place}. ", strong(memory.id), f"  {facts}")
        yield say(flat(memory.content), level=1)
        for older in hit.older:
            until = f"until {day(older.until)}" if older.until else "earlier"
            line = f"{until}: {flat(older.memory.content)}  ({older.memory.id})"
            yield say(dim(line), level=1)
        if hit.hidden:
            hidden = f"{count(len(hit.hidden), 'duplicate')} hidden: {names(hit.hidden)}"
            yield say(dim(hidden), level=1)
        if hit.survivor:
            yield say(dim(f"duplicate of {hit.survivor}"), level=1)
    hidden = f", {count(answer.hidden, 'duplicate')} hidden" if answer.hidden else ""
    nothing = f"Nothing found for {answer.query!r}."
    yield say(strong(f"{count(len(answer.hits), 'hit')}{hidden}." if answer.hits else nothing))
    if answer.hidden:
        line = command_line("search", store, answer.query, "--include-duplicates")
        yield say("To see the duplicates, too:")
        yield command(again("--include-duplicates") or line)
    if answer.tally.skipped or answer.tally.notes:
        yield Gap()
    yield from skipped_blocks(answer.tally)


# ------------------------------------------------------------------ show


@click.command("show", epilog=examples("echoless show agent.db m-17 m-42"))
@store_argument
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
def show_command(*, store: str, ids: tuple[str, ...], as_json: bool) -> None:
    """Show memories of STORE by ID: the record, its links, what stands behind it, its history."""
    with open_store(store) as opened:
        memories = opened.get(ids)
        missing = [id_ for id_ in ids if id_ not in memories]
        if missing:
            raise InputError(
                f"There is no memory {', '.join(map(repr, missing))} in {without_password(store)}. "
                f"`{command_line('search', store, 'WORDS')}` finds ids by words."
            )
        views = [_MemoryView.of(opened, memories[id_]) for id_ in dict.fromkeys(ids)]
        data: Json = {"memories": [view.to_json() for view in views]}
        blocks = (block for view in views for block in view.blocks())
        render.show_answer(data, blocks, as_json=as_json)


_HEADED: Final = frozenset({"id", "content"})
"""Fields of a record that are printed above the table of the remaining fields."""
_TIMES: Final = frozenset({"created_at", "updated_at", "last_accessed"})


@dataclass(frozen=True, slots=True)
class _MemoryView:
    """One memory with its entries in the ledger.

    Attributes:
        record: The memory as JSON, with vectors by model and length only.
        survivor: The memory it is hidden behind, or None.
        hidden: Marks of the memories hidden behind it.
        links: Whether the store holds the target of each link.
        history: Events about the memory, with the role of the memory in each.
    """

    record: Mapping[str, Json]
    survivor: str | None
    hidden: tuple[Mark, ...]
    links: Mapping[str, bool]
    history: tuple[tuple[Event, str], ...]

    @classmethod
    def of(cls, store: Store, memory: Memory) -> _MemoryView:
        """Reads from a store what is shown of a memory."""
        vectors = {vector.model: vector.dimensions for vector in memory.vectors}
        marks = store.ledger.marks()
        own = marks.get(memory.id)
        targets = store.get(link.target for link in memory.links)
        history: list[tuple[Event, str]] = []
        runs: set[str] = set()
        answers: set[str] = set()
        for event in store.ledger.events():
            role = _role(event, memory.id)
            if role is None and event.kind == "run_undone" and event.run in runs:
                role = "restored"
            if event.kind == "review_withdrawn" and event.data["key"] in answers:
                role = "answer taken back"
            if event.kind == "reviewed" and role is not None:
                answers.add(str(event.data["key"]))
            if role is not None:
                runs.add(event.run)
                history.append((event, role))
        return cls(
            record=memory_to_json(memory) | {"vectors": vectors},
            survivor=None if own is None else own.survivor,
            hidden=tuple(mark for mark in marks.values() if mark.survivor == memory.id),
            links={link.target: link.target in targets for link in memory.links},
            history=tuple(history),
        )

    def to_json(self) -> dict[str, Json]:
        """Returns the memory as in `echoless show --json`."""
        return {
            **self.record,
            "survivor": self.survivor,
            "hidden": [
                {"id": m.duplicate, "verdict": m.verdict, "similarity": m.similarity, "run": m.run}
                for m in self.hidden
            ],
            "links_found": dict(self.links),
            "history": [
                {"at": event.at, "run": event.run, "event": event.kind, "role": role}
                for event, role in self.history
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Yields the memory for a person."""
        yield Heading(str(self.record["id"]))
        yield MemoryText(str(self.record["content"]))
        yield Gap()
        facts = (
            (name, spelled(_fact(value)) if name in _TIMES else _fact(value))
            for name, value in self.record.items()
            if name not in _HEADED and value not in (None, "", [], {})
        )
        yield Table(("field", "value"), tuple(facts))
        yield Gap()
        if self.survivor:
            yield say(strong(f"Hidden behind {self.survivor}."))
        yield say(strong(f"{count(len(self.hidden), 'memory', 'memories')} behind it."))
        for m in self.hidden:
            yield say(strong(m.duplicate), f"  {plain_verdict(m.verdict)}", level=1)
            yield say(dim(f"hidden by {m.run}"), level=2)
        for target, is_held in self.links.items():
            yield say(f"links to {target}" + ("" if is_held else " (not in this store)"), level=1)
        if self.history:
            rows = tuple(
                (short_time(event.at), event.kind.replace("_", " "), role, event.run)
                for event, role in self.history
            )
            yield Gap()
            yield Table(("at", "event", "as", "run"), rows)
        yield Gap()


def _fact(value: Json) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(map(str, value))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _role(event: Event, id_: str) -> str | None:
    """Returns the role of a memory in an event, or None where it has none."""
    data = event.data
    if event.kind in {"kept_both", "kept_both_taken_back"}:
        return "pair" if id_ in {data.get("a"), data.get("b")} else None
    if event.kind == "released":
        return "pair" if id_ in data.values() else None
    if event.kind == "reviewed":
        return _role_in_answer(data, id_)
    if event.kind == "confirmed":
        return "said again" if data.get("id") == id_ else None
    if event.kind not in {"action_started", "action_refused"}:
        return None
    if id_ in texts_in(data.get("added")):
        return "added"
    if data.get("survivor") == id_:
        return "survivor"
    members = [each["id"] for each in records_in(data.get("members"))]
    return "member" if id_ in members or id_ in texts_in(data.get("ids")) else None


def _role_in_answer(data: JsonObject, id_: str) -> str | None:
    """Returns the role of a memory in an answer of a review."""
    if id_ not in texts_in(data.get("ids")):
        return None
    choice = str(data.get("choice"))
    if choice != "accept":
        return choice
    if data.get("survivor") == id_:
        return "accepted as survivor"
    return "accepted to go" if id_ in texts_in(data.get("hidden")) else "left out"
