"""The command consolidate: shows pairs that may say the same, and merges or keeps both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    again,
    count_option,
    examples,
    explain_option,
    gathered,
    json_option,
    mapping_options,
    pair_finding_options,
    settings_for,
    store_argument,
    with_option,
    writing,
)
from echoless.cli.outcome import exit_code, preview_end, say_notes, written_blocks, written_json
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Quote,
    Span,
    TextPair,
    command,
    count,
    dim,
    flat,
    legend,
    more,
    number,
    quoted,
    say,
    short_time,
    strong,
)
from echoless.core.errors import UsageError
from echoless.core.model import Memory, verdict_name
from echoless.core.optional import lazy_module
from echoless.core.profiles import ACTIONS, ActionKind
from echoless.core.secret_masking import learn
from echoless.core.settings import Choices, Settings
from echoless.core.verdict_sentences import sentence
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan, write_plan
from echoless.execution.plan_blocks import evidence_line, group_blocks, plan_blocks, skipped_blocks
from echoless.models.llm.counted_model import CountedModel
from echoless.models.llm.registry import open_model
from echoless.stores import Store, open_store
from echoless.workflows.consolidation.merge_pairs import keep_both, notes_on, plan_merge
from echoless.workflows.review.items import ADVICE, Advice, Offer
from echoless.workflows.review.llm_plan import plan_consolidation, to_write
from echoless.workflows.review.pairs import LIMIT, Consolidation, consolidate, offered_pairs
from echoless.workflows.review.plan import PERSON

_VERDICTS: Final[Mapping[str, str]] = {
    "duplicate": "the same",
    "subsumes": "one says more",
    "update": "newer value",
    "contradiction": "contradiction",
    "unsure": "unsure",
    "sibling": "another thing",
    "related": "one topic",
}
"""Verdicts of pairs in words, those to merge first."""

LEGEND: Final = legend("goes", "stays", title="Marks, if they are one")


def consolidation_blocks(
    offered: Consolidation, store: str, *, explained: bool = False
) -> Iterator[Block]:
    """Yields all pairs, what was left out, and what to do next.

    Args:
        offered: The pairs.
        store: The store as it was typed, for lines to copy.
        explained: Whether the rule and the similarity of each verdict are shown.
    """
    when = "" if offered.window is None else f", of the last {offered.window:g} hours"
    yield Heading(f"Pairs that may say the same in {offered.url}{when}")
    if offered.pairs:
        yield LEGEND
        yield Gap()
    elif offered.left_out:
        yield say(f"{count(offered.left_out, 'pair')} left out by --limit 0.")
    else:
        yield say("No two memories are near enough to look at.")
    for at, each in enumerate(offered.pairs, 1):
        yield from offer_blocks(each, label=f"{at}. ", explained=explained)
        yield Gap()
    yield from skipped_blocks(offered.findings.tally)
    verdicts = ", ".join(
        f"{words}: {number(offered.verdicts[name])}"
        for name, words in _VERDICTS.items()
        if name in offered.verdicts
    )
    listed = f" ({verdicts})." if verdicts else "."
    yield say(strong(f"{count(offered.total, 'pair')}{listed}"))
    if not offered.pairs:
        return
    if offered.left_out:
        yield more(offered.left_out, with_option("--limit", offered.total))
    yield say("Nothing was written. Go on, pair by pair or with one of them:")
    for words in _ways(offered.pairs):
        yield command(command_line("consolidate", store, *words))


def _ways(pairs: Sequence[Offer]) -> Iterator[tuple[str, ...]]:
    """Yields options to go on with: a merge of two that say the same, two others that stay.

    Where nothing says the same, no merge is proposed, and the other way around.
    """
    yield ("--interactive",)
    for each in pairs:
        if each.advice == "merge" and each.keep is not None and each.remove is not None:
            yield ("--merge", each.keep, each.remove)
            break
    for advice in ("keep_both", "look"):
        if apart := next((each for each in pairs if each.advice == advice), None):
            yield ("--keep-both", apart.a.id, apart.b.id)
            break


def offer_blocks(offer: Offer, *, label: str = "", explained: bool = False) -> Iterator[Block]:
    """Yields one pair: the verdict, both texts, and the advice."""
    a, b = offer.a, offer.b
    learn((a, b))
    clause = quoted(sentence(offer.verdict, a.id, b.id))
    yield say(label, strong(f"{a.id} and {b.id}"), f"  {clause}")
    if explained:
        evidence = offer.verdict.evidence
        yield evidence_line(
            verdict_name(offer.verdict), evidence.similarity, evidence.line(), level=1
        )
    yield say(strong(a.id), _time(a), level=1)
    yield say(flat(a.content), level=2)
    yield say(strong(b.id), _time(b), level=1)
    goes, stays = (b, a) if offer.keep == a.id else (a, b)
    if offer.keep is None:
        yield say(flat(b.content), level=2)
    else:
        yield TextPair(Quote(goes.content, goes.id), Quote(stays.content, stays.id))
    advice = strong(offer.advice.replace("_", " "))
    if offer.keep is None:
        yield say(strong("no merge"), f": {offer.why}", level=1)
    elif offer.advice == "merge":
        yield say(advice, f": keep {offer.keep} ({offer.why})", level=1)
    else:
        yield say(advice, f"; if they are one, keep {offer.keep} ({offer.why})", level=1)


def _time(memory: Memory) -> Span:
    return dim(f"  {short_time(memory.created_at)}" if memory.created_at else "")


if TYPE_CHECKING:
    from echoless.cli import terminal_review
else:
    terminal_review = lazy_module("echoless.cli.terminal_review")  # needed only to ask a person


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        store: The store as it was typed.
        choices: Settings that were chosen.
        window: Only pairs with a memory of the last hours, so many; None for all.
        limit: Most pairs to show.
        advice: Only pairs with this advice; all if empty.
        merge: The memory that stays and the one that goes, or None.
        apart: Two memories to keep, or None.
        content: New text for the memory that stays, or None.
        action: What happens to memories that go.
        model: Language model that writes texts, or None.
        plan_file: File to write a plan to, or None.
        now: Whether to carry the plan out at once.
        interactive: Whether to ask pair by pair.
        explain: Whether the rule and the similarity of each verdict are printed.
        as_json: Whether to print JSON.
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
    explain: bool
    as_json: bool

    def check(self) -> None:
        """Checks that the options go together, before the long work.

        Raises:
            UsageError: They do not.
        """
        answers = {
            "--merge": self.merge is not None,
            "--keep-both": self.apart is not None,
            "--interactive": self.interactive,
        }
        given = [name for name, is_given in answers.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} are two answers. Choose one.")
        if self.content is not None and self.merge is None:
            raise UsageError("--content is the text of a merge; add --merge KEEP REMOVE.")
        if self.now and self.plan_file:
            raise UsageError("--plan writes a plan for later and --apply acts now. Choose one.")
        if self.interactive and (self.now or self.as_json):
            other = "--apply" if self.now else "--json"
            raise UsageError(f"--interactive asks before it writes; leave out {other}.")
        if self.apart and (self.now or self.plan_file):
            raise UsageError("--keep-both is written at once, to the lineage only; it has no plan.")
        if self.model and (given or self.now):
            raise UsageError(
                "What a model writes is read before it is carried out: --model NAME --plan FILE, "
                "then `echoless apply`."
            )
        if self.plan_file and self.plan_file.exists():
            raise UsageError(f"{self.plan_file} exists. Give the plan another name, or remove it.")

    def encoder(self, opened: Store) -> str | None:
        """Returns the encoder for new texts, or None if none was named."""
        return settings_for(opened, self.choices).named_encoder


@click.command(
    "consolidate",
    cls=SettingsCommand,
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
    help="Decide pair by pair, by single keys; no memory changes before a last question.",
)
@explain_option
@json_option
@gathered("request", _Request)
def consolidate_command(*, request: _Request) -> int:
    """Pairs of memories in STORE that may say the same, those to merge first. Reads unless asked.

    Each pair is shown with the verdict, the difference it names, and which of the two a merge had
    better keep. Left out are pairs the judge finds distinct, those answered with --keep-both, and
    what is hidden already. Without --apply, --merge is a dry run; with it, `echoless undo` takes it
    back.
    """
    request.check()
    with open_store(request.store) as opened:
        if request.apart is not None:
            return _keep_both(opened, request, request.apart)
        if request.merge is not None:
            return _merge(opened, request, request.merge)
        settings = settings_for(opened, request.choices)
        if request.interactive and render.is_interactive():
            return _review(opened, request, settings)
        model = None
        if request.model and request.plan_file:  # a wrong name is told before the long work
            model = open_model(request.model, settings.limits)
        with Bar(quiet=request.as_json) as bar:
            offered = consolidate(
                opened,
                settings,
                window=request.window,
                limit=request.limit,
                advice=request.advice or ADVICE,
                progress=bar,
            )
        if request.interactive:
            render.note("There is no terminal to ask on, so this is a dry run: nothing is written.")
        if request.now or request.plan_file:
            return _plan_all(opened, request, offered, model)
        return _list(request, offered)


def _review(opened: Store, request: _Request, settings: Settings) -> int:
    """Asks about each pair.

    Returns:
        The exit code.
    """
    advice = request.advice or ADVICE
    return terminal_review.review_in_terminal(
        opened,
        request.store,
        settings,
        again=command_line("consolidate", request.store, "--interactive"),
        action=request.action,
        plan_file=request.plan_file,
        source=partial(offered_pairs, window=request.window, limit=request.limit, advice=advice),
    )


# ------------------------------------------------------------------ the list


def _list(request: _Request, offered: Consolidation) -> int:
    """Prints the pairs; nothing is written and no model is asked."""
    if request.as_json:
        texts = {"to_write": len(to_write(offered))} if request.model else {}
        render.show_json({**offered.to_json(), **texts})
        return 0
    render.show(consolidation_blocks(offered, request.store, explained=request.explain))
    if request.model:
        groups = count(len(to_write(offered)), "group")
        asked = f"With --plan FILE {request.model} would be asked for the text of {groups}."
        render.show([say(f"{asked} It was not asked.")])
    return 0


# ------------------------------------------------------------------ all groups


def _plan_all(
    opened: Store, request: _Request, offered: Consolidation, model: CountedModel | None
) -> int:
    """Makes a plan of all groups that say the same, with texts of a model if there is one."""
    with Bar(quiet=request.as_json) as bar:
        made = plan_consolidation(
            opened,
            offered,
            model,
            action=request.action,
            encoder=request.encoder(opened),
            progress=lambda done, whole: bar(f"asking {request.model}", done, whole),
        )
    run = _carry_out(opened, request, made.plan)
    if request.as_json:
        spent = {"spent": model.spent.to_json()} if model else {}
        written = written_json(run, request.plan_file, request.store)
        groups = {**made.to_json(), **spent}
        render.show_json({**offered.to_json(), "groups": groups, **written})
        return exit_code(run)
    findings = offered.findings
    render.show(plan_blocks(made.plan.url, made.plan.actions, findings.memories))
    render.show(preview_end(findings, made.plan, request.store))
    if made.asked:
        asked = f"{count(made.asked, 'text')} asked for, {made.written} taken"
        render.show([say(f"{asked}, {len(made.refused)} refused.")])
    for each in made.refused:
        reason = f"  {', '.join(each.ids)}: {quoted(each.reason)}"
        render.show([say(strong("stays as it is"), reason, level=1)])
    render.show([Gap(), *written_blocks(run, request.plan_file, request.store)])
    if model:
        render.note(model.spent.line())
    return exit_code(run)


# ------------------------------------------------------------------ one pair


def _merge(opened: Store, request: _Request, pair: tuple[str, str]) -> int:
    """Plans the merge of one pair, and carries it out if requested."""
    plan = plan_merge(
        opened,
        *pair,
        request.content,
        encoder=request.encoder(opened),
        action=request.action,
        by=PERSON,
        settings=settings_for(opened, request.choices),
    )
    memories = opened.get(pair)
    run = _carry_out(opened, request, plan)
    if request.as_json:
        written = written_json(run, request.plan_file, request.store)
        notes = list(notes_on(plan))
        render.show_json({"plan": plan.to_json(), "notes": notes, **written})
        return exit_code(run)
    render.show(group_blocks(plan.actions, memories))
    if request.plan_file is None and run is None:
        line = command_line("consolidate", request.store, "--merge", *pair, "--apply")
        render.show([say("Nothing was written. To merge them:"), command(again("--apply") or line)])
    else:
        render.show(written_blocks(run, request.plan_file, request.store))
    return exit_code(run)


def _keep_both(opened: Store, request: _Request, pair: tuple[str, str]) -> int:
    """Records that two memories differ."""
    with writing(request.store):
        keep_both(opened, *pair, by="consolidate")
    say_notes(opened)
    said = say(f"Remembered as different: {pair[0]} and {pair[1]}.")
    render.show_answer({"kept_both": sorted(pair)}, [said], as_json=request.as_json)
    return 0


# ------------------------------------------------------------------ what plans have in common


def _carry_out(opened: Store, request: _Request, plan: Plan) -> Run | None:
    """Writes a plan to its file, or carries it out at once, depending on the request."""
    if request.plan_file:
        write_plan(plan, request.plan_file)
    if not request.now or not plan.actions:
        return None
    with Bar(quiet=request.as_json) as bar, writing(request.store):
        run = apply(opened, plan, progress=bar.actions)
    say_notes(opened, run)
    return run
