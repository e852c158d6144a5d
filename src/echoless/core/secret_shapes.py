"""Detection of random values beside a word such as "password", by their shape.

Only the shape is looked at: a password of plain words cannot be told from a sentence.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from echoless.core.expressions import lazy_pattern

_KNOWN: Final = lazy_pattern(
    r"v?\d+(?:\.\d+)+\S*"  # versions, addresses
    r"|\d+[^\W\d_]*%?"  # 12characters, 15min, 128000
    r"|(?:min|max)\d+\S*"
    r"|\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\S*)?"  # dates, times
    r"|(?:md5|sha|oauth|argon|bcrypt|scrypt|pbkdf|ed25519|[rhep]s(?:256|384|512)|base\d|utf-?\d|http"
    r"|x509|totp|hotp|2fa|mfa|aes|rsa|hmac|ecdsa|p-?256|chacha|ssh-|rot13|gpg|pgp|pkcs|k8s|s3:)\S*"
    r"|(?:\.{0,2}|~)/\S*|[a-z][a-z0-9+.-]*://\S*|[a-z]:\\\S*"  # paths, URLs
    r"|\S+\.(?:env|json|ya?ml|toml|txt|md|py|js|ts|go|rs|sh|pem|key|crt|db|sqlite|cfg|ini|conf|html)"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # mail addresses
    r"|[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)+"  # settings.API_KEY_2
    r"|[A-Z][A-Z0-9]*_[A-Z0-9_]*"  # DB_PASSWORD_2
    r"|[<{$%\[&].*|\S*\*{3}.*|x{3,}\S*|your\S*|redacted\S*|changeme\S*|example\S*|placeholder\S*",
    re.IGNORECASE,
)
_CONSTANT: Final = lazy_pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_UUID: Final = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PART: Final = lazy_pattern(r"[-_/.:@=+]+")
_WORD_NUMBER: Final = lazy_pattern(r"[^\W\d_]+\d{1,2}|\d{1,2}[^\W\d_]+|[A-Za-z]?\d+")
_SIGNS: Final = frozenset("!#$%^&*+=?@~")
_LEAST: Final = 6
_LEAST_TOKEN: Final = 8
_RANDOM: Final = 20
_RANDOM_WITH_DIGIT: Final = 10
"""Letters from which on their cases tell a made-up value; so many drawn of 62 signs have a digit
nearly always, so without one there have to be more."""
_CHANGES: Final = 0.35
"""Changes of case per letter: a half in random letters, a tenth in camelCase."""


def looks_made_up(value: str, *, password: bool) -> bool:
    """Returns whether a value is a secret, given that a word before it says so.

    Args:
        value: Without quotes and without the full stop of its sentence.
        password: The word speaks of a password, which people make up, and which is short; otherwise
            of a token or key, which a machine makes.
    """
    least = _LEAST if password else _LEAST_TOKEN
    if len(value) < least or _CONSTANT.fullmatch(value):
        return False
    if password and value.isdecimal():
        return True
    if _UUID.fullmatch(value):
        return True
    if _KNOWN.fullmatch(value) and not _is_long(value):
        return False
    capitals = [c.isupper() for c in value if c.isalpha()]
    digits = any(c.isdigit() for c in value)
    if password and capitals and (digits or not _SIGNS.isdisjoint(value)):
        return True
    changes = sum(a != b for a, b in pairwise(capitals))
    enough = len(capitals) >= (_RANDOM_WITH_DIGIT if digits else _RANDOM)
    if enough and changes >= _CHANGES * len(capitals):
        return True
    if not capitals or not digits:
        return False
    return any(  # a part with letters and digits that is no word with a number after it
        len(part) >= _LEAST
        and any(c.isalpha() for c in part)
        and any(c.isdigit() for c in part)
        and not _WORD_NUMBER.fullmatch(part)
        for part in _PART.split(value)
    )


def _is_long(value: str) -> bool:
    """Returns whether a value is as long as base64 keys are, in both cases, with digits."""
    return (
        len(value) >= 32
        and value.isascii()
        and not value.islower()
        and not value.isupper()
        and all(c.isalnum() or c in "+/=_-" for c in value)
        and sum(c.isdigit() for c in value) > 1
        and _PART.sub("", value) != ""
        and max(map(len, _PART.split(value))) >= 16
    )
