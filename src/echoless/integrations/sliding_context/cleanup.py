"""`sliding-context cleanup`: merges similar entries and reports with the texts of that program."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from echoless.core.errors import ModelError
from echoless.core.groups import Group
from echoless.core.model import Memory
from echoless.execution.actions import Rewrite
from echoless.execution.executor import Run, apply
from echoless.integrations.sliding_context import models
from echoless.integrations.sliding_context.arguments import CleanupArgs
from echoless.integrations.sliding_context.backup import back_up, target_of
from echoless.integrations.sliding_context.entries import insist_on_layout
from echoless.integrations.sliding_context.entry_groups import cleanup_settings, in_turn, members_of
from echoless.integrations.sliding_context.merged_text import merged_text
from echoless.integrations.sliding_context.summary import to_standard_error
from echoless.models.llm import Complete, Embed, Model
from echoless.models.llm.registry import as_model
from echoless.models.llm.retrying_model import GovernedModel
from echoless.stores.lancedb.layout import CONTEXT_TABLE
from echoless.stores.lancedb.location import Location
from echoless.stores.lancedb.store import LanceStore
from echoless.workflows.consolidation.llm_rewrite import GIVE_UP
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless.workflows.pairs.threshold_comparison import compare_with_judge

Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A group that stayed as it was.

    Attributes:
        number: Its place among the groups, from 1.
        ids: Its entries.
        error: Why.
    """

    number: int
    ids: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """Result of a cleanup or of its dry run.

    Attributes:
        entries: Entries before.
        groups: Groups found.
        merged: Groups merged; with a dry run those that would be.
        remaining: Entries in the table now; with a dry run those that would be.
        removed: Entries removed.
        run: For `echoless undo`; None if nothing was written.
        refused: Texts of the model that were not taken.
        failures: Groups that stayed as they were.
    """

    entries: int
    groups: int = 0
    merged: int = 0
    remaining: int = 0
    removed: int = 0
    run: str | None = None
    refused: int = 0
    failures: tuple[Failure, ...] = ()

    @property
    def exit_code(self) -> int:
        """Returns 0, or 1 if a group failed."""
        return 1 if self.failures else 0


@dataclass(slots=True)
class _Job:
    """State of one cleanup."""

    store: LanceStore
    args: CleanupArgs
    findings: Findings
    say: Say
    warn: Say
    failures: list[Failure] = field(default_factory=list)
    refused: int = 0

    @property
    def entries(self) -> Mapping[str, Memory]:
        """Returns all entries by id."""
        return self.findings.memories

    def fail(self, number: int, group: Group, problem: object) -> None:
        """Records a group that stays as it was, and reports it."""
        ids = (group.survivor, *(m.id for m in group.members))
        self.failures.append(Failure(number, ids, str(problem)))
        self.warn(f"Group {number} failed, its entries stay ({', '.join(ids)}): {problem}")


def run_cleanup(
    args: CleanupArgs,
    *,
    complete: Complete | Model | None = None,
    embed: Embed | None = None,
    say: Say = print,
    warn: Say | None = None,
) -> Cleanup:
    """Merges entries that say the same.

    Args:
        args: The options, see `parse_args`.
        complete: The model that merges, or a plain callable from prompt to text; by the flags if
            None, and never with `--no-llm`.
        embed: The embedding model; by the flags if None.
        say: Takes each line of the report.
        warn: Takes what failed; standard error by default.

    Returns:
        What was done. A group that failed is in `failures`, and the others were merged.

    Raises:
        StoreNotFound: There is no such folder or table.
        ForeignStore: The table has other columns.
        StoreError: The backup cannot be made, or the table cannot be written.
        ModelError: The model that merges does not answer.
        EncoderError: The embedding model does not answer, or with vectors of another length.
    """
    location = Location(args.db_path, CONTEXT_TABLE)
    with LanceStore(location, what=models.WHO) as store:
        insist_on_layout(store)
        settings = cleanup_settings(
            args.similarity, across_sessions=args.across_sessions, guards=args.guards
        )
        job = _Job(store, args, find(store, settings), say, warn or to_standard_error)
        count = len(job.entries)
        say(f"Loaded {count} entries.")
        _report_held(job)
        if count < 2:
            say("Not enough entries to deduplicate.")
            return Cleanup(entries=count, remaining=count)
        groups = in_turn(job.findings.groups, job.entries)
        if not groups:
            say("No duplicates found. Database is clean.")
            return Cleanup(entries=count, remaining=count)
        say(f"Found {len(groups)} group(s) of similar entries to merge.")
        if args.dry_run:
            return _preview(job, groups)
        return _execute(job, groups, complete, embed)


def _report_held(job: _Job) -> None:
    """Reports which entries were not compared, or held, and why."""
    tally = job.findings.tally
    for note in tally.notes:
        job.say(note)
    for reason, ids in tally.skipped.items():
        job.say(f"Skipped ({reason}): {', '.join(ids)}")
    learn_held(job.findings)
    for pair in job.findings.held:
        one, other = (job.entries[id_].content for id_ in (pair.a, pair.b))
        job.say(f'Held: "{one}" / "{other}" ({pair.verdict.evidence.line()})')


def _announce(job: _Job, number: int, group: Group) -> None:
    """Reports the entries of a group."""
    entries = members_of(group, job.entries)
    job.say(f"Group {number} ({len(entries)} entries):")
    for entry in entries:
        job.say(f'  "{entry.content}"')


def _preview(job: _Job, groups: Sequence[Group]) -> Cleanup:
    """Reports what would be merged; writes nothing."""
    job.say("[DRY RUN] Skipping backup.")
    for number, group in enumerate(groups, 1):
        _announce(job, number, group)
        job.say(f"  [DRY RUN] Would merge {len(group.members) + 1} entries.")
    for line in compare_with_judge(job.findings).lines():
        job.warn(line)
    count = len(job.entries)
    left = count - sum(len(group.members) for group in groups)
    job.say(
        f"[DRY RUN] Would merge {len(groups)} groups, reducing {count} entries to {left} entries."
    )
    return Cleanup(
        entries=count,
        groups=len(groups),
        merged=len(groups),
        remaining=left,
        removed=count - left,
    )


def _execute(
    job: _Job, groups: Sequence[Group], complete: Complete | Model | None, embed: Embed | None
) -> Cleanup:
    """Backs up the table and merges the groups; a group that fails stays as it was."""
    args, store = job.args, job.store
    target = target_of(store.folder, args.backup_dir)
    dimensions = job.entries[groups[0].survivor].vectors[0].dimensions
    write = None
    if args.llm:
        write = models.open_model(args) if complete is None else as_model(complete)
    embed = embed or models.open_embed(args, dimensions)
    models.probe(write, embed, dimensions)
    job.say(f"Backing up database to: {target}")
    back_up(store, target, job.entries)
    job.say("Backup complete.")
    rewrites = _rewrites(job, groups, write, embed)
    run = None
    if ready := [group for group in groups if group.survivor in rewrites]:
        plan = plan_groups(job.findings, ready, action="delete", rewrites=rewrites)
        run = apply(store, plan, one_by_one=True)
        numbered = {group.survivor: (number, group) for number, group in enumerate(groups, 1)}
        for left in (*run.refused, *run.failed):
            job.fail(*numbered[left.survivor], left.reason)
    if job.refused:
        texts = "text of the model was" if job.refused == 1 else "texts of the model were"
        job.say(f"{job.refused} {texts} not taken; all sentences took their place.")
    if isinstance(write, GovernedModel):
        job.say(write.spent.line())
    return _result(job, groups, run)


def _rewrites(
    job: _Job, groups: Sequence[Group], model: Model | None, embed: Embed
) -> dict[str, Rewrite]:
    """Returns the new text of each group that gets one, by survivor; others are failures."""
    rewrites: dict[str, Rewrite] = {}
    silent = 0
    for number, group in enumerate(groups, 1):
        _announce(job, number, group)
        if silent >= GIVE_UP:  # with retries, each would be waited for for minutes
            job.fail(number, group, "the model was not asked, it had failed too often")
            continue
        try:
            rewrites[group.survivor] = _rewrite(job, group, model, embed)
        except ModelError as problem:
            silent += 1
            job.fail(number, group, problem)
        except Exception as problem:  # noqa: BLE001 - whatever a callable raises, the rest goes on
            job.fail(number, group, problem)
        else:
            silent = 0
    return rewrites


def _rewrite(job: _Job, group: Group, model: Model | None, embed: Embed) -> Rewrite:
    """Returns the new text of a group with its vector."""
    entries = members_of(group, job.entries)
    newest_first = [entry.content for entry in reversed(entries)]
    text = merged_text(newest_first, model=model, locale=job.args.locale)
    if text.refused:
        job.refused += 1
        job.say(f"  The model's text was not taken: {text.refused}.")
    old = job.entries[group.survivor].vectors[0]
    vector = models.vector_of(text.content, embed, old.model, old.dimensions)
    job.say(f'  Merged: "{text.content}"')
    return Rewrite(text.content, (vector,), text.by)


def _result(job: _Job, groups: Sequence[Group], run: Run | None) -> Cleanup:
    """Returns the result of an execution, and reports it with the command that takes it back."""
    done = Cleanup(
        entries=len(job.entries),
        groups=len(groups),
        remaining=job.store.count(),
        refused=job.refused,
        failures=tuple(job.failures),
    )
    if run is not None:
        done = replace(done, run=run.id, merged=run.counts["groups"], removed=run.counts["delete"])
        before = job.store.version_before
        back = shlex.join(["echoless", "undo", job.store.url, run.id])
        job.say(f"Undo: {back} (the table was at version {before})")
    job.say(
        f"Done. Merged {done.merged} groups, reduced {done.entries} entries to {done.remaining} "
        f"entries (removed {done.removed})."
    )
    return done
