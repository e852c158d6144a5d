"""Masking of secrets in all output: marks such as `AKIA…[secret 1, 20 characters]`.

A mark has a number: different secrets have different numbers, and one secret has the same number
everywhere, so a reader sees why two memories are kept apart. A number reveals nothing of the
secret, where a digest would let a short password be guessed. Numbers follow the order of the
output, so that the same command prints the same again.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.secrets import Secret, may_hold, secrets_in, uncut
from echoless.core.text import lazy_pattern

if TYPE_CHECKING:
    from echoless.core.model import Memory

_Masked: TypeAlias = Callable[[str], str]
Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"] | None

VARIABLE: Final = "ECHOLESS_SHOW_SECRETS"
OPTION: Final = "--show-secrets"

MARKED: Final = lazy_pattern(r"\[secret \d+(?:, \d+ characters)?\]")
"""A mark of a masked secret with its number, as texts hold it."""

_WORDS: Final = lazy_pattern(r"\[secret[^\]\n]{0,40}\]|[^\W_]+")
MARK: Final = "[secret"
"""What each mark holds."""
_LEAST: Final = 3
"""Characters of a part of a secret that is hidden in a reason; shorter ones say nothing."""
_TELLING: Final = 6
"""Characters of a part with letters and digits that is hidden in any text."""
_NAMES: Final = frozenset({"password", "passwords", "key", "keys", "token", "tokens", "secret"})
"""What secrets are called: beside other parts of one it says nothing, and reasons say it of all."""
_QUOTING: Final = frozenset(
    {
        *("evidence", "difference", "differences", "shared", "only_a", "only_b", "against"),
        *("values", "words"),
        *("would_change", "why", "reason", "changed", "conflicts", "held", "note", "notes"),
        *("says", "advice", "would_hold"),
    }
)
"""Keys of JSON under which stand words of texts, out of their sentence."""


class Masks:
    """Numbers of secrets in the order of the output; may be used by several threads."""

    def __init__(self, *, shown: bool = False) -> None:
        """Starts without any known secret.

        Args:
            shown: Leave every text as it is.
        """
        self.shown = shown
        self._key = os.urandom(32)
        self._numbers: dict[bytes, int] = {}
        self._telling: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._used: set[int] = set()
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Returns how many different secrets were masked since `begin`."""
        return len(self._used)

    def begin(self, *, shown: bool | None = None) -> None:
        """Starts the count again at zero; numbers of secrets stay.

        Args:
            shown: Whether secrets are shown from now on; as the environment says if None.
        """
        self._used = set()
        self.shown = asked_for() if shown is None else shown

    def masked_before(self, count: int) -> None:
        """Counts the secrets of the one answer of a process, which another process masked."""
        self._used.update(range(1, count + 1))

    def learn(self, texts: Iterable[str]) -> None:
        """Remembers the secrets of texts whose words are quoted later, out of their sentence."""
        if not self.shown:
            for text in texts:
                for secret in secrets_in(text):
                    self._number(text, secret)

    def text(self, text: str) -> str:
        """Returns a text with marks in place of its secrets."""
        if self.shown:
            return text
        parts, at = [], 0
        for secret in secrets_in(text):
            parts += [self._words_out(text[at : secret.start], self._telling)]
            parts.append(self._mark(text, secret))
            at = secret.end
        parts.append(self._words_out(text[at:], self._telling))
        return "".join(parts)

    def reason(self, text: str) -> str:
        """Returns a reason that quotes single words, with parts of known secrets masked too."""
        return text if self.shown else self._words_out(self.text(text), self._words)

    def json(self, value: Json) -> Json:
        """Returns a JSON value with its texts masked, under some keys as reasons.

        The value itself where no secret is known: most answers hold none, and to copy a large one
        takes as long as to search it.
        """
        if self.shown:
            return value
        self._learn_json(value, set())
        if not self._numbers:
            return value
        # most texts of a long answer come again: names of fields, ids, what pairs have in common
        return self._json(value, cache(self.reason), cache(self.text), quoting=False)

    def _json(self, value: Json, reason: _Masked, text: _Masked, *, quoting: bool) -> Json:
        match value:
            case str():
                return reason(value) if quoting else text(value)
            case Mapping():
                fields: dict[str, Json] = {}
                for key, each in value.items():
                    name = text(key)
                    # the key may say that its value is a secret: `{"password": "..."}`
                    if isinstance(each, str) and (secret := _named(key, each)) is not None:
                        fields[name] = self._mark(each, secret)
                    else:
                        said = quoting or key in _QUOTING
                        fields[name] = self._json(each, reason, text, quoting=said)
                return fields
            case list() | tuple():
                return [self._json(each, reason, text, quoting=quoting) for each in value]
            case _:
                return value

    def _learn_json(self, value: Json, seen: set[str]) -> None:
        """Remembers the secrets of a value in their order, each of its texts looked at once."""
        match value:
            case str():
                if value not in seen:
                    seen.add(value)
                    self.learn((value,))
            case int() | float() | None:
                pass
            case dict() | Mapping():
                for key, each in value.items():
                    self._learn_json(key, seen)
                    # beside a key without a sign a text holds the secrets it holds alone
                    if isinstance(each, str) and may_hold(key):
                        secret = _named(key, each)
                        if secret is not None:
                            self._number(each, secret)
                    self._learn_json(each, seen)
            case list() | tuple():
                for each in value:
                    self._learn_json(each, seen)

    def _words_out(self, text: str, known: Mapping[str, int]) -> str:
        if not known or not text:
            return text

        def hidden(word: re.Match[str]) -> str:
            number = known.get(word[0].casefold())
            if number is None:
                return word[0]
            self._used.add(number)
            return f"{MARK} {number}]"

        return _WORDS.sub(hidden, text)

    def _mark(self, text: str, secret: Secret) -> str:
        number = self._number(text, secret)
        self._used.add(number)
        return mark(secret, number)

    def _number(self, text: str, secret: Secret) -> int:
        data = text[secret.start : secret.end].encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, key=self._key, digest_size=16).digest()
        with self._lock:
            known = self._numbers.get(digest)
            if known is not None:
                return known
            number = self._numbers[digest] = len(self._numbers) + 1
            body = text[secret.start + len(secret.head) : secret.end]
            parts = {m[0] for m in _WORDS.finditer(body.casefold()) if len(m[0]) >= _LEAST}
            for part in sorted(parts - _NAMES or parts):  # its words, as the judge quotes them
                self._words.setdefault(part, number)
                if len(part) >= _TELLING and not part.isalpha() and not part.isdecimal():
                    self._telling.setdefault(part, number)
        return number


def mark(secret: Secret, number: int | None = None) -> str:
    """Returns the mark that replaces a secret.

    The mark gives the length of tokens, whose form is public, and not of passwords, where the
    length helps to guess.
    """
    which = "" if number is None else f" {number}"
    if secret.head:
        return f"{secret.head}…{MARK}{which}, {secret.end - secret.start} characters]"
    return f"{MARK}{which}]"


def without_secrets(text: str) -> str:
    """Returns a text for a server, with one mark for all secrets: equal texts stay equal."""
    secrets = secrets_in(text)
    if not secrets:
        return text
    parts, at = [], 0
    for secret in secrets:
        parts += [text[at : secret.start], mark(secret)]
        at = secret.end
    return "".join([*parts, text[at:]])


class Veil:
    """Marks for the secrets of one question to a model, and their removal from its answer."""

    def __init__(self) -> None:
        """Starts without any mark."""
        self._hidden: dict[str, str] = {}
        self._marks: dict[str, str] = {}

    def over(self, text: str) -> str:
        """Returns a text with marks, numbered in the order they occur."""
        parts, at = [], 0
        for secret in secrets_in(text):
            value = text[secret.start : secret.end]
            if value not in self._marks:
                made = mark(secret, len(self._marks) + 1)
                self._marks[value], self._hidden[made] = made, value
            parts += [text[at : secret.start], self._marks[value]]
            at = secret.end
        return "".join([*parts, text[at:]])

    def lifted(self, text: str) -> str:
        """Returns an answer with its marks replaced by the secrets again."""
        for made, value in self._hidden.items():
            text = text.replace(made, value).replace(made.replace("…", "\\u2026"), value)
        return text


def _named(key: str, value: str) -> Secret | None:
    """Returns the part of a value that is a secret because of its key."""
    if not (may_hold(key) or may_hold(value)):
        return None
    before = f"{key}: "
    for secret in secrets_in(before + value):
        if secret.start == len(before):
            return Secret(0, secret.end - secret.start, secret.head)
    return None


def asked_for() -> bool:
    """Returns whether the environment asks for secrets to be shown."""
    return os.environ.get(VARIABLE, "").strip().lower() in {"1", "true", "yes", "on"}


OUTPUT: Final = Masks(shown=asked_for())
"""Marks of all that this process prints and answers."""


def learn(memories: Iterable[Memory | None]) -> None:
    """Remembers the secrets of memories, because reasons quote single words of their texts.

    Args:
        memories: Those that reasons speak of; None where one is gone.
    """
    from echoless.core.json_codec import json_text

    if OUTPUT.shown:
        return
    for memory in memories:
        if memory is not None:
            fields = (memory.metadata, memory.extra)
            OUTPUT.learn((memory.content, *(json_text(dict(each)) for each in fields if each)))


def excerpt(text: str, limit: int) -> str:
    """Returns a text on one line, with secrets masked, cut at `limit` characters."""
    joined = " ".join(text.split())
    if len(joined) <= limit:
        return OUTPUT.text(joined)
    return OUTPUT.text(joined[: uncut(joined, limit - 1)]) + "…"


def notice(count: int) -> str:
    """Returns the sentence that says how many secrets are masked, and how to see them."""
    what = "1 secret is masked" if count == 1 else f"{count:,} secrets are masked"
    return f"{what} in this output; {OPTION} or {VARIABLE}=1 shows secrets."
