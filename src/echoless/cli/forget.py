"""Commands that change one memory a person names: edit, and forget, which is for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    chosen,
    examples,
    json_option,
    settings_for,
    store_argument,
    writing,
)
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Table,
    command,
    count,
    cut,
    flat,
    names,
    say,
    short_time,
    strong,
)
from echoless.core.errors import InputError, UsageError
from echoless.core.masking import learn
from echoless.core.model import Json
from echoless.core.settings import Choices
from echoless.core.text import is_blank
from echoless.execution.forgetting import Removal, forget, removal, still_in
from echoless.execution.insertions import add
from echoless.ingest.forgotten import digests_of, forgotten, let_come_back
from echoless.ingest.guard import Guard
from echoless.stores import Store, open_store
from echoless.workflows.maintenance import drop_waiting
from echoless.workflows.snapshots import drop_snapshots

_GOOD: Final = "This is for good: no undo brings it back."


@click.command(
    "forget",
    epilog=examples(
        "echoless forget agent.db m-17",
        'echoless forget agent.db --text "The user lives in Oslo."',
        "echoless forget agent.db",
        "echoless forget agent.db --undo-digest 5f0c2a91",
    ),
)
@store_argument
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Forget what says TEXT, and hold it from now on, even if no memory says it yet.",
)
@click.option(
    "--undo-digest",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Let come back what was forgotten under KEY.",
)
@click.option("--yes", is_flag=True, help="Do not ask, for scripts.")
@chosen("encoder")
@json_option
def forget_command(
    *,
    store: str,
    ids: tuple[str, ...],
    texts: tuple[str, ...],
    keys: tuple[str, ...],
    yes: bool,
    choices: Choices,
    as_json: bool,
) -> None:
    """Remove memories of STORE for good, and hold what says them again. Cannot be undone.

    Text, vectors, copies hidden behind it, images for undo, words in the lineage and caches go, as
    far as the store's program lets them; what stays is told. Keyed digests remain. By these
    `remember`, MCP, hooks and `import` hold the same or near-equal words back, and `audit`,
    `doctor` and `tend` tell of them. Without ID and --text it lists what was forgotten.
    """
    with open_store(store) as opened:
        if keys:
            with writing(store):
                let_come_back(opened, keys)
        if not ids and not texts:
            _list(opened, as_json=as_json)
            return
        if any(map(is_blank, texts)):
            raise UsageError("--text is empty. Give the words that are to be forgotten.")
        wanted = list(dict.fromkeys(ids))
        if texts:  # else no model is opened
            with Guard(opened, settings_for(opened, choices)) as guard:
                saying = (memory.id for text in texts for memory in guard.saying(text))
                wanted = list(dict.fromkeys((*ids, *saying)))
        planned = removal(opened, wanted)
        learn(planned.memories.values())
        if not as_json:
            render.show(_planned(planned, len(texts)))
        if not yes:
            if as_json or not render.is_interactive():
                raise UsageError(f"{_GOOD} To do it without being asked, add --yes.")
            if not render.agreed(f"Forget it in {without_password(store)}? [y/N] "):
                raise UsageError("Nothing was forgotten.")
        contents = [memory.content for memory in planned.memories.values()]
        digests = digests_of([*contents, *texts])
        with writing(store):
            done = forget(opened, wanted, digests)
            drop_snapshots(opened)
            drop_waiting(opened)
        left = [str(path) for path in still_in(opened, contents)]
        remains = opened.remains
    answer: dict[str, Json] = {
        "forgotten": sorted(done.memories),
        "keys": [each["key"] for each in digests],
        "purged": list(done.purged),
        "also": list(done.also),
        "still_in": [*left],
        "remains": remains,
    }
    render.show_answer(answer, _done(done, digests, left, remains, store), as_json=as_json)


def _list(store: Store, *, as_json: bool) -> None:
    """Shows what was forgotten."""
    known = forgotten(store.ledger)
    rows = tuple((e.key, short_time(e.at), "yes" if e.ours else "no") for e in known)
    table = Table(("key", "forgotten", "recognised with your key"), rows)
    blocks = [table] if rows else [say("Nothing was forgotten here.")]
    answer: dict[str, Json] = {
        "held": [{"key": e.key, "at": e.at, "recognised": e.ours} for e in known]
    }
    render.show_answer(answer, blocks, as_json=as_json)


def _planned(planned: Removal, texts: int) -> Iterator[Block]:
    """Yields what would go."""
    memories = count(len(planned.memories), "memory", "memories")
    also = f", and {count(texts, 'text')} held" if texts else ""
    yield say(strong(f"{memories} would be forgotten{also}:"))
    for id_, memory in planned.memories.items():
        yield cut(strong(id_), f"  {flat(memory.content)}", level=1)
    if planned.purged:
        yield say(f"Runs that can never be undone after it: {names(planned.purged)}.")
    if planned.also:
        yield say(f"These hold the same words in a longer text and stay: {names(planned.also)}.")
    yield say("Snapshots of this store, its waiting plan and all caches go too.")
    yield say(_GOOD)


def _done(
    done: Removal, digests: Sequence[dict[str, Json]], left: Sequence[str], remains: str, name: str
) -> Iterator[Block]:
    """Yields what went, what stays, and how it may come back."""
    yield say(strong(f"Forgotten: {count(len(done.memories), 'memory', 'memories')}."))
    if left:
        yield say(f"The words still stand in: {', '.join(left)}.")
    if remains:
        yield say(remains)
    yield say("It is held when it comes back. To let it come back:")
    keys = (word for each in digests for word in ("--undo-digest", str(each["key"])))
    yield command(command_line("forget", name, *keys))


# ------------------------------------------------------------------ edit


@click.command(
    "edit",
    epilog=examples(
        "echoless edit agent.db m-17",
        'echoless edit agent.db m-17 --text "The staging server has 32 GB of memory."',
    ),
)
@store_argument
@click.argument("id_", metavar="ID")
@click.option("--text", metavar="TEXT", help="The new text; without it an editor opens.")
@json_option
def edit_command(*, store: str, id_: str, text: str | None, as_json: bool) -> None:
    """Change the text of the memory ID of STORE, in $EDITOR or by --text. Can be undone.

    Vectors of the old text go. Nothing is written where the text stays as it is.
    """
    with open_store(store) as opened:
        memory = opened.get([id_]).get(id_)
        if memory is None:
            raise InputError(f"There is no memory {id_!r} in {without_password(store)}.")
        new = text
        if new is None:
            if as_json or not render.is_interactive():
                raise UsageError("There is no terminal for an editor. Give the text: --text TEXT.")
            edited = click.edit(memory.content, extension=".md")
            new = memory.content if edited is None else edited
            if new.endswith("\n") and not memory.content.endswith("\n"):
                new = new[:-1]  # editors end the last line
        if is_blank(new):
            raise UsageError("The new text is empty. `echoless forget` removes a memory.")
        run = ""
        if new != memory.content:
            changed = replace(memory, content=new, vectors=())
            with writing(store):
                why, said = "edited by a person", {"edited": id_}
                run = add(opened, (), changed=[changed], profile=opened.profile, why=why, said=said)
    blocks = [say("Nothing was changed.")]
    if run:
        blocks = [say(strong(f"{id_} was changed.")), say("To take it back:")]
        blocks.append(command(command_line("undo", store, run)))
    render.show_answer({"id": id_, "run": run}, blocks, as_json=as_json)
