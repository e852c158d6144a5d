"""The commands of ego-mcp: remember, consolidate, merge, keep-both."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from echoless.cli import render
from echoless.cli.options import Function, encoder_option, examples, gathered, json_option, writing
from echoless.cli.outcome import run_blocks, run_json, say_notes
from echoless.core.document import Block, say, strong
from echoless.core.errors import EcholessError, InputError, UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.models.encoders.registry import open_encoder
from echoless.models.llm import Embed
from echoless.stores import Store, open_store
from echoless_programs.cli.program import ending, takes
from echoless_programs.ego_mcp import (
    consolidation_text,
    keep_both,
    remember_text,
    run,
    save_with_auto_link,
)
from echoless_programs.ego_mcp.consolidation import plan_merge
from echoless_programs.flags import Flag, flags

_SYSTEM: Final = "ego-mcp"

_vector_option = click.option(
    "--vector",
    "vector_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A JSON list with the vector of the text, in place of a model.",
)


@click.group(_SYSTEM)
def ego_mcp_command() -> None:
    """Memories of ego-mcp: save what is new, look at pairs, and what follows from the answer.

    Distances are 1 - cosine of the vectors that are stored. `echoless audit` and `dedup` work on
    the data folder too, with the profile `ego`. Stop ego-mcp before a command that writes: an open
    one keeps its old view of the collection, and its searches fail until it is started again.
    """


def _url_of(store: str | None) -> str:
    """Returns the URL of the collection of a data folder."""
    if store and "://" in store:
        return store
    named = store or os.environ.get("EGO_MCP_DATA_DIR")
    data = Path(named).expanduser() if named else Path.home() / ".ego-mcp" / "data"
    return f"chroma:///{data}#ego_memories"


def _placed(command: Function) -> Function:
    """Adds the option that names the collection, handed over as `url`."""
    return click.option(
        "--store",
        metavar="DATA_DIR",
        help="Data folder of ego-mcp, or the URL of its collection ($EGO_MCP_DATA_DIR or "
        "~/.ego-mcp/data by default).",
    )(gathered("url", _url_of)(command))


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    """Opens the collection; its notes are printed at the end."""
    with open_store(url) as store:
        yield store
        say_notes(store)


def _note_skipped(skipped: Mapping[str, tuple[str, ...]]) -> None:
    """Prints which memories could not be compared, by the reason."""
    for reason, ids in skipped.items():
        render.note(f"{reason}: {', '.join(ids)}")


def _show(data: Json, text: str, *, as_json: bool) -> None:
    """Prints an answer once: as JSON, or in words."""
    if as_json:
        render.show_json(data)
    else:
        click.echo(OUTPUT.text(text))


def _embed_by(encoder: str | None, vector_file: Path | None) -> Embed:
    """Returns what makes the vector of a text: an encoder, or a file that holds the vector.

    Args:
        encoder: Name of an encoder, or None.
        vector_file: A JSON list of numbers, or None.

    Raises:
        UsageError: Not exactly one of both is named.
        InputError: The file holds no vector.
    """
    if (encoder is None) == (vector_file is None):
        raise UsageError("A new text needs its vector: name --encoder or --vector, one of them.")
    if vector_file is not None:
        try:
            row: Json = json.loads(vector_file.read_text("utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{vector_file} cannot be read as JSON ({problem}).") from problem
        values = row if isinstance(row, list) else []
        vector = [float(each) for each in values if type(each) in {int, float}]
        if not vector or len(vector) < len(values):
            raise InputError(f"{vector_file} is no vector: a JSON list of numbers is expected.")
        return lambda _texts: [vector]
    opened_encoder = open_encoder(encoder or "")
    if opened_encoder is None:
        raise UsageError(f"--encoder {encoder} encodes nothing. Name one of `echoless encoders`.")
    return lambda texts: opened_encoder.encode(texts).tolist()


# ------------------------------------------------------------------ remember

_REMEMBER_FLAGS: Final = flags(
    "emotion=WORD secondary=WORDS intensity=F importance=N category=WORD valence=F arousal=F"
    " body_state=JSON tags=WORDS private dedup_threshold=D link_threshold=D max_links=N force"
    " guards"
)


@ego_mcp_command.command(
    "remember",
    epilog=examples(
        "echoless ego-mcp remember --embedder openai:text-embedding-3-small 'Tea at four.'",
        "echoless ego-mcp remember --vector v.json --tags tea,plans --importance 4 --json - < note",
    ),
)
@_placed
@click.argument("text", metavar="TEXT")
@click.option(
    "--embedder",
    "--encoder",
    "encoder",
    metavar="NAME[:ARG]",
    help="The model of the collection, such as openai:text-embedding-3-small or openai:MODEL@URL.",
)
@_vector_option
@takes("options", save_with_auto_link, _REMEMBER_FLAGS)
@json_option
@ending(_SYSTEM)
@gathered("embed", _embed_by)
def remember_command(
    *, url: str, text: str, embed: Embed, options: dict[str, Any], as_json: bool
) -> None:
    """Save TEXT, or standard input for `-`, unless a near-identical memory is there.

    What is saved is linked with the memories nearest to it, in both directions. Private and public
    memories never meet. A block is an answer, not a failure: the command ends with 0, and --json
    tells by `saved`. `echoless undo` takes a saved memory and its links back.
    """
    content = sys.stdin.read().strip() if text == "-" else text
    with _opened(url) as place, writing(url):
        done = save_with_auto_link(place, content, embed=embed, **options)
    for id_, why in done.held:
        render.note(f"Held apart from {id_}: {why}")
    for problem in done.problems:
        render.note(problem)
    _note_skipped(done.skipped)
    _show(done.to_json(), remember_text(done), as_json=as_json)


# ------------------------------------------------------------------ consolidate

_CONSOLIDATE_FLAGS: Final = (
    Flag("window", metavar="HOURS", type=float),
    *flags("window_hours=HOURS max_replay_events=N merge_threshold=D max_merge_candidates=N"),
)


@ego_mcp_command.command(
    "consolidate",
    epilog=examples(
        "echoless ego-mcp consolidate",
        "echoless ego-mcp consolidate --window 72 --merge-threshold 0.15 --json",
    ),
)
@_placed
@takes("options", run, _CONSOLIDATE_FLAGS)
@json_option
@ending(_SYSTEM)
def consolidate_command(*, url: str, options: dict[str, Any], as_json: bool) -> None:
    """List pairs of memories that may say the same, closest first. Reads only.

    One member of a pair is recent, the other may be of any age. Private and public memories are
    never paired, protected ones and pairs answered with `keep-both` are left out.
    """
    with _opened(url) as place:
        stats = run(place, **options)
    _note_skipped(stats.skipped)
    _show(stats.to_dict(), consolidation_text(stats), as_json=as_json)


# ------------------------------------------------------------------ merge


def _new_text(
    content: str | None, encoder: str | None, vector_file: Path | None
) -> tuple[str | None, Embed | None]:
    """Returns the new text of the survivor, and the function that makes its vector."""
    return content, None if content is None else _embed_by(encoder, vector_file)


@ego_mcp_command.command(
    "merge",
    epilog=examples(
        "echoless ego-mcp merge mem_0123456789ab mem_ba9876543210 --apply",
        "echoless ego-mcp merge mem_0123456789ab mem_ba9876543210 --content TEXT --vector v.json",
    ),
)
@_placed
@click.argument("keep", metavar="KEEP")
@click.argument("remove", metavar="REMOVE")
@click.option("--content", metavar="TEXT", help="A new text for the memory that is kept.")
@encoder_option
@_vector_option
@click.option("--apply", "now", is_flag=True, help="Merge; without it nothing is written.")
@json_option
@ending(_SYSTEM)
@gathered("text", _new_text)
def merge_command(
    *,
    url: str,
    keep: str,
    remove: str,
    text: tuple[str | None, Embed | None],
    now: bool,
    as_json: bool,
) -> int:
    """Make one memory of KEEP and REMOVE. Writes only with --apply, and can be undone.

    KEEP takes over tags, counts and links; links to REMOVE point at it; REMOVE is removed. A new
    text must keep the numbers and negations of both, and needs the vector of the collection's
    model: --encoder openai:text-embedding-3-small, or --vector.
    """
    content, embed = text
    with _opened(url) as place:
        plan = plan_merge(place, keep, remove, content, embed=embed, by="the command line")
        done: Run | None = None
        if now:
            with writing(url):
                done = apply(place, plan)
    data = {"plan": plan.to_json(), "run": None if done is None else run_json(done, url)}
    blocks = _plan_blocks(plan) if done is None else run_blocks(done, url)
    render.show_answer(data, blocks, as_json=as_json)
    return EcholessError.exit_code if done is not None and done.refused else 0


def _plan_blocks(plan: Plan) -> Iterator[Block]:
    """Yields what a merge would change."""
    for action in plan.actions:
        yield say(strong(f"keep {action.survivor}"), f"  {action.preview}")
        for member in action.members:
            yield say(f"remove {member.id}  {member.preview}", level=1)
        for name, value in action.gains.items():
            yield from _gain_blocks(name, value)
        if action.rewrite is not None:
            yield say(f"content: {action.rewrite.content}", level=1)
    yield say("Nothing was written. Stop ego-mcp, then add --apply to merge.")


def _gain_blocks(name: str, value: Json) -> Iterator[Block]:
    """Yields a field the kept memory takes over; links on lines of their own.

    The line of a link is such as `mem_0123456789ab  similar  0.91  said twice`.
    """
    links = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    if not links:
        yield say(f"{name}: {json.dumps(value, ensure_ascii=False)}", level=1)
        return
    yield say(f"{name}: {len(links)}", level=1)
    for link in links:
        data = link.get("data")
        data = data if isinstance(data, dict) else {}
        parts = (link.get("target"), link.get("kind"), data.get("confidence"), data.get("note"))
        yield say("  ".join(str(part) for part in parts if part not in (None, "")), level=2)


# ------------------------------------------------------------------ keep-both


@ego_mcp_command.command(
    "keep-both",
    epilog=examples("echoless ego-mcp keep-both mem_0123456789ab mem_ba9876543210"),
)
@_placed
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@json_option
@ending(_SYSTEM)
def keep_both_command(*, url: str, a: str, b: str, as_json: bool) -> None:
    """Remember that A and B differ: the pair is not offered again while neither text changes.

    Written to the lineage beside the collection; no memory changes.
    """
    with _opened(url) as place, writing(url):
        keep_both(place, a, b, by="ego-mcp")
    _show({"kept_both": sorted((a, b))}, f"Remembered as different: {a} and {b}.", as_json=as_json)
