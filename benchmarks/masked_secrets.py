"""Which secrets are masked, and what is masked and is none: `python -m benchmarks.masked_secrets`.

Recall is counted on secrets made by the forms their issuers publish, in several sentences each;
false ones on texts that hold none, and on real texts, where each find is printed to be looked at
(nothing of them is stored). Time is for 20,000 characters of one pattern.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from echoless.core.secrets import secrets_in

_DIGITS: Final = string.digits
_ALNUM: Final = string.ascii_letters + _DIGITS
_UPPER: Final = string.ascii_uppercase + _DIGITS
_HEX: Final = "0123456789abcdef"
_URLSAFE: Final = _ALNUM + "_-"

TOKENS: Final[dict[str, tuple[str, str, int]]] = {
    "AWS access key": ("AKIA", _UPPER, 16),
    "AWS session key": ("ASIA", _UPPER, 16),
    "GitHub": ("ghp_", _ALNUM, 36),
    "GitHub, fine-grained": ("github_pat_", _ALNUM + "_", 82),
    "GitLab": ("glpat-", _URLSAFE, 20),
    "Slack": ("xoxb-", _ALNUM + "-", 50),
    "Stripe": ("sk_live_", _ALNUM, 24),
    "OpenAI": ("sk-proj-", _URLSAFE, 100),
    "OpenAI, old": ("sk-", _ALNUM, 48),
    "Anthropic": ("sk-ant-api03-", _URLSAFE, 90),
    "Google": ("AIza", _URLSAFE, 35),
    "Hugging Face": ("hf_", _ALNUM, 34),
    "npm": ("npm_", _ALNUM, 36),
    "PyPI": ("pypi-AgEIcHlwaS5vcmc", _URLSAFE, 120),
    "Twilio": ("SK", _HEX, 32),
    "DigitalOcean": ("dop_v1_", _HEX, 64),
}
WAYS: Final = ("{}", "The key is {}.", "export KEY='{}'", '{{"k": "{}"}}', "old {}, see notes")
ASSIGNED: Final = (
    "password: {}",
    "DB_PASSWORD={}",
    '"password": "{}"',
    "The password for the NAS is {}.",
    "The admin password was changed to {} on Monday",
    "Passwort: {}",
    "- **Password:** {}",
    "비밀번호: {}",
    "api_key = '{}'",
    "client_secret: {}",
    "Authorization: Bearer {}",
    "postgresql://app:{}@db.internal:5432/main",
)
HARMLESS: Final = (
    "password: required",
    "the password is rotated weekly",
    "Password must have 12characters and 2digits",
    "token limit is 128k, max_tokens: 4096",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes the token refresh",
    "token id 550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "secret: prod-db-credentials-2",
    "api_key=os.environ['X1']",
    "API key is stored in 1Password",
    "password: ${DB_PASS2}",
    "token: /run/secrets/tok3n",
    "The token expires 2024-01-02T10:00:00Z",
    "password hash is sha256-based, argon2id since v1.2.3",
    "postgres://user:<password>@host/db",
    "mail anna.b1@example.com about the secret santa 2026",
    "-----BEGIN PRIVATE KEY----- is the first line of the file",
    "scikit: sk-learn-1.2, AKIA is a prefix",
)
PATTERNS: Final = (
    *("password ", "password is ", "token: ", "://a:", "?key=aaaaaaaaaaa", "bearer ", "a", "aB3"),
    *("eyJ", "eyJabcdefghi.eyJabcdefghi.", "-eyJaaaaaaaa", "sk-proj-", "glpat-", "AAAA ", "\n"),
    *("-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA", "-----BEGIN PRIVATE KEY-----", "SG."),
    *("passwordpasswordtoken=", "secret secret_key api key ", "パスワードは", "a1-", "sk_live_x"),
)
SIZE: Final = 20_000


def secrets_of(kind: str, number: int, seed: int = 1) -> Iterator[str]:
    """Invented secrets of one kind.

    Args:
        kind: A key of `TOKENS`.
        number: How many.
        seed: Of the draw.
    """
    head, alphabet, length = TOKENS[kind]
    draw = random.Random(f"{seed} {kind}")
    for _ in range(number):
        yield head + "".join(draw.choices(alphabet, k=length - 1)) + draw.choice(_DIGITS)


def passwords(number: int, seed: int = 1) -> Iterator[str]:
    """Invented passwords: letters and digits, some with signs."""
    draw = random.Random(seed)
    for _ in range(number):
        word = "".join(draw.choices(string.ascii_lowercase, k=draw.randint(5, 9)))
        signs = draw.choice(("", "", "!", "$"))
        drawn = "".join(draw.choices(_ALNUM, k=16)) + draw.choice(_DIGITS)
        yield draw.choice((f"{word.title()}{draw.randint(10, 99999)}{signs}", drawn))


def json_web_token(seed: int = 1) -> str:
    """An invented token of three parts."""
    draw = random.Random(seed)
    parts = [b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"%d"}' % draw.randrange(10**9)]
    parts.append(draw.randbytes(32))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def private_key(seed: int = 1) -> str:
    """An invented private key of no algorithm."""
    body = base64.encodebytes(random.Random(seed).randbytes(400)).decode()
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----"


def is_hidden(text: str, secret: str) -> bool:
    """Whether all of a secret is found in a text that holds it once."""
    at = text.index(secret)
    return any(s.start <= at and at + len(secret) <= s.end for s in secrets_in(text))


def hidden_shares(number: int) -> dict[str, tuple[int, int]]:
    """By kind: how many are found whole, of how many."""
    shares: dict[str, tuple[int, int]] = {}
    for kind in TOKENS:
        asked = [(way, s) for s in secrets_of(kind, number) for way in WAYS]
        shares[kind] = sum(is_hidden(way.format(s), s) for way, s in asked), len(asked)
    for way in ASSIGNED:
        drawn = list(passwords(number))
        if "key" in way or "secret" in way or "Bearer" in way:
            drawn = [s for s in drawn if len(s) == 17]
        shares[f"`{way}`"] = sum(is_hidden(way.format(s), s) for s in drawn), len(drawn)
    tokens = [json_web_token(seed) for seed in range(number)]
    shares["JWT"] = sum(is_hidden(f"use {t} now", t) for t in tokens), number
    keys = [private_key(seed) for seed in range(number)]
    shares["private key"] = sum(is_hidden(k, k.split("-----")[2].strip()) for k in keys), number
    return shares


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def real_texts(data: Path) -> set[str]:
    """Every text of the JSON Lines files below a folder."""
    texts: set[str] = set()
    for path in sorted(data.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            if line.strip():
                texts.update(_texts(json.loads(line)))
    return texts


def seconds(text: str) -> float:
    """What it takes to look through a text, the best of three."""
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        secrets_in(text)
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="more files to look at")
    parser.add_argument("--number", type=int, default=200)
    chosen = parser.parse_args()
    print("| kind | found whole | of |\n| --- | --- | --- |")
    for kind, (good, whole) in hidden_shares(chosen.number).items():
        print(f"| {kind} | {good:,} | {whole:,} |")
    wrong = [text for text in HARMLESS if secrets_in(text)]
    print(f"\nHarmless texts with something masked: {len(wrong)} of {len(HARMLESS)} {wrong}")
    texts = real_texts(chosen.data) | {p.read_text("utf-8", "replace") for p in chosen.files}
    begun = time.perf_counter()
    finds = [(text, s) for text in sorted(texts) for s in secrets_in(text)]
    took = time.perf_counter() - begun
    for text, s in finds:
        print(f"{text[max(0, s.start - 40) : s.start]!r} >> {text[s.start : s.end][:60]!r}")
    size = sum(map(len, texts))
    print(
        f"Real texts: {len(finds)} finds in {len(texts):,} texts, {size:,} characters, {took:.1f} s"
    )
    slow = max(PATTERNS, key=lambda p: seconds((p * SIZE)[:SIZE]))
    took = seconds((slow * SIZE)[:SIZE])
    more = seconds((slow * 4 * SIZE)[: 4 * SIZE])
    print(
        f"Slowest of {len(PATTERNS)} patterns: {slow!r}, {took:.4f} s; 4 times as long {more:.4f} s"
    )


if __name__ == "__main__":
    main()
