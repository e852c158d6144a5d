"""The commands of ego-mcp: remember, consolidate, merge, keep-both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.integrations.ego_location import (
    SYSTEM,
    embed_by,
    opened,
    store_option,
    url_of,
    vector_option,
)
from echoless.cli.integrations.ego_remember import remember_command
from echoless.cli.integrations.exit_codes import ending
from echoless.cli.integrations.threshold_comparison import second_look_at
from echoless.cli.options import encoder_option, examples, gathered, json_option, writing
from echoless.cli.outcome import run_blocks, run_json
from echoless.core.document import Block, say, strong
from echoless.core.errors import EcholessError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json, Pair
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.integrations.ego_mcp import consolidation_text, keep_both, run
from echoless.integrations.ego_mcp.merge import plan_merge
from echoless.integrations.ego_mcp.merge_candidates import PRIVATE, ConsolidationStats
from echoless.stores import Store


@click.group(SYSTEM)
def ego_mcp_command() -> None:
    """Memories of ego-mcp: save what is new, look at pairs, and what follows from the answer.

    Distances are 1 - cosine of the vectors that are stored. `echoless audit` and `dedup` work on
    the data folder too, with the profile `ego`. Stop ego-mcp before a command that writes: an open
    one keeps its old view of the collection, and its searches fail until it is started again.
    """


ego_mcp_command.add_command(remember_command)


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
    with opened(url_of(store)) as place:
        stats = run(
            place,
            window=window,
            window_hours=window_hours,
            max_replay_events=max_replay_events,
            merge_threshold=merge_threshold,
            max_merge_candidates=max_merge_candidates,
        )
        second = second_look_at(_pairs(place, stats))
    for reason, ids in stats.skipped.items():
        render.note(f"{reason}: {', '.join(ids)}")
    for line in second:
        render.note(line)
    if as_json:
        render.show_json(stats.to_dict())
    else:
        click.echo(OUTPUT.text(consolidation_text(stats)))


def _pairs(store: Store, stats: ConsolidationStats) -> list[Pair]:
    """Returns the candidates as pairs of memories, without private ones."""
    ids = {i for each in stats.merge_candidates for i in (each.memory_a_id, each.memory_b_id)}
    memories = store.get(ids)
    return [
        Pair(
            memories[each.memory_a_id],
            memories[each.memory_b_id],
            {"semantic": min(1.0, max(0.0, 1.0 - each.distance))},
        )
        for each in stats.merge_candidates
        if memories[each.memory_a_id].namespace != PRIVATE
    ]


# ------------------------------------------------------------------ merge


@dataclass(frozen=True, slots=True)
class _NewText:
    """Text for the memory that is kept, and the source of its vector.

    Attributes:
        content: The text, or None to leave it as it is.
        encoder: Name of an encoder, or None.
        vector_file: File with the vector, or None.
    """

    content: str | None
    encoder: str | None
    vector_file: Path | None


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
@vector_option
@click.option("--apply", "now", is_flag=True, help="Merge; without it nothing is written.")
@json_option
@gathered("text", _NewText, "content", "encoder", "vector_file")
@ending(SYSTEM)
def merge_command(
    *, store: str | None, keep: str, remove: str, text: _NewText, now: bool, as_json: bool
) -> int:
    """Make one memory of KEEP and REMOVE. Writes only with --apply, and can be undone.

    KEEP takes over tags, counts and links; links to REMOVE point at it; REMOVE is removed. A new
    text must keep the numbers and negations of both, and needs the vector of the collection's
    model: --encoder openai:text-embedding-3-small, or --vector.
    """
    url = url_of(store)
    with opened(url) as place:
        embed = None
        if text.content is not None:
            embed = embed_by(text.encoder, text.vector_file)
        plan = plan_merge(place, keep, remove, text.content, embed=embed, by="the command line")
        done: Run | None = None
        if now:
            with writing(url):
                done = apply(place, plan)
    if as_json:
        render.show_json(
            {"plan": plan.to_json(), "run": None if done is None else run_json(done, url)}
        )
    else:
        render.show(_plan_blocks(plan) if done is None else run_blocks(done, url))
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
    if not isinstance(value, list) or not any(isinstance(each, dict) for each in value):
        yield say(f"{name}: {json.dumps(value, ensure_ascii=False)}", level=1)
        return
    yield say(f"{name}: {len(value)}", level=1)
    for each in value:
        if not isinstance(each, dict):
            yield say(json.dumps(each, ensure_ascii=False), level=2)
            continue
        data = each.get("data")
        data = data if isinstance(data, dict) else {}
        parts = (each.get("target"), each.get("kind"), data.get("confidence"), data.get("note"))
        yield say("  ".join(str(part) for part in parts if part not in (None, "")), level=2)


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
    url = url_of(store)
    with opened(url) as place, writing(url):
        keep_both(place, a, b, by="ego-mcp")
    if as_json:
        render.show_json({"kept_both": sorted((a, b))})
    else:
        click.echo(f"Remembered as different: {a} and {b}.")
