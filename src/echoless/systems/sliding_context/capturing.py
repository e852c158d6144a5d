"""Keep a turn: decide, check what was decided, and store it, all of it undoable.

The model is asked outside of the writer's lock; what it decided is held against the table again
inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from echoless import codec
from echoless.actions import Delete, Member
from echoless.adding import add, add_with
from echoless.errors import EcholessError, UsageError
from echoless.facts_kept import lost_facts
from echoless.llm import Complete, Embed
from echoless.llm.bridge import as_complete
from echoless.merging import merged
from echoless.model import Json, Memory, Vector, fingerprint
from echoless.recovery import recover
from echoless.stores.base import writing_within
from echoless.stores.lancedb.layout import CONTEXT_TABLE, SLIDING_CONTEXT
from echoless.stores.lancedb.location import Location
from echoless.stores.lancedb.store import LanceStore
from echoless.systems.sliding_context import entries, models
from echoless.systems.sliding_context.arguments import SUMMARY_CHARS, WINDOW_HOURS, CaptureArgs
from echoless.systems.sliding_context.grouping import cosine_similarity
from echoless.systems.sliding_context.replies import SHORTEST, TurnAction, TurnDecision
from echoless.systems.sliding_context.summarizing import (
    Warn,
    summarize_turn,
    to_standard_error,
)
from echoless.systems.sliding_context.transcribing import is_silent, rule_based_summary
from echoless.systems.sliding_context.turns import Turn

UPDATE_MIN_SIMILARITY: Final = 0.50
SKIP_MIN_SIMILARITY: Final = 0.30
WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

_FAILED: Final = "sliding-context: capture failed: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What became of a turn.

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
        """0, or 1 if an update left the old row behind."""
        return 1 if self.id and self.replace_id and not self.removed else 0

    def to_json(self) -> dict[str, Json]:
        """With the keys hosts know; `replaceId` is there for an update only."""
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
    """One capture on its way."""

    turn: Turn
    store: LanceStore
    embed: Embed
    moment: datetime
    window_hours: float
    tell: Warn
    warnings: list[str] = field(default_factory=list)
    made: dict[str, Vector] = field(default_factory=dict)

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)
        self.tell(sentence)

    def recent(self) -> list[Memory]:
        return entries.recent_entries(
            self.store, self.turn, window_hours=self.window_hours, now=self.moment
        )

    def vector(self, text: str) -> Vector:
        if text not in self.made:
            length = self.store.dimensions
            vector = models.vector_of(text, self.embed, "", length)
            name = self.store.vector_model(vector.dimensions)
            self.made[text] = replace(vector, model=name)
        return self.made[text]

    def done(self, decision: TurnDecision, **more: object) -> Captured:
        return Captured(
            action=decision.action,
            summary=decision.summary,
            replace_id=decision.replace_id,
            warnings=tuple(self.warnings),
            **more,  # type: ignore[arg-type]
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
    """Sum up a turn and store it, unless the last three entries say it already.

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
    told = turn if isinstance(turn, Turn) else Turn.from_json(turn)
    _check(window_hours, update_min_similarity, skip_min_similarity)
    moment = now or datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    job = _Job(told, store, embed, moment, window_hours, warn or to_standard_error)
    try:
        entries.insist_on_layout(store)
        if done := _already(job, told):
            return done
        seen = job.recent() if complete is not None else []
        decision = summarize_turn(
            told.messages,
            recent=seen,
            complete=complete,
            locale=locale,
            max_chars=max_chars,
            warn=job.warn,
            prompt=prompt,
        )
        if guards:
            decision = _held_to(
                job, decision, seen, max_chars, update_min_similarity, skip_min_similarity
            )
        return _stored(job, decision, seen)
    except UsageError:
        raise
    except EcholessError as problem:
        raise EcholessError(f"{_FAILED}{problem}") from problem


def _check(window_hours: float, *similarities: float) -> None:
    if not window_hours >= 0:
        raise UsageError(f"window_hours must be 0 or more, not {window_hours!r}.")
    for value in similarities:
        if not -1 <= value <= 1:
            raise UsageError(f"A least similarity must be a cosine from -1 to 1, not {value!r}.")


def _already(job: _Job, turn: Turn) -> Captured | None:
    """What there is to say of a turn without asking anyone."""
    if is_silent(turn.messages):
        return job.done(TurnDecision("skip"), why="the assistant had nothing to say")
    return _repeated(job)


def _repeated(job: _Job) -> Captured | None:
    stored = entries.stored_as(job.store, job.turn)
    if stored is None:
        return None
    return job.done(TurnDecision("skip"), why=f"the turn is stored already, as {stored}")


# ------------------------------------------------------------------ checks


def _held_to(
    job: _Job,
    decision: TurnDecision,
    seen: Sequence[Memory],
    max_chars: int,
    update_min: float,
    skip_min: float,
) -> TurnDecision:
    """The decision, or `new` where what the model says cannot be true."""
    if decision.action == "skip" and decision.by == "model":
        return _held_to_skip(job, decision, seen, max_chars, skip_min)
    if decision.action == "update":
        old = next(entry for entry in seen if entry.id == decision.replace_id)
        return _held_to_update(job, decision, old, update_min)
    return decision


def _held_to_skip(
    job: _Job, decision: TurnDecision, seen: Sequence[Memory], max_chars: int, least: float
) -> TurnDecision:
    rule = rule_based_summary(job.turn.messages, max_chars)
    if len(rule) < SHORTEST:
        return decision
    closest = max(
        (c for e in seen if (c := _cosine(e, job.vector(rule))) is not None), default=None
    )
    if closest is not None and closest >= least:
        return decision
    job.warn(
        "sliding-context: the model says SKIP, but no recent entry is about this turn (closest: "
        f"{_shown(closest)}, needed: {least:g}); stored as new."
    )
    return TurnDecision("new", rule, by="rule")


def _held_to_update(job: _Job, decision: TurnDecision, old: Memory, least: float) -> TurnDecision:
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
    """Their cosine; None where they cannot be compared."""
    if len(entry.vectors) != 1 or entry.vectors[0].model != vector.model:
        return None
    one, other = (codec.bytes_to_floats(v.data) for v in (entry.vectors[0], vector))
    return cosine_similarity(one, other)


def _shown(cosine: float | None) -> str:
    return "none can be compared" if cosine is None else f"{cosine:.2f}"


# ------------------------------------------------------------------ storing


def _stored(job: _Job, decision: TurnDecision, seen: Sequence[Memory]) -> Captured:
    if decision.action == "skip":
        injected = decision.by == "injected"
        why = "nothing but recalled context was said" if injected else "nothing new was said"
        return job.done(decision, why=why)
    if len(decision.summary) < SHORTEST:
        return job.done(decision, why=f"the summary has less than {SHORTEST} characters")
    vector = job.vector(decision.summary)
    with writing_within(job.store, WAIT):
        recover(job.store)  # a run that was cut off may be the one of this turn
        if done := _repeated(job) or _twin(job, decision, seen):
            return done
        entry = entries.new_entry(job.store, job.turn, decision.summary, vector, job.moment)
        entries.note(job.store, job.turn, entry.id)
        if decision.replace_id is None:
            run = add(job.store, [entry], profile=SLIDING_CONTEXT, why="a turn, summed up")
            done = job.done(decision, id=entry.id, run=run)
        else:
            done = _replaced(job, decision, entry)
        entries.note(job.store, job.turn, entry.id, done.run)
        return done


def _twin(job: _Job, decision: TurnDecision, seen: Sequence[Memory]) -> Captured | None:
    """What there is to say where the same words came in since the model was asked."""
    known = {entry.id for entry in seen}
    fresh = (entry for entry in job.recent() if entry.id not in known)
    twin = next((entry for entry in fresh if entry.content == decision.summary), None)
    if twin is None:
        return None
    return job.done(decision, why=f"{twin.id} says it in the same words since just now")


def _replaced(job: _Job, decision: TurnDecision, entry: Memory) -> Captured:
    """Add the new row, read it back, and only then remove the one it takes the place of."""
    store, id_ = job.store, decision.replace_id or ""
    old = store.get([id_]).get(id_)
    if old is None:
        run = add(store, [entry], profile=SLIDING_CONTEXT, why=f"takes the place of {id_}")
        return job.done(decision, id=entry.id, run=run, removed=True)
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
    return job.done(decision, id=entry.id, run=done.run, removed=not done.failed, why=why)


def run_capture(args: CaptureArgs, turn: Turn, *, warn: Warn | None = None) -> Captured:
    """Keep a turn with the table and the models the flags name.

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
