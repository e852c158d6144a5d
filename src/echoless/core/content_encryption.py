"""Encryption of facts about texts with a key made of the texts themselves.

Verdicts and reports quote words of the texts, and a cache must hold no words. So its entries are
encrypted with a key made of the texts: whoever asks has the texts, and with them the key; the file
alone reveals nothing. (Keys made of the content itself: Douceur and others, Reclaiming Space from
Duplicate Files, 2002.) A checksum detects damaged entries.
"""

from __future__ import annotations

from hashlib import blake2b, shake_128
from typing import Final
from zlib import crc32

_HALF: Final = 32
_CHECK: Final = 4


def text_print(text: str) -> bytes:
    """Returns 64 bytes that stand for a text.

    The first half names the text, the second encrypts what is stored about it. Neither half reveals
    anything about the other.
    """
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()


def pair_key(a: bytes, b: bytes, *others: str) -> bytes:
    """Returns 16 bytes that name a pair of texts, from their prints and other names."""
    rest = "\0".join(others).encode("utf-8", "surrogatepass")
    return blake2b(a[:_HALF] + b[:_HALF] + rest, digest_size=16).digest()


def sealed(data: bytes, key: bytes, *prints: bytes) -> bytes:
    """Returns data encrypted so that only prints of the texts decrypt it.

    Args:
        data: Anything.
        key: Any bytes that never seal anything else: two things sealed alike betray each other.
        prints: Of the texts it is about, 64 bytes each.
    """
    return _mixed(crc32(data).to_bytes(_CHECK, "little") + data, key, prints)


def opened(data: bytes, key: bytes, *prints: bytes) -> bytes | None:
    """Returns what was encrypted; None if it is damaged or belongs to other texts."""
    plain = _mixed(data, key, prints)
    body = plain[_CHECK:]
    return body if crc32(body).to_bytes(_CHECK, "little") == plain[:_CHECK] else None


def _mixed(data: bytes, key: bytes, prints: tuple[bytes, ...]) -> bytes:
    size = len(data)
    stream = shake_128(b"".join(each[_HALF:] for each in prints) + key).digest(size)
    whole = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return whole.to_bytes(size, "little")
