"""Captures a turn: decides, checks the decision, and stores the turn, all of it undoable.

The model is asked outside of the writer's lock; its decision is compared with the table again
inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from echoless.core import json_codec as codec
from echoless.core.errors import EcholessError, UsageError
from echoless.core.model import Json, Memory, Vector, fingerprint
from echoless.execution.actions import Delete, Member
from echoless.execution.field_merge import merged
from echoless.execution.insertions import add, add_with
from echoless.execution.recovery import recover
from echoless.integrations.sliding_context import entries, models
from echoless.integrations.sliding_context.arguments import WINDOW_HOURS, CaptureArgs
from echoless.integrations.sliding_context.decision import (
    SHORTEST,
    SUMMARY_CHARS,
    TurnAction,
    TurnDecision,
    Warn,
    summarize_turn,
    to_standard_error,
)
from echoless.integrations.sliding_context.models import cosine_similarity
from echoless.integrations.sliding_context.turn import Turn, is_silent, rule_based_summary
from echoless.models.llm import Complete, Embed
from echoless.models.llm.registry import as_complete
from echoless.stores.base import writing_within
from echoless.stores.lancedb.layout import CONTEXT_TABLE, SLIDING_CONTEXT
from echoless.stores.lancedb.location import Location
from echoless.stores.lancedb.store import LanceStore
from echoless.workflows.consolidation.fact_check import lost_facts

UPDATE_MIN_SIMILARITY: Final = 0.50
SKIP_MIN_SIMILARITY: Final = 0.30
WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

_FAILED: Final = "sliding-context: capture failed: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Result of the capture of a turn.

    Attributes:
        action: `new`, `update` or `skip`, after the checks.
        summary: The text that was, or would have been, stored; empty for `skip`.
        replace_id: The entry it takes the place of, for an update.
        id: The new row; None if nothing was stored.
        run: For `undo`; None if nothing was stored.
        removed: Whether the entry of `replace_id` is gone.
        why: Why nothing was stored, or why both rows of an update are there; else empty.
        warnings: What else is worth knowing, one sentence each.
    """

    action: TurnAction
    summary: str = ""
    replace_id: str | None = None
    id: str | None = None
    run: str | None = None
    removed: bool = False
    why: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Returns 0, or 1 if an update left the old row behind."""
        return 1 if self.id and self.replace_id and not self.removed else 0

    def to_json(self) -> dict[str, Json]:
        """Returns the result with the keys hosts know; `replaceId` is there for an update only."""
        replaced: dict[str, Json] = (
            {} if self.replace_id is None else {"replaceId": self.replace_id}
        )
        return {
            "action": self.action,
            "summary": self.summary,
            **replaced,
            "id": self.id,
            "run": self.run,
            "removed": self.removed,
            "why": self.why,
            "warnings": list(self.warnings),
        }


@dataclass(slots=True)
class _Job:
    """State of one capture."""

    turn: Turn
    store: LanceStore
    embed: Embed
    moment: datetime
    window_hours: float
    tell: Warn
    warnings: list[str] = field(default_factory=list)
    vectors: dict[str, Vector] = field(default_factory=dict)

    def warn(self, sentence: str) -> None:
        """Adds a warning and tells it."""
        self.warnings.append(sentence)
        self.tell(sentence)

    def recent(self) -> list[Memory]:
        """Returns the latest entries of the turn's privacy class."""
        return entries.recent_entries(
            self.store, self.turn, window_hours=self.window_hours, now=self.moment
        )

    def vector(self, text: str) -> Vector:
        """Returns the vector of a text, which is embedded once."""
        if text not in self.vectors:
            length = self.store.dimensions
            vector = models.vector_of(text, self.embed, "", length)
            name = self.store.vector_model(vector.dimensions)
            self.vectors[text] = replace(vector, model=name)
        return self.vectors[text]

    def done(
        self,
        decision: TurnDecision,
        *,
        entry: str | None = None,
        run: str | None = None,
        removed: bool = False,
        why: str = "",
    ) -> Captured:
        """Returns the result of this capture."""
        return Captured(
            action=decision.action,
            summary=decision.summary,
            replace_id=decision.replace_id,
            id=entry,
            run=run,
            removed=removed,
            why=why,
            warnings=tuple(self.warnings),
        )


def capture(
    turn: Turn | Mapping[str, Json],
    *,
    store: LanceStore,
    complete: Complete | None,
    embed: Embed,
    locale: str = "de",
    max_chars: int = SUMMARY_CHARS,
    window_hours: float = WINDOW_HOURS,
    update_min_similarity: float = UPDATE_MIN_SIMILARITY,
    skip_min_similarity: float = SKIP_MIN_SIMILARITY,
    guards: bool = True,
    prompt: str | None = None,
    now: datetime | None = None,
    warn: Warn | None = None,
) -> Captured:
    """Sums up a turn and stores it, unless the last three entries say it already.

    Args:
        turn: The turn, or its JSON as `Turn.from_json` reads it.
        store: A table of sliding-context.
        complete: The model; None sums up by rule, and everything is new.
        embed: The embedding model of the table.
        locale: `de`, `en` or `ja`.
        max_chars: Of a summary, at least 20.
        window_hours: Entries older than that are not recent; 0 or more.
        update_min_similarity: Cosine of the new text to the entry it replaces, inclusive; with less
            it is stored as new.
        skip_min_similarity: Cosine of the turn, summed up by rule, to at least one recent entry,
            inclusive; with less the model is not believed that nothing is new.
        guards: Whether these two are checked, and figures and file names that an update drops told.
        prompt: In place of the locale's request for a summary.
        now: The present by default; without an offset it is UTC.
        warn: Told what is in `warnings`, too; standard error by default.

    Returns:
        What was done. An update whose old row could not be removed says so, and both rows stay.

    Raises:
        InputError: The turn cannot be read.
        UsageError: A value is out of range, or an unknown locale.
        EcholessError: `sliding-context: capture failed: …`; the table is as it was.
    """
    turn = turn if isinstance(turn, Turn) else Turn.from_json(turn)
    if not window_hours >= 0:
        raise UsageError(f"window_hours must be 0 or more, not {window_hours!r}.")
    for value in (update_min_similarity, skip_min_similarity):
        if not -1 <= value <= 1:
            raise UsageError(f"A least similarity must be a cosine from -1 to 1, not {value!r}.")
    moment = now or datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    job = _Job(turn, store, embed, moment, window_hours, warn or to_standard_error)
    try:
        entries.insist_on_layout(store)
        if is_silent(turn.messages):
            return job.done(TurnDecision("skip"), why="the assistant had nothing to say")
        if done := _repeated(job):
            return done
        recent = job.recent() if complete is not None else []
        decision = summarize_turn(
            turn.messages,
            recent=recent,
            complete=complete,
            locale=locale,
            max_chars=max_chars,
            warn=job.warn,
            prompt=prompt,
        )
        if guards and decision.action == "skip" and decision.by == "model":
            rule = rule_based_summary(turn.messages, max_chars)
            decision = _checked_skip(job, decision, recent, rule, skip_min_similarity)
        elif guards and decision.action == "update":
            old = next(entry for entry in recent if entry.id == decision.replace_id)
            decision = _checked_update(job, decision, old, update_min_similarity)
        return _store(job, decision, recent)
    except UsageError:
        raise
    except EcholessError as problem:
        raise EcholessError(f"{_FAILED}{problem}") from problem


def _repeated(job: _Job) -> Captured | None:
    """Returns the result of a turn that is stored already, or None."""
    stored = entries.stored_as(job.store, job.turn)
    if stored is None:
        return None
    return job.done(TurnDecision("skip"), why=f"the turn is stored already, as {stored}")


def _checked_skip(
    job: _Job, decision: TurnDecision, recent: Sequence[Memory], rule: str, least: float
) -> TurnDecision:
    """Returns the decision, or `new` where no recent entry is near to the summary by rule."""
    if len(rule) < SHORTEST:
        return decision
    cosines = (_cosine(entry, job.vector(rule)) for entry in recent)
    closest = max((cosine for cosine in cosines if cosine is not None), default=None)
    if closest is not None and closest >= least:
        return decision
    job.warn(
        "sliding-context: the model says SKIP, but no recent entry is about this turn (closest: "
        f"{_shown(closest)}, needed: {least:g}); stored as new."
    )
    return TurnDecision("new", rule, by="rule")


def _checked_update(job: _Job, decision: TurnDecision, old: Memory, least: float) -> TurnDecision:
    """Returns the decision, or `new` where its text is not near to the entry it replaces."""
    cosine = _cosine(old, job.vector(decision.summary))
    if cosine is None or cosine < least:
        job.warn(
            f"sliding-context: the text for {old.id} is about something else (similarity: "
            f"{_shown(cosine)}, needed: {least:g}); stored as new, {old.id} stays."
        )
        return TurnDecision("new", decision.summary)
    lost = lost_facts([old.content], decision.summary)
    if missing := (*lost.numbers, *lost.names):
        job.warn(
            f"sliding-context: the text that replaces {old.id} leaves out {', '.join(missing)}; "
            "the old entry is in the lineage."
        )
    return decision


def _cosine(entry: Memory, vector: Vector) -> float | None:
    """Returns the cosine of an entry and a vector; None where they cannot be compared."""
    if len(entry.vectors) != 1 or entry.vectors[0].model != vector.model:
        return None
    one, other = (codec.bytes_to_floats(v.data) for v in (entry.vectors[0], vector))
    return cosine_similarity(one, other)


def _shown(cosine: float | None) -> str:
    return "none can be compared" if cosine is None else f"{cosine:.2f}"


def _store(job: _Job, decision: TurnDecision, recent: Sequence[Memory]) -> Captured:
    """Stores what was decided, unless another process stored the turn or its words meanwhile."""
    if decision.action == "skip":
        injected = decision.by == "injected"
        why = "nothing but recalled context was said" if injected else "nothing new was said"
        return job.done(decision, why=why)
    if len(decision.summary) < SHORTEST:
        return job.done(decision, why=f"the summary has less than {SHORTEST} characters")
    vector = job.vector(decision.summary)
    with writing_within(job.store, WAIT):
        recover(job.store)  # a run that was cut off may be the one of this turn
        if done := _repeated(job):
            return done
        known = {entry.id for entry in recent}
        for entry in job.recent():
            if entry.id not in known and entry.content == decision.summary:
                why = f"{entry.id} says it in the same words since just now"
                return job.done(decision, why=why)
        entry = entries.new_entry(job.store, job.turn, decision.summary, vector, job.moment)
        entries.note(job.store, job.turn, entry.id)
        if decision.replace_id is None:
            run = add(job.store, [entry], profile=SLIDING_CONTEXT, why="a turn, summed up")
            done = job.done(decision, entry=entry.id, run=run)
        else:
            done = _replace(job, decision, entry, decision.replace_id)
        entries.note(job.store, job.turn, entry.id, done.run)
        return done


def _replace(job: _Job, decision: TurnDecision, entry: Memory, id_: str) -> Captured:
    """Adds the new row, reads it back, and only then removes the one it takes the place of."""
    store = job.store
    old = store.get([id_]).get(id_)
    if old is None:
        run = add(store, [entry], profile=SLIDING_CONTEXT, why=f"takes the place of {id_}")
        return job.done(decision, entry=entry.id, run=run, removed=True)
    united, _ = merged(entry, [old], rules=store, removed=True)
    entry = replace(united, created_at=entry.created_at)
    cosine = _cosine(old, entry.vectors[0])
    member = Member(old.id, fingerprint(old), "update", cosine, "rewritten with the new turn")
    gone = Delete(entry.id, fingerprint(entry), (member,), "says it with what is new")
    done = add_with(store, [entry], [gone], profile=SLIDING_CONTEXT, why="a turn, summed up")
    why = ""
    if done.failed:
        why = f"{id_} could not be removed, both entries stay: {done.failed[0].reason}"
        job.warn(f"sliding-context: {why}")
    return job.done(decision, entry=entry.id, run=done.run, removed=not done.failed, why=why)


def run_capture(args: CaptureArgs, turn: Turn, *, warn: Warn | None = None) -> Captured:
    """Captures a turn with the table and the models that the flags name.

    Raises:
        EcholessError: As `capture`; also where there is no such table, or a key is missing.
    """
    with LanceStore(Location(args.db_path, CONTEXT_TABLE), what=models.WHO) as store:
        return capture(
            turn,
            store=store,
            complete=as_complete(models.open_model(args)) if args.llm else None,
            embed=models.open_embed(args, store.dimensions),
            locale=args.locale,
            max_chars=args.max_chars,
            window_hours=args.window_hours,
            guards=args.guards,
            prompt=args.prompt,
            warn=warn,
        )
