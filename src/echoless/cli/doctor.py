"""The command doctor: what is wrong with the memory of an agent, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    complete_path,
    count_option,
    examples,
    finding_options,
    json_option,
    mapping_options,
    settings_for,
    with_option,
)
from echoless.cli.progress import Bar
from echoless.cli.tend import show_upkeep
from echoless.core.destination import without_password
from echoless.core.document import (
    Block,
    Extent,
    Gap,
    Heading,
    count,
    cut,
    names,
    number,
    say,
    strong,
)
from echoless.core.errors import OVER_LIMIT, StoreNotFound
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices
from echoless.stores import open_store
from echoless.stores.reading import visible_memories
from echoless.workflows.audit import report as reports
from echoless.workflows.audit.answer_cache import AnswerCache, is_lasting
from echoless.workflows.audit.between import Between, between_namespaces
from echoless.workflows.audit.first_screen import Screen
from echoless.workflows.audit.health import HealthReport, health, shares
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.staleness import signs_of
from echoless.workflows.discovery.search import discover
from echoless.workflows.maintenance import tend


@click.command(
    "doctor",
    cls=SettingsCommand,
    epilog=examples(
        "echoless doctor",
        "echoless doctor ~/.claude/projects/app/memory",
        "echoless doctor CLAUDE.md --fail-under 90",
        "echoless doctor agent.db --fix",
    ),
)
@click.argument("stores", metavar="[STORE]...", nargs=-1, shell_complete=complete_path)
@mapping_options
@finding_options
@count_option("--top", default=3, explained="Show N findings of each kind.")
@click.option(
    "--fail-under",
    type=click.IntRange(0, 100),
    metavar="SCORE",
    help="End with exit code 10 if the score of a store is lower.",
)
@click.option(
    "--fix", is_flag=True, help="Write a plan of what is sure, copies and old values, to apply."
)
@json_option
@uncollected()
def doctor_command(
    *,
    stores: tuple[str, ...],
    choices: Choices,
    top: int,
    fail_under: int | None,
    fix: bool,
    as_json: bool,
) -> int:
    """Say what is wrong with the memory of an agent, worst first. Changes no memory.

    What one memory shows by itself comes at once: what the agent does not load, orders, secrets,
    dead paths, what is finished. Then memories are compared: what is out of date, contradicts, is
    said twice. Each kind has something to type or to do. Without STORE it looks at the memories of
    the current folder.
    """
    scores: list[int] = []
    healthy: dict[str, int] = {}
    named = stores or [store.url for store in discover([Path.cwd()]).stores]
    if not named:
        raise StoreNotFound("There is no memory here. Name one, or see `echoless discover`.")

    def answer(store: str) -> dict[str, Json]:
        extent = Extent(top=top, members=2, pairs=top, repeat=with_option)
        passed = healthy if len(named) > 1 and fail_under is None else None
        made = _examined(store, choices, extent, passed, quiet=as_json)
        scores.append(made.score)
        plan_file = _fix(store, choices, quiet=as_json) if fix else None
        return {"store": without_password(store), **made.to_json(), "plan_file": plan_file}

    answers, failed = render.answers_of_each(named, answer)
    if as_json:
        render.show_json({"stores": list(answers)})
    elif healthy:
        render.show(_nothing_to_do(healthy))
    low = fail_under is not None and any(score < fail_under for score in scores)
    return failed or (OVER_LIMIT if low else 0)


def _fix(name: str, choices: Choices, *, quiet: bool) -> str | None:
    """Writes a plan of what is sure, shows it, and returns where it waits."""
    with open_store(name) as store, Bar(quiet=quiet) as bar:
        made = tend(store, settings_for(store, choices), None, progress=bar)
    if not quiet:
        show_upkeep(name, made)
    return str(made.plan_file) if made.plan_file else None


def _nothing_to_do(healthy: Mapping[str, int]) -> Iterator[Block]:
    """Yields one line for all stores, with their memories, in which there is nothing to do."""
    whole = count(sum(healthy.values()), "memory", "memories")
    title = f"Nothing to do in {count(len(healthy), 'store')}"
    yield say(strong(title), f"  {whole}")
    yield cut(names(healthy), level=1)


def _examined(
    name: str, choices: Choices, extent: Extent, healthy: dict[str, int] | None, *, quiet: bool
) -> HealthReport:
    """Examines one store, and shows each part as soon as it is known.

    Args:
        name: The store, as typed.
        choices: Of the command.
        extent: How much is shown.
        healthy: Takes the store with its memories, instead of showing it, if there is nothing to
            do; None where each store is shown.
        quiet: Whether nothing is shown.
    """
    cache = AnswerCache(name, choices)
    with open_store(name) as store:
        settings = settings_for(store, choices)
        memories = list(visible_memories(store, Tally()))
        counts = {"total": len(memories), "unique": len(memories), "redundant": 0, "unasked": 0}
        signs = tuple(signs_of(memories))
        signed = Report(url=store.url, profile=settings.profile.name, counts=counts, signs=signs)
        signed = reports.with_store(signed, store)
        first = health(store, memories, signed, Between(), name)
        whole = f"{count(len(memories), 'memory', 'memories')}, none past or unsafe so far."
        wrong = any(part.concerned for part in first.parts)
        said = first.sentence if wrong else whole
        at_once = healthy is None or wrong or bool(store.unloaded())
        if at_once and not quiet:
            screen = Screen(signed, extent, Between(), store)
            head = Heading(f"{without_password(name)}: {said}")
            render.show([head, Gap(), *screen.unloaded(), *screen.signs()])
        with Bar(quiet=quiet) as bar:
            known = cache.report(store)
            report = known or reports.audit_store(store, settings, progress=bar)
            between = between_namespaces(store, settings, progress=bar) or Between()
            copies = replace(between, pairs=())
        lasting = known is None and is_lasting(store, settings, report)
        made = health(store, memories, report, copies, name)
        if healthy is not None and not (at_once or made.worth or report.groups):
            healthy[without_password(name)] = made.memories
        elif not quiet:
            if not at_once:
                said = made.sentence
                render.show([Heading(f"{without_password(name)}: {said}"), Gap()])
            listed = any(part.name == "repeated" for part in made.worth)
            screen = Screen(report, extent, copies, store)
            render.show(screen.compared(("contradiction",), again=listed))
            render.show(_closing(made, said))
    if lasting:
        cache.keep(report)
    return made


def _closing(made: HealthReport, said: str) -> Iterator[Block]:
    """Yields what costs most, what is wrong where that was not said, the score, and what to do."""
    costly = ", ".join(f"{id_} ({number(tokens)})" for id_, tokens in made.costly)
    yield cut(strong("Costs most tokens"), f"  {costly} of {number(made.tokens)}")
    yield Gap()
    if made.sentence != said:
        yield say(strong(made.sentence))
    yield say(strong(shares(made)))
    for part in made.parts:
        if part.concerned:
            yield say(f"{part.name}: {part.fix}", level=1)
    yield Gap()
