"""The command tend: what changed in stores since last time, and a plan for it to look at."""

from __future__ import annotations

import json
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    check_delete,
    complete_path,
    examples,
    finding_options,
    json_option,
    mapping_options,
    settings_for,
    writing,
)
from echoless.cli.outcome import exit_code, run_json, say_notes
from echoless.cli.progress import Bar
from echoless.core import timestamps
from echoless.core.commands import command_line
from echoless.core.destination import without_password
from echoless.core.document import command, count, say
from echoless.core.errors import EcholessError, InputError, PlanError, StoreError, UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json, digest, fingerprint
from echoless.core.optional import lazy_module
from echoless.core.own_folders import make_own, user_folder
from echoless.core.rendering import reason
from echoless.core.settings import Choices
from echoless.core.versions import edition
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan, plan_bytes, read_plan
from echoless.stores import Scope, Store, open_store
from echoless.stores.files import Snapshot, read_bytes, replace_bytes
from echoless.workflows.dedupe import pipeline

if TYPE_CHECKING:
    from echoless.workflows.dedupe import updates
else:
    updates = lazy_module("echoless.workflows.dedupe.updates")  # brings in the rules

_FORMAT: Final = 1
"""Of the file of what a store held last time."""

_SCHEDULES: Final = ("hook", "cron", "systemd")
"""Tables of `schedules.toml`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tended:
    """What became of one store.

    Attributes:
        store: As it was typed.
        since: Day of the last time; None for the first.
        changes: How many memories are new, changed and gone since.
        held: Pairs that only a person can decide.
        plan: What is proposed; None where nothing is.
        plan_file: Where it waits; None where it does not.
        run: What was carried out; None if nothing was.
        looked: Whether something changed, so that the store was looked at.
    """

    store: str
    since: str | None
    changes: Mapping[str, int]
    held: int
    plan: Plan | None
    plan_file: Path | None
    run: Run | None
    looked: bool

    def to_json(self) -> dict[str, Json]:
        """Returns the answer about one store, as in `--json`."""
        return {
            "store": without_password(self.store),
            "since": self.since,
            **self.changes,
            "looked": self.looked,
            "counts": dict(self.plan.counts) if self.plan else {},
            "held": self.held,
            "plan": self.plan.id if self.plan else None,
            "plan_file": str(self.plan_file) if self.plan_file else None,
            "run": run_json(self.run, self.store) if self.run else None,
            "error": None,
        }

    def show(self) -> None:
        """Prints what changed, what is proposed, and the next command."""
        changed = ", ".join(f"{many:,} {word}" for word, many in self.changes.items() if many)
        since = f" since {self.since}" if self.since else ""
        if self.looked:
            changed = changed or "other settings or decisions"
        hides = sum(len(action.members) for action in self.plan.actions) if self.plan else 0
        does = "hidden" if self.run else "may go behind another"
        proposed = f"{count(hides, 'memory', 'memories')} {does}." if hides else ""
        if self.held and self.looked:
            proposed = f"{proposed} {count(self.held, 'pair')} for a person.".strip()
        name = without_password(self.store)
        if not (self.looked or self.plan):
            render.show([say(f"{name}: nothing changed{since}, nothing waits.")])
            return
        first = changed or f"nothing changed{since}, and the plan of then still waits"
        said = f"{name}: {first}{since if changed else ''}. {proposed or 'Nothing to propose.'}"
        render.show([say(said)])
        if self.run is not None:
            undo = command_line("undo", self.store, self.run.id)
            render.show([command(undo, before="Take it back: ", level=0)])
        elif self.plan_file is not None:
            line = command_line("apply", self.store, str(self.plan_file))
            render.show([command(line, before="Look at the plan, then: ", level=0)])
        elif self.held and self.looked:
            line = command_line("review", self.store)
            render.show([command(line, before="Decide: ", level=0)])


@dataclass(frozen=True, slots=True)
class _Memory:
    """The file of what a store held last time, and the plan beside it."""

    path: Path
    plan_file: Path

    @classmethod
    def of(cls, store: Store, into: Path | None) -> _Memory:
        """Returns the files of a store; a folder that was named must exist.

        Raises:
            UsageError: It does not.
        """
        if into is not None and not into.is_dir():
            raise UsageError(f"{into} is no folder. Make it first, or leave out --into.")
        folder = into or user_folder("data") / "tend"
        if into is None:
            try:
                make_own(folder)
            except OSError as problem:
                raise UsageError(f"Name a folder by --into: {problem}.") from problem
        name = digest(store.identity)[:12]
        return cls(folder / f"tend-{name}.last.json", folder / f"tend-{name}.plan.json")

    def read(self) -> dict[str, Json]:
        """Returns what was written last time; empty where that cannot be read."""
        with suppress(StoreError, InputError, OSError, ValueError, RecursionError):
            data = json.loads(read_bytes(self.path))
            if isinstance(data, dict) and data.get("echoless_tend") == _FORMAT:
                return data
        return {}

    def write(self, rules: str, prints: Mapping[str, str], plan: Plan | None) -> None:
        """Writes what the store holds now, and the plan or that there is none.

        The plan is written first: a run that stops between the two only looks again.
        """
        if plan is None:
            self.plan_file.unlink(missing_ok=True)
        else:
            _replace(self.plan_file, plan_bytes(plan))
        held = {
            "echoless_tend": _FORMAT,
            "at": timestamps.now(),
            "rules": rules,
            "memories": dict(prints),
        }
        _replace(self.path, json.dumps(held).encode("ascii"))

    def waiting(self, store: Store) -> Plan | None:
        """Returns the plan that waits; None where there is none, or it was used or edited."""
        with suppress(PlanError):
            plan = read_plan(self.plan_file)
            if plan.store == store.identity and store.ledger.run_of_plan(plan.id) is None:
                return plan
        return None


def _replace(path: Path, data: bytes) -> None:
    """Writes a file at once, whether it is there or not."""
    replace_bytes(path, data, Snapshot.of(path))


@click.command(
    "tend",
    cls=SettingsCommand,
    epilog=examples(
        "echoless tend agent.db",
        "echoless tend ~/.claude/projects/app/memory CLAUDE.md --into plans",
        "echoless tend agent.db --apply",
        "echoless tend agent.db --schedule cron",
    ),
)
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, shell_complete=complete_path)
@mapping_options
@finding_options
@click.option(
    "--into",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder for the plans; a folder of your own by default.",
)
@click.option("--apply", "now", is_flag=True, help="Carry the plan out at once, as one run.")
@click.option(
    "--schedule",
    type=click.Choice(_SCHEDULES),
    help="Print the lines that run this by itself, and do nothing else.",
)
@json_option
@uncollected()
def tend_command(
    *,
    stores: tuple[str, ...],
    choices: Choices,
    into: Path | None,
    now: bool,
    schedule: str | None,
    as_json: bool,
) -> int:
    """Look at what changed in STORE since last time, and propose what to hide.

    Copies, and out-of-date memories, go into a plan file for `echoless apply`; no memory changes
    before that, or --apply. Where nothing changed, nothing is looked at. A plan that waits is
    replaced by the next one, which holds all of it.

    A store that cannot be read is reported, the others go on, and its exit code is kept.
    """
    if schedule is not None:
        _show_schedule(schedule, stores, now=now, into=into, as_json=as_json)
        return 0
    answers: list[dict[str, Json]] = []
    code = 0
    for store in stores:
        try:
            tended = _tend(store, choices, into, now=now, quiet=as_json)
        except EcholessError as problem:
            if len(stores) == 1:
                raise
            render.note(f"Error: {without_password(store)}: {problem}")
            answers.append({"store": without_password(store), "error": reason(str(problem))})
            code = code or problem.exit_code
            continue
        answers.append(tended.to_json())
        code = code or exit_code(tended.run)
        if not as_json:
            tended.show()
    if as_json:
        render.show_json({"stores": answers})
    return code


def _tend(name: str, choices: Choices, into: Path | None, *, now: bool, quiet: bool) -> _Tended:
    """Looks at a store if it changed, and writes or carries out a plan."""
    with open_store(name) as store:
        settings = settings_for(store, choices)
        check_delete(settings, None)
        files = _Memory.of(store, into)
        last, prints = files.read(), _prints(store, settings.namespace)
        rules = digest([settings.digest, edition("audit"), _decisions(store)])
        before = last.get("memories")
        known = (
            {str(id_): str(text) for id_, text in before.items()}
            if isinstance(before, dict)
            else {}
        )
        changes = {
            "new": len(prints.keys() - known.keys()),
            "changed": sum(known.get(id_, text) != text for id_, text in prints.items()),
            "gone": len(known.keys() - prints.keys()),
        }
        since = timestamps.day(str(last["at"])) if last else None
        looked = not last or last.get("rules") != rules or any(changes.values())
        waiting, run, held = files.waiting(store), None, 0
        made = waiting
        if looked:
            with Bar(quiet=quiet) as bar:
                findings = pipeline.find(store, settings, progress=bar)
            plan = pipeline.plan(findings, updates=updates.out_of_date(findings))
            made, hidden = plan if plan.actions else None, {i for a in plan.actions for i in a.ids}
            held = sum(hidden.isdisjoint((pair.a, pair.b)) for pair in findings.held)
        if now and made is not None:
            with Bar(quiet=quiet) as bar, writing(name):
                run = apply(store, made, progress=bar.actions)
            say_notes(store)
            rules = digest([settings.digest, edition("audit"), _decisions(store)])
            prints = _prints(store, settings.namespace)
        if looked or run is not None:
            files.write(rules, prints, None if run else made)
    return _Tended(
        store=name,
        since=since,
        changes=changes,
        held=held,
        plan=made,
        plan_file=files.plan_file if made and run is None else None,
        run=run,
        looked=looked,
    )


def _prints(store: Store, namespace: str | None) -> dict[str, str]:
    """Returns a short digest of each memory, by id; a recall changes none."""
    return {memory.id: fingerprint(memory)[:16] for memory in store.scan(Scope(namespace))}


def _decisions(store: Store) -> list[Json]:
    """Returns what was decided about memories of a store: marks, and pairs kept apart."""
    marks = sorted([each.duplicate, each.survivor] for each in store.ledger.marks().values())
    return [marks, sorted([each.a, each.b] for each in store.ledger.kept())]


def _show_schedule(
    kind: str, stores: tuple[str, ...], *, now: bool, into: Path | None, as_json: bool
) -> None:
    """Prints what runs this command by itself; paths are made absolute, as it runs elsewhere."""
    words = [shutil.which("echoless") or "echoless", "tend"]
    words += [str(Path(each).resolve()) if Path(each).exists() else each for each in stores]
    words += ["--apply"] if now else []
    words += ["--into", str(into.resolve())] if into else []
    line = shlex.join(words)
    hook = {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": line}]}]}}
    quoted = {
        "hook": json.dumps(hook, indent=2),
        "cron": line.replace("%", r"\%"),
        "systemd": line.replace("%", "%%").replace("$", "$$"),
    }
    forms = tomllib.loads(Path(__file__).with_name("schedules.toml").read_text("utf-8"))
    text = str(forms[kind]).format(line=quoted[kind])
    if as_json:
        render.show_json({"schedule": kind, "lines": text.splitlines()})
    else:
        click.echo(text)
