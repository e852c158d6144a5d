"""Captures a turn: decides, checks the decision, and stores the turn, all of it undoable.

The model is asked outside of the writer's lock; its decision is compared with the table again
inside of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from echoless.core import json_codec as codec
from echoless.core.errors import EcholessError, UsageError
from echoless.core.model import Json, Memory, Vector, canonical, fingerprint
from echoless.core.timestamps import instant
from echoless.execution.actions import Delete, Member
from echoless.execution.field_merge import merged
from echoless.execution.insertions import add, add_with
from echoless.execution.recovery import recover
from echoless.execution.rollback import history
from echoless.models.llm import Complete, Embed
from echoless.models.llm.registry import as_complete
from echoless.stores.base import writing_within
from echoless.stores.field_map import MappedUrl
from echoless.workflows.consolidation.fact_check import lost_facts
from echoless_programs.sliding_context import connections
from echoless_programs.sliding_context.arguments import WINDOW_HOURS, CaptureArgs
from echoless_programs.sliding_context.connections import cosine_similarity
from echoless_programs.sliding_context.turn import Turn, is_silent, rule_based_summary
from echoless_programs.sliding_context.turn_decision import (
    LAST,
    SHORTEST,
    SUMMARY_CHARS,
    TurnAction,
    TurnDecision,
    Warn,
    summarize_turn,
    to_standard_error,
)
from echoless_stores.lancedb.layout import CONTEXT_TABLE, SLIDING_CONTEXT
from echoless_stores.lancedb.store import LanceStore

UPDATE_MIN_SIMILARITY: Final = 0.50
SKIP_MIN_SIMILARITY: Final = 0.30
WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

_HOUR: Final = 3600 * 10**9
_GROUP: Final = "group"
_ANSWER: Final = "sliding-context turn "
_STANDING: Final = frozenset({"done", "partly done", "purged"})

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
        data: dict[str, Json] = asdict(self)
        replaced = data.pop("replace_id")
        return data if replaced is None else {**data, "replaceId": replaced}


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
        """Returns the latest entries of the turn's privacy class, the latest first, ties by id.

        A group chat is a class of its own with its channel; everything else is one class. All rows
        are read, whatever their order in the table; hidden ones are left out.
        """
        cutoff = int(self.moment.timestamp() * 10**9) - int(self.window_hours * _HOUR)
        wanted = _privacy(self.turn.session_type, self.turn.channel)
        hidden = self.store.ledger.marks()
        recent = []
        for entry in self.store.scan():
            at = instant(entry.created_at)
            session_type, _, channel = entry.namespace.partition("/")
            if at is None or at < cutoff or entry.id in hidden:
                continue
            if _privacy(session_type, channel) == wanted:
                recent.append((-at, entry.id, entry))
        return [entry for _, _, entry in sorted(recent, key=lambda each: each[:2])[:LAST]]

    def vector(self, text: str) -> Vector:
        """Returns the vector of a text, which is embedded once."""
        if text not in self.vectors:
            length = self.store.dimensions
            vector = connections.vector_of(text, self.embed, "", length)
            name = self.store.vector_model(vector.dimensions)
            self.vectors[text] = replace(vector, model=name)
        return self.vectors[text]

    def done(self, decision: TurnDecision, **more: Any) -> Captured:
        """Returns the result of this capture.

        Args:
            decision: What was done with the turn.
            more: Further fields of the result.
        """
        return Captured(
            action=decision.action,
            summary=decision.summary,
            replace_id=decision.replace_id,
            warnings=tuple(self.warnings),
            **more,
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
        connections.insist_on_layout(store)
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
    stored = _stored_as(job.store, job.turn)
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
    job.vector(decision.summary)  # nobody waits for the embedding model
    with writing_within(job.store, WAIT):
        recover(job.store)  # a run that was cut off may be the one of this turn
        if done := _repeated(job):
            return done
        known = {entry.id for entry in recent}
        for entry in job.recent():
            if entry.id not in known and entry.content == decision.summary:
                why = f"{entry.id} says it in the same words since just now"
                return job.done(decision, why=why)
        entry = _new_entry(job, decision.summary)
        note(job.store, job.turn, entry.id)
        if decision.replace_id is None:
            run = add(job.store, [entry], profile=SLIDING_CONTEXT, why="a turn, summed up")
            done = job.done(decision, id=entry.id, run=run)
        else:
            done = _replace(job, decision, entry, decision.replace_id)
        note(job.store, job.turn, entry.id, done.run)
        return done


def _replace(job: _Job, decision: TurnDecision, entry: Memory, id_: str) -> Captured:
    """Adds the new row, reads it back, and only then removes the one it takes the place of."""
    store = job.store
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
    """Captures a turn with the table and the models that the flags name.

    Raises:
        EcholessError: As `capture`; also where there is no such table, or a key is missing.
    """
    with LanceStore(MappedUrl(args.db_path, CONTEXT_TABLE), what=connections.WHO) as store:
        return capture(
            turn,
            store=store,
            complete=as_complete(connections.open_model(args)) if args.llm else None,
            embed=connections.open_embed(args, store.dimensions),
            locale=args.locale,
            max_chars=args.max_chars,
            window_hours=args.window_hours,
            guards=args.guards,
            prompt=args.prompt,
            warn=warn,
        )


# ------------------------------------------------------------------ entries of the table


def _privacy(session_type: str, channel: str) -> tuple[str, str]:
    """Returns the privacy class of a session."""
    return (_GROUP, channel) if session_type.strip().lower() == _GROUP else ("", "")


def _stored_as(store: LanceStore, turn: Turn) -> str | None:
    """Returns the entry a turn became, by its session and range of messages; None without both.

    It may have been replaced since; a run that was undone does not count.
    """
    key = _turn_key(turn)
    if key is None:
        return None
    for entry in store.scan():
        if canonical([entry.extra.get("sessionKey"), entry.extra.get("messageRange")]) == key:
            return entry.id
    answer = store.ledger.answer(_ANSWER + key)
    if answer is None:
        return None
    id_ = str(answer["id"])
    runs = [str(answer["run"])] if "run" in answer else store.ledger.runs_touching(id_)[:1]
    stands = any(past.status in _STANDING for run in runs for past in history(store.ledger, run))
    return id_ if stands else None


def note(store: LanceStore, turn: Turn, entry: str, run: str | None = None) -> None:
    """Records which entry a turn becomes; call inside `store.writing()`.

    Args:
        store: The table.
        turn: The turn; without a session and a range of messages nothing is noted.
        entry: Id of the new row.
        run: The run that added it; None before it did, so that a crash in between is no repeat.
    """
    key = _turn_key(turn)
    if key is not None:
        answer: dict[str, Json] = {"id": entry} if run is None else {"id": entry, "run": run}
        with store.ledger.transaction():
            store.ledger.keep_answer(_ANSWER + key, answer)


def _turn_key(turn: Turn) -> str | None:
    """Returns the key of a turn, or None without a session or a range of messages."""
    ends = [turn.message_range.get(key) for key in ("startId", "endId")]
    known = turn.session_key and all(ends)
    return canonical([turn.session_key, turn.message_range]) if known else None


def _new_entry(job: _Job, summary: str) -> Memory:
    """Returns the row a turn becomes; columns an older table does not have are left out."""
    turn = job.turn
    extra: dict[str, Json] = {
        "sessionKey": turn.session_key,
        "hasToolCalls": turn.called_tools,
        "hasDecision": turn.has_decision,
        "sessionFile": turn.session_file,
    }
    if turn.message_range:
        extra["messageRange"] = dict(turn.message_range)
    if turn.telegram_message_ids:
        extra["telegramMessageIds"] = sorted(set(turn.telegram_message_ids))
    columns = {column for place in job.store.layout.places for column in place.columns}
    seconds, rest = divmod(int(job.moment.timestamp() * 1000), 1000)  # the table holds milliseconds
    created_at = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    created_at += f".{rest:03d}Z" if rest else "Z"
    return Memory(
        id=str(uuid.uuid4()),
        content=summary,
        namespace=f"{turn.session_type}/{turn.channel}".rstrip("/"),
        tags=tuple(dict.fromkeys(turn.topics)) if "topics" in columns else (),
        created_at=created_at,
        vectors=(job.vector(summary),),
        extra={key: value for key, value in extra.items() if key in columns},
    )
