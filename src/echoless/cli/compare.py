"""The command compare: what was lost, changed or added between two states of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    complete_path,
    count_option,
    encoder_option,
    examples,
    json_option,
    no_cache_option,
    settings_for,
    writing,
)
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    command,
    count,
    cut,
    flat,
    number,
    say,
    strong,
)
from echoless.core.errors import OVER_LIMIT, UsageError
from echoless.core.masking import OUTPUT
from echoless.core.settings import Choices
from echoless.stores import open_store
from echoless.stores.revision import at_revision
from echoless.workflows import comparison
from echoless.workflows.comparison import (
    TOLD,
    ClaimOutcome,
    Fate,
    MemoryComparison,
    Restoration,
    Said,
    compare,
    restoration,
)
from echoless.workflows.snapshots import newest_snapshot

_LAST: Final = "last"
"""Names the newest snapshot in the place of BEFORE."""

_TITLES: Final = {
    Fate.LOST: "Lost: nothing says it now",
    Fate.CHANGED: "Changed",
    Fate.SHORTENED: "Shortened: a part of it is gone",
    Fate.UNCLEAR: "Said otherwise, or another thing: read both",
    Fate.NEW: "New: nothing said it before",
}


@click.command(
    "compare",
    epilog=examples(
        "echoless compare HEAD~1 .claude/memory",
        "echoless compare last .claude/memory",
        "echoless compare memory-before/ memory/ --fail-on lost",
        "echoless compare old.jsonl new.jsonl --json",
    ),
)
@click.argument("before", metavar="BEFORE", shell_complete=complete_path)
@click.argument("after", metavar="[AFTER]", default=".", shell_complete=complete_path)
@count_option("--claims", default=10, explained="Show N claims of each kind.")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([fate.value for fate in TOLD]),
    help="End with exit code 10 if a claim was lost, changed, shortened or is new. May be given "
    "several times.",
)
@click.option(
    "--restore", is_flag=True, help="Show how lost claims would come back; with --apply, write it."
)
@click.option("--apply", "now", is_flag=True, help="With --restore: write it as one run.")
@encoder_option
@no_cache_option
@json_option
def compare_command(
    *,
    before: str,
    after: str,
    claims: int,
    fail_on: tuple[str, ...],
    restore: bool,
    now: bool,
    encoder: str | None,
    cache: bool | None,
    as_json: bool,
) -> int:
    """Say what became of each claim of BEFORE in AFTER. Reads only.

    Both are stores; BEFORE may be a Git revision of AFTER instead, such as HEAD~1, or `last`: the
    newest snapshot that `tend --snapshot` or the hook of Claude Code kept. AFTER is the current
    folder if it is not named. A dream, a clean-up or a colleague may lose, change or invent
    something: each such claim is shown with its file and line.
    """
    if now and not restore:
        raise UsageError("--apply is for --restore: nothing else is written.")
    run, wanted = None, Restoration()
    with ExitStack() as stack:
        later = stack.enter_context(open_store(after))
        if before == _LAST:
            before = str(newest_snapshot(later))
        elif "://" not in before and not Path(before).exists():
            before = str(stack.enter_context(at_revision(Path(after), before)))
        earlier = stack.enter_context(open_store(before))
        settings = settings_for(later, Choices(encoder=encoder, cache=cache))
        with Bar(quiet=as_json) as bar:
            made = compare(earlier, later, settings, progress=bar)
        if restore:
            wanted = restoration(earlier, later, made)
        if now and wanted.claims:
            with writing(after):
                run = comparison.restore(later, wanted)
    OUTPUT.learn(said.text for each in made.outcomes for said in _sides(each))
    blocks = [*_blocks(made, claims), *(_restored(wanted, after, run) if restore else ())]
    render.show_answer({**made.to_json(), "run": run}, blocks, as_json=as_json)
    return OVER_LIMIT if any(made.counts[Fate(name)] for name in fail_on) else 0


def _sides(outcome: ClaimOutcome) -> list[Said]:
    """Returns the sides of an outcome that are there."""
    return [side for side in (outcome.before, outcome.after) if side is not None]


def _blocks(made: MemoryComparison, most: int) -> Iterator[Block]:
    """Yields what became of the claims, for a person."""
    yield Heading(answer(made))
    for fate in TOLD:
        if not (some := made.of(fate)):
            continue
        left = f"{number(most)} of " if len(some) > most else ""
        yield say(strong(_TITLES[fate]), f"  {left}{count(len(some), 'claim')}")
        for each in some[:most]:
            first, *second = _sides(each)
            yield cut(strong(f"{first.home} line {first.line}"), f": {flat(first.text)}", level=1)
            for side in second:
                place = strong(f"{side.home} line {side.line}")
                yield cut("now ", place, f": {flat(side.text)}", level=2)
        yield Gap()
    same = (f"{number(made.counts[fate])} {fate}" for fate in Fate if fate not in TOLD)
    yield say("Of the other claims: ", ", ".join(same), ".")
    for note in made.tally.notes:
        yield say(note)


def _restored(wanted: Restoration, name: str, run: str | None) -> Iterator[Block]:
    """Yields what comes back, or came back."""
    verb = "would come" if run is None else "came"
    new, changed = len(wanted.new), len(wanted.changed)
    memories = f"{count(new, 'memory', 'memories')} whole, {number(changed)} with lines put back"
    yield say(strong(f"{count(wanted.claims, 'claim')} {verb} back: {memories}."))
    if run is not None:
        yield command(command_line("undo", name, run), before="As it was: ")


def answer(made: MemoryComparison) -> str:
    """Returns what became of the claims in one sentence."""
    parts = [f"{number(made.counts[fate])} {fate}" for fate in TOLD if made.counts[fate]]
    whole = count(len(made.outcomes) - made.counts[Fate.NEW], "claim")
    return f"Of {whole}: {', '.join(parts)}." if parts else f"Each of {whole} is still said."
