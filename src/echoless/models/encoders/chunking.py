"""Division of long texts into parts that one vector can represent.

A mean-pooled vector loses the details it averages. Measured with `use` on texts of N words that
differ in one whole sentence (40 pairs each, `docs/adr/0002-default-encoder.md`), the median cosine
is 0.41 at 15 words, 0.70 at 30, 0.85 at 45, 0.94 at 90, 0.99 at 200. Other models read only the
first 256 (MiniLM) or 512 tokens (e5, model2vec): texts that differ after that get 1.0. Parts of 40
words avoid both problems and leave 97 of 100 memories of the development store in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final

from echoless.core.expressions import lazy_pattern
from echoless.core.text import has_unspaced_script, is_blank, words

PART_WORDS: Final = 40
"""Most words in one part. A word of 10 characters or fewer; longer ones count as several."""

_UNSPACED_WEIGHT: Final = 0.5
"""Chinese, Japanese, Thai: two characters count as a word, so a part holds about 80 of them."""

_CHARACTERS_A_WORD: Final = 10
_SENTENCE: Final = lazy_pattern(
    r"\S(?:[^.!?…。！？\n]++|[.!?…]++[\"'”’)\]]*+(?!\s))*"
    r"(?:[.!?…]++[\"'”’)\]]*+|[。！？]++[」』）]*+)?"
)
_TOKEN: Final = lazy_pattern(r"\S+")
_ASCII_WORD: Final = lazy_pattern(r"\w+")


def split_parts(text: str, *, limit: int = PART_WORDS) -> tuple[str, ...]:
    """Returns a text cut at sentence and line ends into parts of about equal size.

    Args:
        text: Any text.
        limit: Most words in a part, at least 1.

    Returns:
        Slices of the text in order, none blank, together holding every character that is not white
        space. A text of at most `limit` words is one part, stripped. Empty for a blank text.
    """
    if is_blank(text):
        return ()
    if _plainly_short(text, limit) or _size(text) <= limit:
        return (text.strip(),)
    sentences = (sentence.span() for sentence in _SENTENCE.finditer(text))
    spans = [piece for sentence in sentences for piece in _pieces(text, sentence, limit)]
    sizes = [_size(text[start:end]) for start, end in spans]
    target = sum(sizes) / ceil(sum(sizes) / limit)
    parts: list[str] = []
    start = last = spans[0][0]
    held = 0.0
    for (begin, end), size in zip(spans, sizes, strict=True):
        if held and (held >= target or held + size > limit):
            parts.append(text[start:last])
            start, held = begin, 0.0
        held += size
        last = end
    parts.append(text[start:last])
    return tuple(part for part in parts if not is_blank(part))


def _plainly_short(text: str, limit: int) -> bool:
    """Returns whether an ASCII text is one part, found without normalising it.

    Normalising takes characters away, so it joins words and makes no new ones.
    """
    return (
        text.isascii()
        and len(text) <= limit * _CHARACTERS_A_WORD
        and len(_ASCII_WORD.findall(text)) <= limit
    )


def _size(text: str) -> float:
    """Returns the number of words, weighted by script and length."""
    counted = sum(_UNSPACED_WEIGHT if has_unspaced_script(word) else 1.0 for word in words(text))
    return max(counted, len(text.strip()) / _CHARACTERS_A_WORD)


def _pieces(text: str, span: tuple[int, int], limit: int) -> Iterator[tuple[int, int]]:
    """Yields a span itself, or its tokens if it is too long, or slices of tokens too long."""
    start, end = span
    if _size(text[start:end]) <= limit:
        yield span
        return
    step = ceil(limit / _UNSPACED_WEIGHT)
    for token in _TOKEN.finditer(text, start, end):
        if _size(token.group()) <= limit:
            yield token.span()
        else:
            for cut in range(token.start(), token.end(), step):
                yield cut, min(cut + step, token.end())
