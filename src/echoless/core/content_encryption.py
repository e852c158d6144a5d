"""Encryption of facts about texts with a key made of the texts themselves.

Verdicts and reports quote words of the texts, and a cache must hold no words. So its entries are
encrypted with a key made of the texts: whoever asks has the texts, and with them the key; the file
alone reveals nothing. (Keys made of the content itself: Douceur and others, Reclaiming Space from
Duplicate Files, 2002.) The cipher is AES-SIV (RFC 5297): it needs no nonce, the same data under the
same key become the same bytes, and what was changed or belongs to another entry does not open.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    aead = lazy_module("cryptography.hazmat.primitives.ciphers.aead")
    exceptions = lazy_module("cryptography.exceptions")

_HALF: Final = 32
_KEY: Final = 32
"""Bytes of a key: AES-SIV takes half to authenticate and half to encrypt, with AES-128 each."""

_PURPOSE: Final = b"echoless cache"


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
    """Returns data encrypted so that only prints of the texts decrypt it, and 16 bytes longer.

    Args:
        data: Anything.
        key: Names the entry; what is sealed under one does not open under another.
        prints: Of the texts it is about, 64 bytes each.
    """
    return _cipher(key, prints).encrypt(data, [key])


def opened(data: bytes, key: bytes, *prints: bytes) -> bytes | None:
    """Returns what was encrypted; None if it is damaged or belongs to other texts."""
    try:
        return _cipher(key, prints).decrypt(data, [key])
    except exceptions.InvalidTag:
        return None


def _cipher(key: bytes, prints: tuple[bytes, ...]) -> aead.AESSIV:
    secret = b"".join(each[_HALF:] for each in prints) + key
    return aead.AESSIV(blake2b(secret, digest_size=_KEY, person=_PURPOSE).digest())
