"""Commands that only look: audit, similar, search, show."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

import click

from echoless.audited import audit_store
from echoless.auditing import Report, audit, report_json, share_limit
from echoless.cli import render
from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Passage,
    Table,
    count,
    dim,
    flat,
    names,
    say,
    strong,
)
from echoless.cli.options import (
    count_option,
    encoder_option,
    examples,
    finding_options,
    json_option,
    limit_option,
    mapping_options,
    namespace_option,
    no_cache_option,
    settings_for,
    store_argument,
)
from echoless.cli.progress import Bar
from echoless.cli.report import audit_blocks, second_look_blocks
from echoless.cli.shown_groups import skipped_blocks
from echoless.codec import memory_to_json
from echoless.errors import TOO_MUCH_REPETITION, InputError
from echoless.ledger import Event, Ledger
from echoless.masked import learn_told
from echoless.model import Json, Memory
from echoless.pipeline import find
from echoless.searching import MODES, Answer, Hit, Mode, search, similar
from echoless.settings import Choices, Settings
from echoless.stores import Store, open_store
from echoless.uncollected import uncollected

if TYPE_CHECKING:
    from echoless.second_look import SecondLook

# ------------------------------------------------------------------ audit


@click.command(
    "audit",
    epilog=examples(
        "echoless audit agent.db --namespace work --top 3",
        "echoless audit agent.db --fail-over 5% --json > audit.json",
        "echoless audit agent.db --markdown > audit.md",
    ),
)
@store_argument
@mapping_options
@finding_options
@count_option("--top", default=10, explained="Show the N largest groups.")
@count_option("--members", default=10, explained="Show N members of each of them.")
@count_option(
    "--pairs", default=3, explained="Show N pairs of each kind that looks alike and stays apart."
)
@click.option(
    "--fail-over",
    metavar="SHARE",
    help="End with exit code 10 if more than this share is redundant: 5% or 0.05.",
)
@click.option("--markdown", is_flag=True, help="Print the report as Markdown.")
@json_option
@uncollected()
def audit_command(
    *,
    store: str,
    choices: Choices,
    top: int,
    members: int,
    pairs: int,
    fail_over: str | None,
    markdown: bool,
    as_json: bool,
) -> int:
    """Report how much of STORE is repetition. Reads only.

    The report gives the number of redundant copies, the share they have, what they cost in tokens,
    the largest groups with reason and differences, and apart from these what only looks like a
    duplicate: updates, contradictions, siblings, and pairs a person should look at.

    Where the profile trusts a similarity, as those of other programs do, the report ends with a
    second look: which of these pairs the judge that reads the texts would hold back.
    """
    limit = None if fail_over is None else share_limit(fail_over)
    with open_store(store) as opened:
        with Bar(quiet=as_json) as bar:
            report, second = _audited(opened, settings_for(opened, choices), choices, bar)
        told = report_json(report) if as_json else {}
        learn_told(opened, told)
        shown = (
            [] if as_json else audit_blocks(opened, report, top=top, members=members, pairs=pairs)
        )
    over = limit is not None and report.ratio > limit
    if as_json:
        look = second.to_json() if second else None
        render.show_json({**told, "second_look": look})
    else:
        _print(iter([*shown, *second_look_blocks(second)]), markdown=markdown)
        if over:
            render.note(_too_much(report, str(fail_over)))
    return TOO_MUCH_REPETITION if over else 0


def _audited(
    store: Store, settings: Settings, choices: Choices, bar: Bar
) -> tuple[Report, SecondLook | None]:
    """The report, and where a profile trusts a similarity, what the full judge would hold back."""
    if settings.profile.judge == "full":
        return audit_store(store, settings, progress=bar), None
    from echoless.second_look import look_again  # noqa: PLC0415 - only for such profiles

    found = find(store, settings, progress=bar)
    return audit(found), look_again(found, encoder=choices.encoder or "auto")


def _print(blocks: Iterator[Block], *, markdown: bool) -> None:
    if not markdown:
        render.show(blocks)
        return
    render.print_lines(render.markdown(blocks))


def _too_much(report: Report, limit: str) -> str:
    return f"{report.ratio:.2%} is redundant, more than the limit of {limit}."


# ------------------------------------------------------------------ similar and search


@click.command("similar", epilog=examples('echoless similar agent.db "The user likes dark mode"'))
@store_argument
@click.argument("text", metavar="TEXT")
@limit_option
@namespace_option
@encoder_option
@no_cache_option
@json_option
def similar_command(
    *,
    store: str,
    text: str,
    limit: int,
    namespace: str | None,
    encoder: str | None,
    cache: bool | None,
    as_json: bool,
) -> None:
    """List the memories of STORE most like TEXT. Reads only.

    By meaning and by words where an encoder is at hand, by words alone where there is none. Ask it
    before writing a new memory.
    """
    with open_store(store) as opened, Bar(quiet=as_json) as bar:
        chosen = settings_for(opened, Choices(namespace=namespace, encoder=encoder, cache=cache))
        answer = similar(
            opened,
            text,
            limit=limit,
            namespace=chosen.namespace,
            encoder=chosen.encoder,
            cache=chosen.cache,
            progress=bar,
        )
    _show_answer(answer, store, as_json=as_json)


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
    default="text",
    show_default=True,
    help="By words, by vector, or both.",
)
@limit_option
@namespace_option
@click.option(
    "--include-duplicates", is_flag=True, help="Show hidden duplicates as hits of their own."
)
@encoder_option
@no_cache_option
@json_option
def search_command(
    *,
    store: str,
    query: str,
    mode: str,
    limit: int,
    namespace: str | None,
    include_duplicates: bool,
    encoder: str | None,
    cache: bool | None,
    as_json: bool,
) -> None:
    """Search STORE for QUERY. Reads only; access counts do not change.

    A hidden duplicate that matches folds under its survivor, and its place goes to the next hit.
    """
    with open_store(store) as opened, Bar(quiet=as_json) as bar:
        chosen = settings_for(opened, Choices(namespace=namespace, encoder=encoder, cache=cache))
        answer = search(
            opened,
            query,
            mode=cast("Mode", mode),
            limit=limit,
            namespace=chosen.namespace,
            include_duplicates=include_duplicates,
            encoder=chosen.encoder,
            cache=chosen.cache,
            progress=bar,
        )
    _show_answer(answer, store, as_json=as_json)


def _show_answer(answer: Answer, store: str, *, as_json: bool) -> None:
    if as_json:
        render.show_json(_answer_json(answer))
    else:
        render.show(_answer_blocks(answer, store))


def _answer_json(answer: Answer) -> dict[str, Json]:
    return {
        "query": answer.query,
        "mode": answer.mode,
        "hits": [
            {
                **_without_vectors(hit.memory),
                "score": hit.score,
                "hidden": list(hit.hidden),
                "survivor": hit.survivor,
            }
            for hit in answer.hits
        ],
        "hidden": answer.hidden,
        "skipped": dict(answer.tally.counts),
        "notes": list(answer.tally.notes),
    }


def _without_vectors(memory: Memory) -> dict[str, Json]:
    """A record for a reader; vectors by model and length only."""
    return {**memory_to_json(memory), "vectors": {v.model: v.dimensions for v in memory.vectors}}


def _answer_blocks(answer: Answer, store: str) -> Iterator[Block]:
    for place, hit in enumerate(answer.hits, 1):
        yield from _hit_blocks(place, hit)
    if not answer.hits:
        yield say(f"Nothing found for {answer.query!r}.")
    found = count(len(answer.hits), "hit")
    hidden = count(answer.hidden, "duplicate")
    yield say(strong(f"{found}, {hidden} hidden."))
    if answer.hidden:
        line = f"echoless search {shlex.quote(store)} … --include-duplicates"
        yield say(dim(f"`{line}` shows hidden duplicates."))
    yield from skipped_blocks(answer.tally)


def _hit_blocks(place: int, hit: Hit) -> Iterator[Block]:
    facts = [hit.memory.namespace, hit.memory.type, hit.memory.created_at or ""]
    yield say(
        f"{place}. ",
        strong(hit.memory.id),
        f"  {hit.score:.4g}  ",
        " · ".join(f for f in facts if f),
    )
    yield say(flat(hit.memory.content), level=1)
    if hit.hidden:
        yield say(
            dim(f"{count(len(hit.hidden), 'duplicate')} hidden: {names(hit.hidden)}"), level=1
        )
    if hit.survivor:
        yield say(dim(f"duplicate of {hit.survivor}"), level=1)


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
                f"There is no memory {', '.join(map(repr, missing))} in {store}. "
                "`echoless search` finds ids by words."
            )
        views = [_view(opened, memories[id_]) for id_ in dict.fromkeys(ids)]
        if as_json:
            render.show_json({"memories": views})
            return
        for view in views:
            render.show(_view_blocks(view))


def _view(store: Store, memory: Memory) -> dict[str, Json]:
    """One memory with what the ledger knows of it."""
    marks = store.ledger.marks()
    mine = marks.get(memory.id)
    targets = store.get(link.target for link in memory.links)
    behind = [m for m in marks.values() if m.survivor == memory.id]
    return {
        **_without_vectors(memory),
        "survivor": None if mine is None else mine.survivor,
        "hidden": [
            {"id": m.duplicate, "verdict": m.verdict, "similarity": m.similarity, "run": m.run}
            for m in behind
        ],
        "links_found": {link.target: link.target in targets for link in memory.links},
        "history": [
            {"at": event.at, "run": event.run, "event": event.kind, "role": role}
            for event, role in _events(store.ledger, memory.id)
        ],
    }


def _events(ledger: Ledger, id_: str) -> Iterator[tuple[Event, str]]:
    """Events that concern a memory, with the part it plays in them."""
    runs: set[str] = set()
    for event in ledger.events():
        role = _role(event, id_)
        if role is None and event.kind == "run_undone" and event.run in runs:
            role = "restored"
        if role is not None:
            runs.add(event.run)
            yield event, role


def _role(event: Event, id_: str) -> str | None:
    data = event.data
    if event.kind in {"kept_both", "kept_both_taken_back", "released"}:
        return "pair" if id_ in data.values() else None
    if event.kind == "confirmed":
        return "said again" if data.get("id") == id_ else None
    if event.kind not in {"action_started", "action_refused"}:
        return None
    if id_ in cast("list[str]", data.get("added", [])):
        return "added"
    if data.get("survivor") == id_:
        return "survivor"
    members = cast("list[Mapping[str, Json]]", data.get("members", []))
    listed = cast("list[str]", data.get("ids", []))
    return "member" if id_ in listed or any(m["id"] == id_ for m in members) else None


def _view_blocks(view: Mapping[str, Json]) -> Iterator[Block]:
    yield Heading(str(view["id"]))
    yield Passage(str(view["content"]))
    yield Gap()
    left_out = {"id", "content", "hidden", "history", "links_found", "survivor"}
    facts = tuple(
        (name, _fact(value))
        for name, value in view.items()
        if name not in left_out and value not in (None, "", [], {})
    )
    yield Table(("field", "value"), facts)
    yield Gap()
    if view["survivor"]:
        yield say(strong(f"Hidden behind {view['survivor']}."))
    hidden = cast("list[Mapping[str, Json]]", view["hidden"])
    yield say(strong(f"{count(len(hidden), 'memory', 'memories')} behind it."))
    for each in hidden:
        yield say(f"{each['id']}  {each['verdict']}  {each['similarity']}  {each['run']}", level=1)
    links = cast("Mapping[str, bool]", view["links_found"])
    for target, there in links.items():
        yield say(f"links to {target}" + ("" if there else " (not in this store)"), level=1)
    history = cast("list[Mapping[str, str]]", view["history"])
    if history:
        rows = tuple((e["at"], e["event"], e["role"], e["run"]) for e in history)
        yield Table(("at", "event", "as", "run"), rows)
    yield Gap()


def _fact(value: Json) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(map(str, value))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
