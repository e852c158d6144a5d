"""`sliding-context cleanup`: merges similar entries and reports with the texts of that program."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from echoless.core.errors import ModelError, StoreError
from echoless.core.groups import Group
from echoless.core.model import Memory, fingerprint
from echoless.core.profiles import SLIDING_CONTEXT, Profile
from echoless.core.settings import Settings
from echoless.execution.actions import Rewrite
from echoless.execution.executor import Run, apply
from echoless.models.llm import Complete, Embed, Model
from echoless.models.llm.counted_model import CountedModel
from echoless.models.llm.registry import as_model
from echoless.stores.field_map import MappedUrl
from echoless.stores.live import MemoryList
from echoless.workflows.consolidation.fact_check import all_sentences
from echoless.workflows.consolidation.llm_rewrite import Proposed, Refused, propose_merge
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless_programs.sliding_context import connections
from echoless_programs.sliding_context.arguments import SIMILARITY, CleanupArgs
from echoless_programs.sliding_context.turn_decision import SHORTEST, to_standard_error
from echoless_stores.lancedb.layout import CONTEXT_TABLE
from echoless_stores.lancedb.rows import in_order
from echoless_stores.lancedb.store import LanceStore

BY_RULE: Final = "echoless, all sentences"

GIVE_UP: Final = 5
"""Groups in a row without an answer after which no more are asked for."""

Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A group that a cleanup could not merge.

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
        failures: Groups that could not be merged.
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
        """Records a failed group, whose entries stay unchanged, and prints a warning."""
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
    location = MappedUrl(args.db_path, CONTEXT_TABLE)
    with LanceStore(location, what=connections.WHO) as store:
        connections.insist_on_layout(store)
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
        write = connections.open_model(args) if complete is None else as_model(complete)
    embed = embed or connections.open_embed(args, dimensions)
    connections.probe(write, embed, dimensions)
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
    if isinstance(write, CountedModel):
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
    text, by = _merged_text(job, [entry.content for entry in reversed(entries)], model)
    old = job.entries[group.survivor].vectors[0]
    vector = connections.vector_of(text, embed, old.model, old.dimensions)
    job.say(f'  Merged: "{text}"')
    return Rewrite(text, (vector,), by)


def _merged_text(job: _Job, summaries: Sequence[str], model: Model | None) -> tuple[str, str]:
    """Returns one text for several, and who wrote it: the model, if its text keeps the facts.

    Args:
        job: The cleanup; told where a text of the model is not taken.
        summaries: Most recent first. The model gets all in full, numbered, line breaks as spaces.
        model: Whom to ask, or None.

    Raises:
        ModelError: There is no answer.
        Exception: Whatever else the model raises.
    """
    by_rule = all_sentences(summaries), BY_RULE
    if model is None:
        return by_rule
    shown = [f"{at}. {' '.join(s.split())}" for at, s in enumerate(summaries, 1)]
    proposal = propose_merge(
        model, summaries, locale=job.args.locale, prompt="summary", shown=shown
    )
    match proposal:
        case Proposed(text=text, by=by) if len(text) >= SHORTEST:
            return text, by
        case Proposed():
            reason = f"it has less than {SHORTEST} characters"
        case Refused(answered=False, reason=reason):
            raise ModelError(f"{reason[:1].upper()}{reason[1:]}.")
        case Refused(reason=reason):
            pass
        case _:
            assert_never(proposal)
    job.refused += 1
    job.say(f"  The model's text was not taken: {reason}.")
    return by_rule


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


# ------------------------------------------------------------------ the groups


def cleanup_settings(
    similarity: float = SIMILARITY, *, across_sessions: bool = False, guards: bool = False
) -> Settings:
    """Returns the settings with which a cleanup finds groups.

    The profile of that name holds pairs whose figures differ, because the common commands drop the
    text of a duplicate. A cleanup merges the texts and checks the result, so it trusts the cosine
    and begins its groups with the oldest entry.

    Args:
        similarity: Cosine above which entries are alike; itself does not count.
        across_sessions: Whether session type and channel are ignored.
        guards: Whether pairs are held whose figures or denials differ.
    """
    profile: Profile = replace(
        SLIDING_CONTEXT,
        detectors=tuple(replace(d, threshold=similarity) for d in SLIDING_CONTEXT.detectors),
        judge="guards" if guards else "bare",
        centre="oldest",
        partition=() if across_sessions else SLIDING_CONTEXT.partition,
    )
    return Settings(profile=profile, encoder=profile.encoder)


def group_similar(
    entries: Sequence[Memory],
    threshold: float = SIMILARITY,
    *,
    across_sessions: bool = False,
    guards: bool = False,
) -> list[list[Memory]]:
    """Returns groups of similar entries, each group begun by its oldest.

    By time, then id, each entry that is in no group yet takes all later ones whose cosine with it
    is above the threshold.

    Args:
        entries: Memories with a stored vector.
        threshold: Above 0 and below 1, strict.
        across_sessions: Whether session type and channel are ignored.
        guards: Whether pairs are held whose figures or denials differ.

    Returns:
        Groups of at least two, oldest entry first, by their oldest entry.
    """
    settings = cleanup_settings(threshold, across_sessions=across_sessions, guards=guards)
    by_id = {entry.id: entry for entry in entries}
    with MemoryList(entries) as store:
        groups = find(store, settings).groups
    return [members_of(group, by_id) for group in in_turn(groups, by_id)]


def members_of(group: Group, entries: Mapping[str, Memory]) -> list[Memory]:
    """Returns the entries of a group, oldest first."""
    ids = (group.survivor, *(m.id for m in group.members))
    return sorted((entries[id_] for id_ in ids), key=in_order)


def in_turn(groups: Sequence[Group], entries: Mapping[str, Memory]) -> list[Group]:
    """Returns groups in the order of their oldest entries."""
    return sorted(groups, key=lambda group: in_order(members_of(group, entries)[0]))


# ------------------------------------------------------------------ the backup


def target_of(folder: Path, chosen: Path | None) -> Path:
    """Returns the folder of the copy.

    Args:
        folder: The database.
        chosen: The folder that was asked for, or None.

    Raises:
        StoreError: Something is there, or it lies inside the folder itself.
    """
    target = chosen or folder.with_name(f"{folder.name}.backup.{time.time_ns() // 1_000_000}")
    if target.exists() or target.is_symlink():
        raise StoreError(
            f"The backup folder {target} exists. Name another with --backup-dir; nothing was "
            "changed."
        )
    if folder.resolve() in target.resolve().parents:
        raise StoreError(
            f"The backup folder {target} lies inside {folder}. Name one outside of it; nothing was "
            "changed."
        )
    return target


def back_up(store: LanceStore, target: Path, entries: Mapping[str, Memory]) -> None:
    """Copies the folder and compares every entry of the copy.

    Raises:
        StoreError: The copy could not be made or differs; it is removed, nothing was changed.
    """
    try:
        shutil.copytree(store.folder, target, symlinks=True)
        with LanceStore(MappedUrl(target, store.table)) as copy:
            copied = {memory.id: fingerprint(memory) for memory in copy.scan()}
    except (OSError, StoreError) as problem:
        _remove(target)
        raise StoreError(
            f"The backup {target} could not be made ({problem}). Nothing was changed."
        ) from problem
    # what was hidden by moving it lies in the ledger, not in the folder
    rows = store.own_get(entries)
    present = {i: fingerprint(m) for i, m in entries.items() if i in rows}
    if copied != present:
        _remove(target)
        raise StoreError(
            f"The backup has {len(copied)} entries and differs from the {len(present)} that were "
            "read: another program wrote at the same time. Nothing was changed; try again."
        )


def _remove(target: Path) -> None:
    """Removes the copy made here; nothing was at that place before."""
    with suppress(OSError):
        shutil.rmtree(target)
