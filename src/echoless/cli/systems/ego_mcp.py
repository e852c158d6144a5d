"""The commands of ego-mcp: consolidate, merge, keep-both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from echoless.applying import Run, apply
from echoless.cli import render
from echoless.cli.document import Block, say, strong
from echoless.cli.options import encoder_option, examples, json_option, writing
from echoless.cli.outcome import run_blocks, run_json, say_notes
from echoless.cli.systems.edge import ending
from echoless.cli.systems.second import second_look_at
from echoless.errors import EcholessError, InputError, UsageError
from echoless.model import Json, Pair
from echoless.planning import Plan
from echoless.stores import Store, open_store
from echoless.systems.ego_mcp import consolidation_text, keep_both, run
from echoless.systems.ego_mcp.acting import Embed, plan_merge
from echoless.systems.ego_mcp.consolidating import HIDDEN_TEXT, ConsolidationStats

SYSTEM: Final = "ego-mcp"
_COLLECTION: Final = "ego_memories"
_DATA: Final = "EGO_MCP_DATA_DIR"

store_option = click.option(
    "--store",
    metavar="DATA_DIR",
    help="Data folder of ego-mcp, or the URL of its collection ($EGO_MCP_DATA_DIR or "
    "~/.ego-mcp/data by default).",
)


@click.group(SYSTEM)
def ego_mcp_command() -> None:
    """Near-duplicate memories of ego-mcp: pairs to look at, and what follows from the answer.

    Distances are 1 - cosine of the vectors that are stored. `echoless audit` and `dedup` work on
    the data folder too, with the profile `ego`.
    """


def _url(store: str | None) -> str:
    if store and "://" in store:
        return store
    named = store or os.environ.get(_DATA)
    data = Path(named).expanduser() if named else Path.home() / ".ego-mcp" / "data"
    return f"chroma:///{data}#{_COLLECTION}"


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    with open_store(url) as store:
        yield store
        say_notes(store)


# ------------------------------------------------------------------ consolidate


@ego_mcp_command.command(
    "consolidate",
    epilog=examples(
        "echoless ego-mcp consolidate",
        "echoless ego-mcp consolidate --window 72 --merge-threshold 0.15 --json",
    ),
)
@store_option
@click.option(
    "--window",
    type=float,
    metavar="HOURS",
    help="Pairs with a memory of the last HOURS, in place of --window-hours; at least 1.",
)
@click.option(
    "--window-hours",
    type=float,
    default=24,
    show_default=True,
    metavar="HOURS",
    help=("Pairs with a memory of the last HOURS; at least 1."),
)
@click.option(
    "--max-replay-events",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="Of these at most the 2 N most recent memories.",
)
@click.option(
    "--merge-threshold",
    type=float,
    default=0.10,
    show_default=True,
    metavar="D",
    help="Offer pairs at a distance below D, 0 to 2.",
)
@click.option(
    "--max-merge-candidates",
    type=int,
    default=5,
    show_default=True,
    metavar="N",
    help="Offer the N closest pairs.",
)
@json_option
@ending(SYSTEM)
def consolidate_command(
    *,
    store: str | None,
    window: float | None,
    window_hours: float,
    max_replay_events: int,
    merge_threshold: float,
    max_merge_candidates: int,
    as_json: bool,
) -> None:
    """List pairs of memories that may say the same, closest first. Reads only.

    One member of a pair is recent, the other may be of any age. Private and public memories are
    never paired, protected ones and pairs answered with `keep-both` are left out.
    """
    with _opened(_url(store)) as opened:
        stats = run(
            opened,
            window=window,
            window_hours=window_hours,
            max_replay_events=max_replay_events,
            merge_threshold=merge_threshold,
            max_merge_candidates=max_merge_candidates,
        )
        second = second_look_at(_pairs(opened, stats))
    for reason, ids in stats.skipped.items():
        render.note(f"{reason}: {', '.join(ids)}")
    for line in second:
        render.note(line)
    if as_json:
        render.show_json(stats.to_dict())
    else:
        click.echo(consolidation_text(stats))


def _pairs(store: Store, stats: ConsolidationStats) -> list[Pair]:
    """The candidates with their memories, those aside whose text is not shown."""
    shown = [each for each in stats.merge_candidates if each.snippet_a != HIDDEN_TEXT]
    memories = store.get({id_ for each in shown for id_ in (each.memory_a_id, each.memory_b_id)})
    return [
        Pair(
            memories[each.memory_a_id],
            memories[each.memory_b_id],
            {"semantic": min(1.0, max(0.0, 1.0 - each.distance))},
        )
        for each in shown
    ]


# ------------------------------------------------------------------ merge


@ego_mcp_command.command(
    "merge",
    epilog=examples(
        "echoless ego-mcp merge mem_0123456789ab mem_ba9876543210 --apply",
        "echoless ego-mcp merge mem_0123456789ab mem_ba9876543210 --content TEXT --vector v.json",
    ),
)
@store_option
@click.argument("keep", metavar="KEEP")
@click.argument("remove", metavar="REMOVE")
@click.option("--content", metavar="TEXT", help="A new text for the memory that is kept.")
@encoder_option
@click.option(
    "--vector",
    "vector_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A JSON list with the vector of the new text, in place of --encoder.",
)
@click.option("--apply", "now", is_flag=True, help="Merge; without it nothing is written.")
@json_option
@ending(SYSTEM)
def merge_command(
    *,
    store: str | None,
    keep: str,
    remove: str,
    content: str | None,
    encoder: str | None,
    vector_file: Path | None,
    now: bool,
    as_json: bool,
) -> int:
    """Make one memory of KEEP and REMOVE. Writes only with --apply, and can be undone.

    KEEP takes over tags, counts and links; links to REMOVE point at it; REMOVE is removed. A new
    text must keep the numbers and negations of both, and needs the vector of the collection's
    model: --encoder openai:text-embedding-3-small, or --vector.
    """
    url = _url(store)
    with _opened(url) as opened:
        embed = _embed(encoder, vector_file) if content is not None else None
        made = plan_merge(opened, keep, remove, content, embed=embed, by="the command line")
        done: Run | None = None
        if now:
            with writing(url):
                done = apply(opened, made)
    if as_json:
        render.show_json(
            {"plan": made.to_json(), "run": None if done is None else run_json(done, url)}
        )
    else:
        render.show(_plan_blocks(made) if done is None else run_blocks(done, url))
    return EcholessError.exit_code if done is not None and done.refused else 0


def _plan_blocks(made: Plan) -> Iterator[Block]:
    for action in made.actions:
        yield say(strong(f"keep {action.survivor}"), f"  {action.preview}")
        for member in action.members:
            yield say(f"remove {member.id}  {member.preview}", level=1)
        for name, value in action.gains.items():
            yield say(f"{name}: {json.dumps(value, ensure_ascii=False)}", level=1)
        if action.rewrite is not None:
            yield say(f"content: {action.rewrite.content}", level=1)
    yield say("Nothing was written. Add --apply to merge.")


def _embed(encoder: str | None, vector_file: Path | None) -> Embed:
    if (encoder is None) == (vector_file is None):
        raise UsageError("A new text needs its vector: name --encoder or --vector, one of them.")
    if vector_file is not None:
        row = _read_vector(vector_file)
        return lambda _texts: [row]
    from echoless.vectors.registry import open_encoder  # noqa: PLC0415 - seldom asked for

    made = open_encoder(encoder or "")
    if made is None:
        raise UsageError(f"--encoder {encoder} encodes nothing. Name one of `echoless encoders`.")
    return lambda texts: made.encode(texts).tolist()


def _read_vector(path: Path) -> Sequence[float]:
    try:
        found: Json = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read as JSON ({problem}).") from problem
    if isinstance(found, list) and found and all(type(each) in {int, float} for each in found):
        return [float(each) for each in found]
    raise InputError(f"{path} is no vector: a JSON list of numbers is expected.")


# ------------------------------------------------------------------ keep-both


@ego_mcp_command.command(
    "keep-both",
    epilog=examples("echoless ego-mcp keep-both mem_0123456789ab mem_ba9876543210"),
)
@store_option
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@json_option
@ending(SYSTEM)
def keep_both_command(*, store: str | None, a: str, b: str, as_json: bool) -> None:
    """Remember that A and B differ: the pair is not offered again while neither text changes.

    Written to the lineage beside the collection; no memory changes.
    """
    url = _url(store)
    with _opened(url) as opened, writing(url):
        keep_both(opened, a, b)
    if as_json:
        render.show_json({"kept_both": sorted((a, b))})
    else:
        click.echo(f"Remembered as different: {a} and {b}.")
