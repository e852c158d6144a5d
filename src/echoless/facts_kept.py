"""Whether a text that was made from others keeps their facts. Law 12: a loss is refused.

Checked is what can be checked without understanding: figures, file names, paths, and that what is
denied stays denied. It is a net, not a proof; a text that passes may still have lost a nuance.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.guards import negations, numbers

FILE_NAME: Final = re.compile(r"[\w./-]+\.[A-Za-z][A-Za-z0-9]{0,5}")
_PATH: Final = re.compile(r"(?<![\w/])/?(?:[\w.-]+/)+[\w.-]+")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\s*\n\s*")
_END: Final = ".!?…。！？:;"


@dataclass(frozen=True, slots=True)
class LostFacts:
    """What is in the sources and not in the text made from them; empty where nothing is lost.

    Attributes:
        numbers: Numeric tokens as written after NFKC.
        names: File names and paths.
        negations: Words of denial, where the text denies nothing at all.
    """

    numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names or self.negations)

    def line(self) -> str:
        """What is lost, for a person."""
        return ", ".join((*self.numbers, *self.names, *self.negations))


def lost_facts(sources: Sequence[str], text: str) -> LostFacts:
    """What a text made from others leaves out of them.

    Args:
        sources: The texts it was made from.
        text: The text.

    Returns:
        Each lost fact once, in the order of the sources.
    """
    kept_numbers, kept_names = set(numbers(text)), set(names(text))
    denied = _each_once(word for source in sources for word in negations(source))
    return LostFacts(
        _each_once(n for source in sources for n in numbers(source) if n not in kept_numbers),
        _each_once(n for source in sources for n in names(source) if n not in kept_names),
        denied if denied and not negations(text) else (),
    )


def names(text: str) -> tuple[str, ...]:
    """File names and paths as written after NFKC, without dots at their ends, in order."""
    flat = unicodedata.normalize("NFKC", text)
    found = sorted(
        (match.start(), match[0].strip("."))
        for p in (FILE_NAME, _PATH)
        for match in p.finditer(flat)
    )
    return _each_once(name for _, name in found if not name.replace("/", "").isdecimal())


def all_sentences(texts: Sequence[str]) -> str:
    """One text of all distinct sentences, in order: a merge that cannot lose anything.

    Sentences are the same where they differ in case and white space only. One without an end mark
    gets a full stop where another follows.

    Args:
        texts: The most important one first.
    """
    found: dict[str, str] = {}
    for text in texts:
        for sentence in _SENTENCE.split(text.strip()):
            flat = " ".join(sentence.split())
            if flat:
                found.setdefault(flat.casefold(), flat)
    sentences = list(found.values())
    closed = [s if s[-1] in _END else f"{s}." for s in sentences[:-1]]
    return " ".join([*closed, *sentences[-1:]])


def _each_once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
