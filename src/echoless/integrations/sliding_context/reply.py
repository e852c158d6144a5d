"""Parses a model's reply about a turn: NEW, UPDATE or SKIP, in many forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.core.model import JsonObject, Memory
from echoless.integrations.sliding_context.turn import read_entries

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
        text: What the model said.
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
