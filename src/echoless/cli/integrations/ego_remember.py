"""The command `ego-mcp remember`: saves a text and links it with the memories nearest to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict, Unpack

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
from echoless.cli.integrations.exit_codes import ending
from echoless.cli.options import examples, json_option, writing
from echoless.core.masking import OUTPUT
from echoless.integrations.ego_mcp import remember_text, save_with_auto_link


class _SaveOptions(TypedDict):
    """Options that `save_with_auto_link` takes as they are."""

    emotion: str
    secondary: str
    intensity: float
    importance: int
    category: str
    valence: float
    arousal: float
    body_state: str
    tags: str
    private: bool
    dedup_threshold: float
    link_threshold: float
    max_links: int
    force: bool


@click.command(
    "remember",
    epilog=examples(
        "echoless ego-mcp remember --embedder openai:text-embedding-3-small 'Tea at four.'",
        "echoless ego-mcp remember --vector v.json --tags tea,plans --importance 4 --json - < note",
    ),
)
@store_option
@click.argument("text", metavar="TEXT")
@click.option(
    "--embedder",
    "--encoder",
    "encoder",
    metavar="NAME[:ARG]",
    help="The model of the collection, such as openai:text-embedding-3-small or openai:MODEL@URL.",
)
@vector_option
@click.option("--emotion", default="neutral", metavar="WORD", help="An unknown one is neutral.")
@click.option("--secondary", default="", metavar="WORDS", help="Other emotions, with commas.")
@click.option(
    "--intensity", type=float, default=0.5, show_default=True, metavar="F", help="0 to 1."
)
@click.option("--importance", type=int, default=3, show_default=True, metavar="N", help="1 to 5.")
@click.option("--category", default="daily", metavar="WORD", help="An unknown one is daily.")
@click.option("--valence", type=float, default=0.0, show_default=True, metavar="F", help="-1 to 1.")
@click.option("--arousal", type=float, default=0.5, show_default=True, metavar="F", help="0 to 1.")
@click.option("--body-state", default="", metavar="JSON", help="An object, or empty.")
@click.option("--tags", default="", metavar="WORDS", help="With commas.")
@click.option("--private", is_flag=True, help="Save it as private; it meets private ones only.")
@click.option(
    "--dedup-threshold",
    type=float,
    default=0.05,
    show_default=True,
    metavar="D",
    help="A memory at a distance below D blocks, 0 to 2; 0 never does.",
)
@click.option(
    "--link-threshold",
    type=float,
    default=0.3,
    show_default=True,
    metavar="D",
    help="Link memories at a distance below D, 0 to 2.",
)
@click.option(
    "--max-links", type=int, default=5, show_default=True, metavar="N", help="The N closest."
)
@click.option("--force", is_flag=True, help="Save it even if a near-identical memory is there.")
@click.option(
    "--no-guards",
    is_flag=True,
    help="Block even where numbers, negations, names or other values tell two apart, as the "
    "original does.",
)
@json_option
@ending(SYSTEM)
def remember_command(
    *,
    store: str | None,
    text: str,
    encoder: str | None,
    vector_file: Path | None,
    no_guards: bool,
    as_json: bool,
    **options: Unpack[_SaveOptions],
) -> None:
    """Save TEXT, or standard input for `-`, unless a near-identical memory is there.

    What is saved is linked with the memories nearest to it, in both directions. Private and public
    memories never meet. A block is an answer, not a failure: the command ends with 0, and --json
    tells by `saved`. `echoless undo` takes a saved memory and its links back.
    """
    content = sys.stdin.read().strip() if text == "-" else text
    url = url_of(store)
    embed = embed_by(encoder, vector_file)
    with opened(url) as place, writing(url):
        done = save_with_auto_link(place, content, embed=embed, guards=not no_guards, **options)
    for id_, why in done.held:
        render.note(f"Held apart from {id_}: {why}")
    for problem in done.problems:
        render.note(problem)
    for reason, ids in done.skipped.items():
        render.note(f"{reason}: {', '.join(ids)}")
    if as_json:
        render.show_json(done.to_json())
    else:
        click.echo(OUTPUT.text(remember_text(done)))
