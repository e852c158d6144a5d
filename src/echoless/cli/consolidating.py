"""The command consolidate: pairs to look at, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import click

from echoless.applying import Run, apply
from echoless.cli import render
from echoless.cli.document import Block, Gap, count, quoted, say, strong
from echoless.cli.offers import consolidation_blocks
from echoless.cli.options import (
    command_line,
    count_option,
    examples,
    json_option,
    mapping_options,
    pair_finding_options,
    settings_for,
    store_argument,
    writing,
)
from echoless.cli.outcome import exit_code, run_blocks, run_json, say_notes, undo_line
from echoless.cli.pair_review import PERSON, review_pairs
from echoless.cli.progress import Bar
from echoless.cli.shown_groups import group_blocks, plan_blocks
from echoless.condensing import Condensed, plan_consolidation, to_write
from echoless.consolidating import LIMIT, Consolidation, consolidate
from echoless.errors import UsageError
from echoless.llm.governed import GovernedModel
from echoless.llm.registry import open_model
from echoless.model import Json
from echoless.offering import ADVICE, Advice
from echoless.planning import Plan, write_plan
from echoless.profiles import ACTIONS, ActionKind
from echoless.settings import Choices
from echoless.stores import Store, open_store
from echoless.uniting import keep_both, notes_on, plan_merge


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wishes:
    """What was asked for on the command line.

    Attributes:
        store: As it was typed.
        choices: What to look with.
        window: Hours.
        limit: Pairs to show.
        advice: Only such pairs.
        merge: The one that stays and the one that goes.
        apart: Two that differ.
        content: A text for the one that stays.
        action: What happens to those that go.
        model: Who writes texts.
        plan_file: Write a plan there.
        now: Carry out at once.
        interactive: Ask pair by pair.
        as_json: Print JSON.
    """

    store: str
    choices: Choices
    window: float | None
    limit: int
    advice: tuple[Advice, ...]
    merge: tuple[str, str] | None
    apart: tuple[str, str] | None
    content: str | None
    action: ActionKind
    model: str | None
    plan_file: Path | None
    now: bool
    interactive: bool
    as_json: bool

    def check(self) -> None:
        """Refuse what does not go together before the long work, not after it."""
        asked = {
            "--merge": self.merge is not None,
            "--keep-both": self.apart is not None,
            "--interactive": self.interactive,
        }
        several = [name for name, wanted in asked.items() if wanted]
        if len(several) > 1:
            raise UsageError(f"{several[0]} and {several[1]} are two answers. Choose one.")
        if self.content is not None and self.merge is None:
            raise UsageError("--content is the text of a merge; add --merge KEEP REMOVE.")
        if self.now and self.plan_file:
            raise UsageError("--plan writes a plan for later and --apply acts now. Choose one.")
        if self.interactive and (self.now or self.as_json):
            other = "--apply" if self.now else "--json"
            raise UsageError(f"--interactive asks before it writes; leave out {other}.")
        if self.apart and (self.now or self.plan_file):
            raise UsageError("--keep-both is written at once, to the lineage only; it has no plan.")
        if self.model and (several or self.now):
            raise UsageError(
                "What a model writes is read before it is carried out: --model NAME --plan FILE, "
                "then `echoless apply`."
            )
        if self.plan_file and self.plan_file.exists():
            raise UsageError(f"{self.plan_file} exists. Give the plan another name, or remove it.")

    def encoder(self, opened: Store) -> str | None:
        """Who makes vectors of new texts; None where nobody was named."""
        named = settings_for(opened, self.choices).encoder
        return None if named in {"auto", "stored", "none"} else named


@click.command(
    "consolidate",
    epilog=examples(
        "echoless consolidate agent.db --window 24",
        "echoless consolidate agent.db --merge m-7 m-9 --apply",
        "echoless consolidate agent.db --keep-both m-7 m-9",
        "echoless consolidate agent.db --interactive",
        "echoless consolidate agent.db --plan tidy.json && echoless apply agent.db tidy.json",
    ),
)
@store_argument
@mapping_options
@pair_finding_options
@click.option(
    "--window",
    type=float,
    metavar="HOURS",
    help="Only pairs with a memory of the last HOURS; the other may be of any age.",
)
@count_option(
    "--limit", default=LIMIT, explained="Show the N closest pairs; the others are counted."
)
@click.option(
    "--advice",
    multiple=True,
    type=click.Choice(ADVICE),
    help="Only pairs the verdict advises to merge, to look at, or to keep both of. May be given "
    "several times.",
)
@click.option(
    "--merge",
    nargs=2,
    metavar="KEEP REMOVE",
    help="Make one memory of these two: KEEP takes over what REMOVE knows, REMOVE is hidden.",
)
@click.option(
    "--content",
    metavar="TEXT",
    help="With --merge: a new text for KEEP. It has to keep the numbers, names, paths, "
    "dates and negations of both.",
)
@click.option(
    "--keep-both",
    "apart",
    nargs=2,
    metavar="A B",
    help="Remember that these two differ; the pair is not offered again while neither changes.",
)
@click.option(
    "--action",
    type=click.Choice(ACTIONS),
    default="merge",
    show_default=True,
    help="What happens to those that go: mark hides them, merge also gives their metadata to the "
    "one that stays, delete also removes them.",
)
@click.option(
    "--model",
    metavar="NAME[:ARG]",
    help="Have this language model write one text for each group that says the same, into the "
    "plan of --plan FILE. Texts go to its server. A text that loses a fact is refused.",
)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a plan to a new FILE for `echoless apply`: of --merge, or of all groups that say "
    "the same.",
)
@click.option("--apply", "now", is_flag=True, help="Make that plan and carry it out at once.")
@click.option(
    "--interactive",
    "-i",
    is_flag=True,
    help="Decide pair by pair; no memory changes before a last question.",
)
@json_option
def consolidate_command(**values: object) -> int:
    """Pairs of memories in STORE that may say the same, closest first. Reads only, unless asked.

    Each pair is shown with the verdict, the difference it names, and which of the two a merge had
    better keep. Left out are pairs the judge finds distinct, those answered with --keep-both, and
    what is hidden already. Without --apply, --merge is a dry run; with it, `echoless undo` takes it
    back.
    """
    wishes = _wishes(values)
    wishes.check()
    with open_store(wishes.store) as opened:
        if wishes.apart is not None:
            return _keep_both(opened, wishes, wishes.apart)
        if wishes.merge is not None:
            return _merge(opened, wishes, wishes.merge)
        settings = settings_for(opened, wishes.choices)
        model = None
        if wishes.model and wishes.plan_file:  # a wrong name is told before the long work
            model = open_model(wishes.model, settings.limits)
        with Bar(quiet=wishes.as_json) as bar:
            found = consolidate(
                opened,
                settings,
                window=wishes.window,
                limit=wishes.limit,
                advice=wishes.advice,
                progress=bar,
            )
        if wishes.interactive and render.is_interactive():
            return review_pairs(opened, wishes.store, found, wishes.action, wishes.plan_file)
        if wishes.interactive:
            render.note("There is no terminal to ask on, so this is a dry run: nothing is written.")
        if wishes.now or wishes.plan_file:
            return _all_groups(opened, wishes, found, model)
        return _listed(wishes, found)


def _wishes(values: dict[str, object]) -> _Wishes:
    made = _Wishes(**values)  # type: ignore[arg-type]
    return replace(made, advice=made.advice or ADVICE)


# ------------------------------------------------------------------ the list


def _listed(wishes: _Wishes, found: Consolidation) -> int:
    if wishes.as_json:
        asked = {"to_write": len(to_write(found))} if wishes.model else {}
        render.show_json({**found.to_json(), **asked})
        return 0
    render.show(consolidation_blocks(found, wishes.store))
    if wishes.model:
        groups = count(len(to_write(found)), "group")
        render.show(
            [
                say(
                    f"With --plan FILE {wishes.model} would be asked for the text of {groups}. "
                    "It was not asked."
                )
            ]
        )
    return 0


# ------------------------------------------------------------------ all groups


def _all_groups(
    opened: Store, wishes: _Wishes, found: Consolidation, model: GovernedModel | None
) -> int:
    with Bar(quiet=wishes.as_json) as bar:
        made = plan_consolidation(
            opened,
            found,
            model,
            action=wishes.action,
            encoder=wishes.encoder(opened),
            progress=lambda done, whole: bar(f"asking {wishes.model}", done, whole),
        )
    run = _carry_out(opened, wishes, made.plan)
    if wishes.as_json:
        spent = {"spent": model.spent.to_json()} if model else {}
        groups = {**made.to_json(), **spent}
        render.show_json({**found.to_json(), "groups": groups, **_written(wishes, run)})
    else:
        render.show(plan_blocks(found.findings, made.plan, None))
        render.show([*_refused_blocks(made), Gap()])
        render.show(_how_it_went(wishes, run))
        if model:
            render.note(model.spent.line())
    return exit_code(run)


def _refused_blocks(made: Condensed) -> Iterator[Block]:
    if made.asked:
        yield say(
            f"{count(made.asked, 'text')} asked for, {made.written} taken, "
            f"{len(made.refused)} refused."
        )
    for each in made.refused:
        yield say(
            strong("stays as it is"), f"  {', '.join(each.ids)}: {quoted(each.reason)}", level=1
        )


# ------------------------------------------------------------------ one pair


def _merge(opened: Store, wishes: _Wishes, pair: tuple[str, str]) -> int:
    made = plan_merge(
        opened,
        *pair,
        wishes.content,
        encoder=wishes.encoder(opened),
        action=wishes.action,
        by=PERSON,
        settings=settings_for(opened, wishes.choices),
    )
    memories = opened.get(pair)
    run = _carry_out(opened, wishes, made)
    if wishes.as_json:
        told = {"plan": made.to_json(), "notes": list(notes_on(made))}
        render.show_json(cast("dict[str, Json]", {**told, **_written(wishes, run)}))
        return exit_code(run)
    render.show(group_blocks(made.actions, memories))
    if wishes.plan_file is None and run is None:
        render.show([say("Nothing was written. Add --apply to merge.")])
    else:
        render.show(_how_it_went(wishes, run))
    return exit_code(run)


def _keep_both(opened: Store, wishes: _Wishes, pair: tuple[str, str]) -> int:
    with writing(wishes.store):
        keep_both(opened, *pair)
    say_notes(opened)
    if wishes.as_json:
        render.show_json({"kept_both": sorted(pair)})
    else:
        render.show([say(f"Remembered as different: {pair[0]} and {pair[1]}.")])
    return 0


# ------------------------------------------------------------------ what plans have in common


def _carry_out(opened: Store, wishes: _Wishes, made: Plan) -> Run | None:
    if wishes.plan_file:
        write_plan(made, wishes.plan_file)
    if not wishes.now or not made.actions:
        return None
    with Bar(quiet=wishes.as_json) as bar, writing(wishes.store):
        run = apply(opened, made, progress=bar.actions)
    say_notes(opened, run)
    return run


def _written(wishes: _Wishes, run: Run | None) -> dict[str, Json]:
    return {
        "plan_file": None if wishes.plan_file is None else str(wishes.plan_file),
        "run": None if run is None else run_json(run, wishes.store),
        "undo": None if run is None else undo_line(wishes.store, run),
    }


def _how_it_went(wishes: _Wishes, run: Run | None) -> Iterator[Block]:
    if run is not None:
        yield from run_blocks(run, wishes.store)
    elif wishes.plan_file is not None:
        line = command_line("apply", wishes.store, str(wishes.plan_file))
        yield say(f"The plan is in {wishes.plan_file}; nothing else was written. Next: {line}")
