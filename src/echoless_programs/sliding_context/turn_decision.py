"""Decides what to do with a turn: by the reply of a model, and by rule where the model fails."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final, Literal, TypeAlias

from echoless.core.errors import UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json, JsonObject, Memory
from echoless.models.llm import Complete
from echoless_programs.sliding_context.turn import (
    SHORTEST_TRANSCRIPT,
    Message,
    cut_at_word,
    read_entries,
    read_messages,
    rule_based_summary,
    transcript,
)

SUMMARY_CHARS: Final = 500
"""Longest summary, in characters."""

Warn: TypeAlias = Callable[[str], None]

LAST: Final = 3
"""Entries the model is shown."""

_LEAST_CHARS: Final = 20
_SHORTEST_REPLY: Final = 3
_FAILED: Final = "sliding-context: LLM summarization failed, using rule-based: "

LANGUAGES: Final = ("de", "en", "ja")

_FRAME: Final = re.compile(r"<(\s*/?\s*transcript)", re.IGNORECASE)

TurnAction: TypeAlias = Literal["new", "update", "skip"]
By: TypeAlias = Literal["model", "rule", "injected"]

SHORTEST: Final = 10
"""Characters a summary has at least to be stored, or to replace an entry."""

_ALIAS: Final = {"replace_id": "replaceId"}


@dataclass(frozen=True, slots=True, eq=False)
class TurnDecision(Mapping[str, str]):
    """Decision about a turn. A mapping, too, with the keys hosts know.

    `decision["replaceId"]` is there for an update only; `decision["replace_id"]` is the same.

    Attributes:
        action: `new`, `update` or `skip`.
        summary: The text to store; empty for `skip`.
        replace_id: The entry it replaces, for an update.
        by: Who decided: the model, the rule without one, or that nothing but recalled text was
            said (`injected`).
    """

    action: TurnAction
    summary: str = ""
    replace_id: str | None = None
    by: By = "model"

    def _keys(self) -> dict[str, str]:
        keys: dict[str, str] = {"action": self.action, "summary": self.summary}
        return keys if self.replace_id is None else {**keys, "replaceId": self.replace_id}

    def __getitem__(self, key: str) -> str:
        return self._keys()[_ALIAS.get(key, key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())


def summarize_turn(
    messages: Sequence[Message | Json],
    *,
    recent: Sequence[Memory | JsonObject],
    complete: Complete | None,
    locale: str = "de",
    max_chars: int = SUMMARY_CHARS,
    warn: Warn | None = None,
    prompt: str | None = None,
) -> TurnDecision:
    """Decides whether a turn is new, replaces a recent entry, or says nothing new.

    Args:
        messages: Of the turn, see `turn.read_messages`.
        recent: Entries of the same privacy class, most recent first, as memories or as rows with
            `id` and `summary`; the first three are shown.
        complete: The model; None sums up by rule, and everything is new.
        locale: `de`, `en` or `ja`.
        max_chars: Of the summary, at least 20; a longer one is cut at the end of a word.
        warn: Told when the model failed; standard error by default.
        prompt: In place of the locale's request for a summary.

    Returns:
        The decision, also a mapping with the keys `action`, `summary` and, for an update,
        `replaceId`.

    Raises:
        InputError: A message is none.
        UsageError: An unknown locale, or too few characters.
    """
    if max_chars < _LEAST_CHARS:
        raise UsageError(f"max_chars must be a whole number from {_LEAST_CHARS}, not {max_chars}.")
    read = read_messages(messages)
    text = transcript(read)
    by_rule = TurnDecision("new", rule_based_summary(read, max_chars), by="rule")
    if len(text) < SHORTEST_TRANSCRIPT:
        was_injected = len(transcript(read, injected=True)) >= SHORTEST_TRANSCRIPT
        return TurnDecision("skip", by="injected") if was_injected else by_rule
    shown = read_entries(recent[:LAST]) if complete is not None else []
    request = turn_prompt(text, shown, locale=locale, max_chars=max_chars, base=prompt)
    if complete is None:
        return by_rule
    try:
        decision = _decision(complete(request), shown)
    except Exception as problem:  # noqa: BLE001 - a callable that was handed in may raise anything
        (warn or to_standard_error)(f"{_FAILED}{str(problem) or type(problem).__name__}")
        return by_rule
    return replace(decision, summary=cut_at_word(decision.summary, max_chars))


def _decision(reply: object, shown: Sequence[Memory]) -> TurnDecision:
    """Returns the decision that a reply states.

    Raises:
        TypeError: It is no text.
        ValueError: It says nothing.
    """
    if not isinstance(reply, str):
        raise TypeError(f"the reply is no text but {type(reply).__name__}")
    if len(reply.strip()) < _SHORTEST_REPLY:
        raise ValueError(f"the reply {reply.strip()!r} is too short")
    decision = parse_dedup_response(reply, shown)
    if decision.action != "skip" and not decision.summary:
        raise ValueError("the reply has no text behind its keyword")
    return decision


def to_standard_error(line: str) -> None:
    """Writes a line to standard error, without secrets."""
    print(OUTPUT.reason(line), file=sys.stderr)


# ------------------------------------------------------------------ the prompt


def turn_prompt(
    transcript: str,
    recent: Sequence[Memory],
    *,
    locale: str = "de",
    max_chars: int = 500,
    base: str | None = None,
) -> str:
    """Returns the prompt about one turn.

    The rules about entries stand in it only where there are entries. What is quoted cannot close
    the frame of the transcript.

    Args:
        transcript: Of the turn.
        recent: Entries, most recent first.
        locale: `de`, `en` or `ja`.
        max_chars: What the summary may have.
        base: In place of the locale's own request for a summary.

    Raises:
        UsageError: An unknown locale.
    """
    request = base if base is not None else _wording(locale, "summary")
    parts = [request.replace("{max_chars}", str(max_chars)).strip()]
    if recent:
        entries = "\n".join(
            f"[{at}] {_framed(' '.join(entry.content.split()))}"
            for at, entry in enumerate(recent, 1)
        )
        parts.append(_wording(locale, "dedup").format(count=len(recent), entries=entries))
    parts += [f"<transcript>\n{_framed(transcript)}\n</transcript>", "Summary:"]
    return "\n\n".join(parts)


def _framed(text: str) -> str:
    """Returns a text that cannot close the frame of the transcript."""
    return _FRAME.sub(r"< \1", text)


@cache
def _wordings() -> Mapping[str, Mapping[str, str]]:
    """Reads the texts of all languages, by their name."""
    file = resources.files("echoless_programs.sliding_context") / "wording.toml"
    return tomllib.loads(file.read_text("utf-8"))


def _wording(locale: str, name: str) -> str:
    """Returns one text of a language: `summary` or `dedup`.

    Raises:
        UsageError: An unknown locale.
    """
    if locale not in LANGUAGES:
        raise UsageError(f"Unknown locale {locale!r}. Known: {', '.join(LANGUAGES)}.")
    return _wordings()[locale][name].strip()


# ------------------------------------------------------------------ the reply

_MARKS: Final = r"[*_`]*"
_THOUGHT: Final = re.compile(r"\A<(think(?:ing)?)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(
    r"\A```(?:(?!skip\b)[\w+-]*[ \t]*\n)?(.*?)(?:```.*)?\Z", re.DOTALL | re.IGNORECASE
)
_LABEL: Final = re.compile(
    rf"\A{_MARKS}(?:summary|zusammenfassung|要約){_MARKS}\s*[:：]{_MARKS}\s*", re.IGNORECASE
)
_LIST_MARK: Final = re.compile(r"\A(?:[-*•>]|\d{1,2}[.)]|#{1,6})\s+")

_SKIP: Final = re.compile(
    rf"\A{_MARKS}\s*SKIP{_MARKS}"
    r"(?:\s*\Z|[ \t]*\n|\s*[.!:,;(。！：，；（–—−]|\s+-|-(?!\w))",
    re.IGNORECASE,
)
_ONLY_SKIP: Final = re.compile(
    rf"\A{_MARKS}\s*SKIP{_MARKS}\s*[.!。！]?{_MARKS}\s*\Z", re.IGNORECASE
)
_UPDATE: Final = re.compile(
    rf"\A(?P<open>{_MARKS})\s*(?:UPDATE|AKTUALISIERT|AKTUALISIERUNG)(?P<closed>{_MARKS})\s*"
    rf"(?P<which>\[[^\]\n]{{0,20}}\]|\#?\s?\d{{1,9}})?(?P<closed2>{_MARKS})\s*"
    r"(?:[:：–—−]|-(?=\s)|(?(which)-|(?!)))(?P<text>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NEW: Final = re.compile(
    rf"\A(?P<open>{_MARKS})\s*(?:NEW|NEU)(?P<closed>{_MARKS})\s*[:：](?P<text>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"\[?\s*#?\s*(\d{1,9})\s*\]?\Z")


def parse_dedup_response(text: str, recent: Sequence[Memory | JsonObject]) -> TurnDecision:
    """Returns the decision of a reply.

    Before the keyword may stand one label, one list mark, a code fence and emphasis; keywords count
    in any case, German ones too. What is none of the three forms is a summary of something new, and
    so is an update of an entry that was not offered, or with a text of less than ten characters.

    Args:
        text: Reply of the model.
        recent: The entries it was shown, most recent first, see `read_entries`; without any the
            reply is the summary, unless it is SKIP and nothing else.

    Returns:
        The decision. The summary of a `new` may be empty: then the reply had none.
    """
    reply = _without_frame(text)
    start = _LIST_MARK.sub("", reply, count=1)
    if (_SKIP if recent else _ONLY_SKIP).match(start):
        return TurnDecision("skip")
    if recent and (update := _UPDATE.match(start)):
        summary, entries = _behind_keyword(update), read_entries(recent)
        number = _NUMBER.match(update["which"] or "")
        at = int(number[1]) if number else 0
        if 1 <= at <= len(entries) and len(summary) >= SHORTEST:
            return TurnDecision("update", summary, entries[at - 1].id)
        return TurnDecision("new", summary)
    if new := _NEW.match(start):  # without entries nobody asked for the keyword; it is no text
        return TurnDecision("new", _behind_keyword(new))
    return TurnDecision("new", reply)


def _without_frame(text: str) -> str:
    """Returns a reply without thoughts, one fence and one label; the last two in any order."""
    reply = _THOUGHT.sub("", text.strip(), count=1).strip()
    labelled = False
    for _ in range(2):
        if reply.startswith("```") and (fence := _FENCE.match(reply)):
            reply = fence[1].strip()
        if not labelled and (label := _LABEL.match(reply)):
            labelled, reply = True, reply[label.end() :].strip()
    return reply


def _behind_keyword(match: re.Match[str]) -> str:
    """Returns the text behind a keyword; emphasis opened before the keyword is closed in it."""
    text, opened = match["text"].strip(), match["open"]
    closed = "".join(value or "" for key, value in match.groupdict().items() if "closed" in key)
    if opened and not closed:
        mark = opened[::-1]
        text = text.removeprefix(mark) if text.startswith(mark) else text.removesuffix(mark)
    return text.strip()
