"""What is told of texts as bytes that only who has the texts can read.

What a verdict or a report names are words of the texts, and a cache must hold none. So it is sealed
with a key made of the texts: whoever asks has them, and with them the key; the file alone tells
nothing. (Keys made of the content itself: Douceur and others, Reclaiming Space from Duplicate
Files, 2002.) A checksum tells a damaged entry from a whole one.
"""

from __future__ import annotations

from hashlib import blake2b, shake_128
from typing import Final
from zlib import crc32

_HALF: Final = 32
_CHECK: Final = 4


def text_print(text: str) -> bytes:
    """64 bytes that stand for a text: the first half names it, the second seals what is told of it.

    Neither half tells anything of the other.
    """
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()


def pair_key(a: bytes, b: bytes, *others: str) -> bytes:
    """16 bytes that name a pair of texts, from their prints and whatever else tells it apart."""
    told = "\0".join(others).encode("utf-8", "surrogatepass")
    return blake2b(a[:_HALF] + b[:_HALF] + told, digest_size=16).digest()


def sealed(data: bytes, key: bytes, *prints: bytes) -> bytes:
    """Data that only prints of the texts open.

    Args:
        data: Anything.
        key: Any bytes that never seal anything else: two things sealed alike betray each other.
        prints: Of the texts it is about, 64 bytes each.
    """
    return _mixed(crc32(data).to_bytes(_CHECK, "little") + data, key, prints)


def opened(data: bytes, key: bytes, *prints: bytes) -> bytes | None:
    """What was sealed; None if it is damaged or belongs to other texts."""
    plain = _mixed(data, key, prints)
    body = plain[_CHECK:]
    return body if crc32(body).to_bytes(_CHECK, "little") == plain[:_CHECK] else None


def _mixed(data: bytes, key: bytes, prints: tuple[bytes, ...]) -> bytes:
    size = len(data)
    stream = shake_128(b"".join(each[_HALF:] for each in prints) + key).digest(size)
    whole = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return whole.to_bytes(size, "little")
