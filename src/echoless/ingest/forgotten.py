"""Recognises what was to be forgotten when it comes back, without its text.

Of each claim of a forgotten memory the ledger has keyed digests of its words, numbers and names,
and the signs of a keyed projection of its vector (Charikar 2002, similarity estimation by random
hyperplanes). The key lies with the data of this user and never beside the store: who has the store
alone cannot test guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import cos, pi
from typing import TYPE_CHECKING, Final

from echoless.core.claims import ClaimKind, is_bare, is_long, split_claims
from echoless.core.document import texts_in
from echoless.core.errors import InputError, StoreError, UsageError
from echoless.core.model import Json, JsonObject
from echoless.core.own_folders import make_own, user_folder
from echoless.core.text import normalise
from echoless.core.timestamps import day
from echoless.matching.comparison import representative
from echoless.matching.facts.extraction import facts_of
from echoless.matching.values.tokens import Kind
from echoless.models.encoders.registry import open_encoder
from echoless.stores.base import Store
from echoless.stores.files import write_new
from echoless.stores.ledger import FORGOTTEN as LINEAGE
from echoless.stores.ledger import Ledger

if TYPE_CHECKING:
    from echoless.models.encoders.base import Encoder

CLOSE: Final = 0.55
SAME_WORDS: Final = 0.50
"""A text says a claim again where the estimated cosine reaches `CLOSE`, or the share of words that
both have reaches `SAME_WORDS`, and neither has a number or a name that the other one lacks and
replaces. See `benchmarks/results/forgetting.md`."""

_BITS: Final = 512
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.DATE, Kind.VERSION, Kind.UNIT})
_NAMES: Final = frozenset({Kind.IDENTIFIER, Kind.PATH, Kind.NAME, Kind.SCOPE})
_SAYING: Final = frozenset({ClaimKind.SENTENCE, ClaimKind.ITEM, ClaimKind.ROW})


@dataclass(frozen=True, slots=True)
class Trace:
    """What is kept of a claim.

    Attributes:
        whole: Digest of its normal form.
        words: Digests of its words, up to synonyms, names and numbers among them.
        numbers: Digests of its numbers and days.
        names: Digests of its names, identifiers and paths.
        signs: Signs of the projection of its vector; negative where no encoder was there.
    """

    whole: str
    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    signs: int = -1

    def to_json(self) -> dict[str, Json]:
        """Returns it as the ledger keeps it."""
        return {
            "whole": self.whole,
            "words": sorted(self.words),
            "numbers": sorted(self.numbers),
            "names": sorted(self.names),
            "signs": f"{self.signs:x}",
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> Trace:
        """Returns what `to_json` gave."""
        words, numbers, names = (
            frozenset(texts_in(data[name])) for name in ("words", "numbers", "names")
        )
        return cls(str(data["whole"]), words, numbers, names, int(str(data["signs"]), 16))

    def is_said_by(self, other: Trace, signs: Callable[[], int]) -> bool:
        """Checks whether another claim says this one again.

        Args:
            other: Of the new text, without signs.
            signs: Makes these; called only where it is open.
        """
        if self.whole == other.whole:
            return True
        if any(
            a - b and b - a for a, b in ((self.numbers, other.numbers), (self.names, other.names))
        ):
            return False
        shared = len(self.words & other.words)
        if not shared or min(len(self.words), len(other.words)) < 2:
            return False
        if shared >= SAME_WORDS * len(self.words | other.words):
            return True
        if self.signs < 0 or (made := signs()) < 0:
            return False
        return cos(pi * (self.signs ^ made).bit_count() / _BITS) >= CLOSE


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Something a person had forgotten.

    Attributes:
        key: Names it, for `forget --undo-digest`.
        at: When, ISO 8601 UTC.
        traces: Of its claims.
        ours: Whether the digests were made with the key of this user.
    """

    key: str
    at: str
    traces: tuple[Trace, ...]
    ours: bool


class Traces:
    """Makes traces with the key of this user.

    Raises:
        UsageError: There is no place for the key, or it cannot be read.
    """

    def __init__(self) -> None:
        self._key = _key()
        self.owner = self._digest("owner", "")

    def _digest(self, kind: str, value: str) -> str:
        said = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()[:16]

    def of_memory(self, text: str) -> list[Trace]:
        """Returns the traces of a text that is to be forgotten: of it, and of each claim."""
        return [self._of(part, self.signs(part)) for part in _parts(text)]

    def of_news(self, text: str) -> Iterator[tuple[str, Trace]]:
        """Yields the parts of a new text with their traces, without signs."""
        for part in _parts(text):
            yield part, self._of(part, -1)

    def _of(self, text: str, signs: int) -> Trace:
        facts = facts_of(text)
        digests: dict[str, set[str]] = {"words": set(), "numbers": set(), "names": set()}
        for token in facts.tokens:
            is_number = token.kind in _NUMBERS
            said = str(token.value) if is_number else representative(token, facts.lexicon)
            digest = self._digest("number" if is_number else "word", said)
            digests["words"].add(digest)
            if is_number or token.kind in _NAMES:
                digests["numbers" if is_number else "names"].add(digest)
        whole = self._digest("whole", normalise(text, fold_case=True))
        some = {name: frozenset(each) for name, each in digests.items()}
        return Trace(whole, some["words"], some["numbers"], some["names"], signs)

    @cached_property
    def _encoder(self) -> Encoder | None:
        return open_encoder("auto")

    def signs(self, text: str) -> int:
        """Returns the signs of the projection of the vector of a text; -1 without an encoder."""
        if self._encoder is None:
            return -1
        import numpy as np

        (vector,) = self._encoder.encode([text])
        seed = int(self._digest("projection", self._encoder.model), 16)
        planes = np.random.default_rng(seed).standard_normal((len(vector), _BITS))
        return int.from_bytes(np.packbits(vector @ planes > 0).tobytes(), "big")


class ForgottenClaims:
    """What was to be forgotten of one store, and can be recognised with the key of this user."""

    def __init__(self, ledger: Ledger) -> None:
        """Reads the events of a ledger."""
        self._own = [each for each in forgotten(ledger) if each.ours]

    def __bool__(self) -> bool:
        """Checks whether anything was to be forgotten; of nearly all stores nothing was."""
        return bool(self._own)

    @cached_property
    def _traces(self) -> Traces:
        return Traces()

    def said_by(self, text: str) -> Forgotten | None:
        """Returns what a text says again although it was to be forgotten, or None."""
        for part, trace in self._traces.of_news(text) if self._own else ():
            signs = cache(partial(self._traces.signs, part))
            for each in self._own:
                if any(own.is_said_by(trace, signs) for own in each.traces):
                    return each
        return None


def held(store: Store) -> Callable[[str], str | None]:
    """Returns what says why a text is not to come into a store, as what follows its id, or None.

    The lineage is read once, here.
    """
    claims = ForgottenClaims(store.ledger)

    def why(text: str) -> str | None:
        if (said := claims.said_by(text)) is None:
            return None
        return f"says again what was to be forgotten on {day(said.at)} ({said.key})"

    return why


def forgotten(ledger: Ledger) -> list[Forgotten]:
    """Returns all that is to stay forgotten, oldest first."""
    standing: dict[str, Forgotten] = {}
    owner: str | None = None
    for event in ledger.events(LINEAGE):
        key = str(event.data["key"])
        if event.kind == "forgotten":
            if owner is None:
                owner = Traces().owner
            made = event.data["traces"]
            assert isinstance(made, list)
            traces = tuple(Trace.from_json(each) for each in made if isinstance(each, dict))
            standing[key] = Forgotten(key, event.at, traces, event.data["owner"] == owner)
        else:
            standing.pop(key, None)
    return list(standing.values())


def digests_of(texts: Iterable[str]) -> list[dict[str, Json]]:
    """Returns what the lineage keeps of texts that are to stay forgotten, each under a new key.

    Raises:
        UsageError: As `Traces`.
    """
    traces, made = Traces(), list[dict[str, Json]]()
    for text in dict.fromkeys(texts):
        parts: list[Json] = [each.to_json() for each in traces.of_memory(text)]
        made.append({"key": os.urandom(4).hex(), "owner": traces.owner, "traces": parts})
    return made


def let_come_back(store: Store, keys: Collection[str]) -> None:
    """Takes back that something is to stay forgotten.

    Raises:
        InputError: Nothing was forgotten under one of the keys.
    """
    with store.writing(), store.ledger.transaction():
        known = {each.key for each in forgotten(store.ledger)}
        for key in keys:
            if key not in known:
                raise InputError(f"Nothing was forgotten under {key!r} in {store.url}.")
            store.ledger.record("forgotten_no_more", LINEAGE, {"key": key})


def _parts(text: str) -> Iterator[str]:
    """Yields a text where it is short, and its claims where it has several."""
    claims = [claim.of(text) for claim in split_claims(text) if claim.kind in _SAYING]
    if not is_long(text):
        yield text
    if len(claims) > 1:
        yield from dict.fromkeys(said for said in claims if not is_bare(said))


def _key() -> bytes:
    """Returns the key of this user, made at its first use.

    Raises:
        UsageError: It cannot be made or read.
    """
    path = user_folder("data") / "forget.key"
    try:
        make_own(path.parent)
        if not path.exists():
            with suppress(StoreError):  # another process made it just now
                write_new(path, os.urandom(32))
        key = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"The key of what is forgotten cannot be used: {problem}.") from problem
    if len(key) != 32:
        raise UsageError(f"{path} is damaged: it holds no key. Put it back from a copy.")
    return key
