r"""Detection of secrets in a text: tokens, private keys, passwords in URLs and assignments.

The issuers publish the forms of their tokens; each form in `secret_tokens.json` names its source. A
token with a fixed head (`AKIA`, `ghp_`) is a secret everywhere. Any other value needs a word beside
it that says so (`password:`, `api_key=`) *and* the shape of a random value: letters and digits in
one word. So "password: required", a git hash, a UUID or a date is no secret.

Every expression takes time linear in the text: each starts at a literal, and what follows is
bounded or consumed once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from echoless.core.text import lazy_pattern

_WORD: Final = r"(?:(?<![A-Za-z0-9_])|(?<=\\n))"
_END: Final = r"(?![A-Za-z0-9])"

_TOKENS: Final[tuple[tuple[str, str], ...]] = tuple(
    (head, rest)
    for each in json.loads(Path(__file__).with_name("secret_tokens.json").read_text("utf-8"))
    for head, rest in each["tokens"]
)
"""Heads that give a token away and are shown, and what follows and is not."""

_TOKEN: Final = lazy_pattern(
    f"{_WORD}(?:" + "|".join(f"(?:{head})(?:{rest})" for head, rest in _TOKENS) + f"){_END}"
)
_HEAD: Final = lazy_pattern("|".join(head for head, _ in _TOKENS))

_HOOK: Final = lazy_pattern(r"hooks\.slack\.com/services/(T\w{6,20}/B\w{6,20}/\w{16,40})")
"""Slack, "Incoming webhooks": the path of such a URL is all that is needed to post."""
_BOT: Final = lazy_pattern(r"(?<!\w)([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![\w-])")
"""Telegram, "Bots: authorising your bot": the number of the bot, a colon and 35 characters."""

_HEADLESS: Final = lazy_pattern(
    r"(?<![\w.~-])(?:([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})"
    r"|([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}))(?![\w~-])"
)
"""Tokens without a head: of a bot of Discord (`Authentication`: its number in base64, a time and a
digest), and a client secret of Microsoft Entra (gitleaks 8, `azure-ad-client-secret`)."""
_MIDDLE: Final = lazy_pattern(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}")

_BREAK: Final = r"(?:[\s>|]|\\n|\\r)"
_KEY: Final = lazy_pattern(
    rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----(?={_BREAK}*[A-Za-z0-9+/])"
)
"""RFC 7468 and OpenSSH: a header in words, then base64."""
_KEY_END: Final = lazy_pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY: Final = lazy_pattern(rf"(?:{_BREAK}*+[A-Za-z0-9+/=]{{16,}}+)++")
_LONGEST_KEY: Final = 16_384
"""Characters of a private key in text: 12,700 for RSA of 16,384 bits."""

_URL: Final = lazy_pattern(
    r"://[^\s/?#:@'\"<>`\[\]]{0,128}:(?P<value>[^\s'\"<>`…]{1,256})@(?=[\w\[])"
)
"""RFC 3986, 3.2.1: `scheme://user:password@host`; a password that is not escaped may hold `/`."""

_QUERY: Final = lazy_pattern(
    r"[?&;](?:access_token|api_?key|auth|key|password|secret|sig|signature|token)="
    r"(?P<value>[A-Za-z0-9%+/_.~-]{12,400}=*)",
    re.IGNORECASE,
)
"""RFC 6750, 2.3, and shared access signatures of Azure: a secret as a parameter of a URL."""

_BEARER: Final = lazy_pattern(
    r"(?<!\w)(?:bearer|basic)\s{1,3}(?P<value>[A-Za-z0-9._~+/-]{16,1000}=*)", re.IGNORECASE
)
"""RFC 6750, 2.1, and RFC 7617."""

_SPEAKS: Final = (
    "passwords?|passwd|passphrase|passcode|pwd|passwort|kennwort|mot de passe|contraseña|"
    "contrasena|senha|пароль|パスワード|密码|密碼|비밀번호|비번"
)
_KEYWORD: Final = (
    "secret access key|secret key|api (?:key|token|secret)|apikey|access (?:key|token)|"
    "auth (?:key|token)|private key|account key|shared access key|client secret|"
    "signing (?:key|secret)|encryption key|credentials?|secret|token"
).replace(" ", r"[\s_-]?")
_ASSIGN: Final = r"(?:=>|:=|==?|:|：)"
_QUOTED: Final = r"[\"'`*\\]{0,4}"
_GAP: Final = r"(?:[\s>|]|\\{1,4}(?:[nrt]|(?=\s))|[*+-](?=\s|\\)|`{3}\w{0,12}(?=\s|\\)){0,12}"
"""What may stand before a value: it may lie on a line of its own, in a list, a quotation or a block
of code. A text is shown on one line too, and a secret is one in every layout."""
_LONGEST_LOOK: Final = 96
"""Characters of a value whose shape is looked at; what goes on beyond is part of it."""
_OTHER: Final = "\\s\"'`,;<>(){}\\[\\]|…\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff0c\uff1b"
"""What ends a value; scripts without spaces too, whose words would else be part of it."""
_REST: Final = lazy_pattern(f"[^{_OTHER}]*+")
_VALUE: Final = rf"(?P<value>[^{_OTHER}]{{4,{_LONGEST_LOOK}}})"
_ASSIGNED: Final = lazy_pattern(
    rf"(?:(?P<password>{_SPEAKS}|(?<![a-z])pass(?=\s?[=:])|(?<![a-z])pw(?=\s?[=:]))|"
    rf"(?P<keyword>{_KEYWORD})(?![a-z]))"
    rf"{_QUOTED}\s{{0,3}}{_ASSIGN}(?:[*_]{{1,3}}(?=[\s\"'`]))?{_GAP}{_QUOTED}{_VALUE}",
    re.IGNORECASE,
)
"""`password: ...`, `"api_key": "..."`, `SECRET_KEY=...`, `**Password:** ...`."""
_SAID: Final = lazy_pattern(
    rf"(?:(?P<password>{_SPEAKS})|(?P<keyword>{_KEYWORD})(?![a-z]))"
    r"(?:\s{1,3}[^\s.:;=]{1,24}){0,5}?(?:\s{1,3}|(?=[はを是为]))"
    r"(?:is now|is|was|are|to|set to|changed to|ist|lautet|war|est|es|は|を|是|为)"
    rf"{_GAP}(?!(?:now|still|changed|set|reset|updated|rotated|not|kept)\b)[`'\"*]{{0,3}}" + _VALUE,
    re.IGNORECASE,
)
"""`the password of the NAS is ...`."""
_TYPED: Final = lazy_pattern(
    rf"(?:(?<![\w-])--?(?:[a-z]{{1,20}}-){{0,3}}(?:(?P<password>{_SPEAKS})|(?P<keyword>{_KEYWORD}))"
    r"(?![\w-])"
    r"|(?<![\w-])(?P<user>(?:-u|--user)[\s=]{0,2}[\"'`]?[^\s:\"'`]{1,64}:)"
    r"|(?<!\w)(?P<client>(?:mysql\w{0,12}|mariadb(?:-\w{1,12})?|sshpass)\b[^|;&]{0,120}?\s-p)"
    r"|(?<!\w)(?P<netrc>(?:machine|login|default)\s{1,4}[^\s]{1,100}\s{1,4}password\s))"
    rf"{_GAP}[\"'`]?{_VALUE}",
    re.IGNORECASE,
)
"""`--password ...`, `curl -u NAME:...`, `mysql -p...` and the lines of a `.netrc`, of their
manuals."""

_COOKIE: Final = lazy_pattern(
    r"(?<![a-z])cookie[\"'`]?\s{0,2}:\s{0,2}[\"'`]?(?P<pairs>(?:[^\s=;]{1,80}=[^\s;]{0,600}(?:;\s{0,3})?)+)",
    re.IGNORECASE,
)
_CRUMB: Final = lazy_pattern(rf"={_VALUE}")
"""RFC 6265, 4.2.1: pairs of a header; a value that was drawn at random lets in who holds it."""


@dataclass(frozen=True, slots=True)
class Secret:
    """The place of a secret in a text.

    Attributes:
        start: Its first character.
        end: The one after its last.
        head: The part of it that says what it is, and is no secret: `AKIA`. May be empty.
    """

    start: int
    end: int
    head: str = ""


def secrets_in(text: str) -> list[Secret]:
    """Finds the secrets of a text, from left to right and without overlap, in linear time.

    Args:
        text: Any text.
    """
    if not may_hold(text):
        return []
    matches = sorted(_all(text), key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in matches:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
        elif secret.end > apart[-1].end:  # the one that begins later goes on: both are hidden
            apart[-1] = Secret(apart[-1].start, secret.end, apart[-1].head)
    return apart


def may_hold(text: str) -> bool:
    """Returns whether a text has a sign without which `secrets_in` finds nothing.

    No sign holds a blank, so what joins two texts without one by a blank has none either.
    """
    return _has_sign_again(text) if len(text) <= _REPEATED else _has_sign(text)


def _has_sign(text: str) -> bool:
    if "://" in text or ":AA" in text or _MIDDLE.search(text):
        return True
    return _has_one(_SIGNS, text.casefold())


def _has_one(signs: Sequence[str], text: str) -> bool:
    """Returns whether one of some signs stands in a text."""
    for sign in signs:  # noqa: SIM110 - a third of the time of `any`, for each text of an answer
        if sign in text:
            return True
    return False


_REPEATED: Final = 100
"""Characters up to which a text is likely to come again in one answer: names of fields, ids."""
_has_sign_again = lru_cache(maxsize=1 << 15)(_has_sign)


def uncut(text: str, length: int) -> int:
    """Returns the first position from `length` on where a text can be cut outside a secret.

    A part of a secret would not be recognised later, and would be shown.

    Args:
        text: Any text.
        length: Characters that are wanted.
    """
    if len(text) <= length:
        return length
    near = secrets_in(text[: length + _LONGEST_KEY])
    return next((each.end for each in near if each.start < length < each.end), length)


def from_line(text: str, at: int) -> str:
    """Returns a text from the line of a place on; all of it where a secret would lose its label.

    Args:
        text: Any text.
        at: A place in it, in characters.
    """
    rest = text[text.rfind("\n", 0, at) + 1 :]
    whole, tail = (" ".join(each.split()) for each in (text, rest))
    before = len(whole) - len(tail)
    hidden = [(s.start - before, s.end) for s in secrets_in(whole) if s.end > before]
    return rest if hidden == [(s.start, s.end + before) for s in secrets_in(tail)] else text


def shortened(text: str, limit: int) -> str:
    """Returns a text on one line, with an ellipsis if it is cut, which is outside of secrets.

    Args:
        text: Any text.
        limit: Characters, the ellipsis included; a secret at the end may make it longer.
    """
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: uncut(line, limit - 1)] + "…"


def _all(text: str) -> Iterator[Secret]:
    if len(text) < _SHORTEST:
        return
    folded = text.casefold()
    if _has_one(_HEADS, folded):
        yield from _tokens(text)
    if "-----begin" in folded:
        yield from _keys(text)
    if "://" in text or ":AA" in text:
        yield from _in_addresses(text)
    for match in _HEADLESS.finditer(text) if "q~" in folded or _MIDDLE.search(text) else ():
        yield Secret(*match.span())
    if _has_one(_NAMES, folded):
        yield from _beside_words(text)


def _beside_words(text: str) -> Iterator[Secret]:
    """Yields secrets that a word before them or their place in the text reveals."""
    for pattern in (_ASSIGNED, _SAID, _TYPED):
        yield from _named(pattern, text)
    spans = [header.span("pairs") for header in _COOKIE.finditer(text)]
    values = [match for span in spans for match in _CRUMB.finditer(text, *span)]
    for match in chain(values, _QUERY.finditer(text), _BEARER.finditer(text)):
        if looks_made_up(match["value"], password=False):
            yield Secret(*match.span("value"))


_HEADS: Final = (
    *("akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "gl", "xox", "xapp-"),
    *("k_live_", "k_test_", "whsec_", "sk", "xai-", "aiza", "gocspx-", "ya29.", "hf_", "npm_"),
    *("pypi-", "sg.", "v1_", "shp", "dapi", "hvs.", "age-secret", "eyj", "dckr_", "ntn_", "lin_"),
    *("sbp_", "sb_", "tt3", "pat", "tskey-", "nvapi-", "r8_", "pmak-", "pplx-", "key-", "sntry"),
    *("m0-", "nrak-", "dp.", "figd_", "pul-", "pscale_", "lsv2_", "pcsk_", "xkeysib-"),
    *("rubygems_", "sq"),
)
_NAMES: Final = (
    *("pass", "pwd", "pw", "kennwort", "contrase", "senha", "пароль", "パスワード", "密码", "密碼"),
    *("비밀번호", "비번"),
    *("secret", "key", "credential", "token", "bearer", "basic", "?sig", "&sig", "auth="),
    *("-u", "mysql", "mariadb", "cookie"),
)
"""Folded texts without which an expression finds nothing: most memories are passed in a glance."""
_SIGNS: Final = (*_HEADS, "q~", "-----begin", *_NAMES)


def _in_addresses(text: str) -> Iterator[Secret]:
    for match in _URL.finditer(text):
        if _BLANK.fullmatch(match["value"]) is None:
            yield Secret(*match.span("value"))
    for pattern in (_HOOK, _BOT):
        for match in pattern.finditer(text):
            yield Secret(*match.span(1))


_SHORTEST: Final = 8


def _tokens(text: str) -> Iterator[Secret]:
    for match in _TOKEN.finditer(text):
        head = _HEAD.match(match[0])
        if head is None:
            continue
        rest = match[0][head.end() :]
        if len(set(rest.lower())) >= min(6, len(rest)) and not _BLANK_INSIDE.search(rest):
            yield Secret(match.start(), match.end(), head[0])


_BLANK_INSIDE: Final = lazy_pattern(r"x{6}|\*{3}|\.{3}|your[_-]?|(?:redacted|placeholder)", re.I)
"""Marks of an example, as manuals write them: `sk-xxxxxxxx`, `ghp_your_token_here...`."""

_BLANK: Final = lazy_pattern(
    r"[<{$%\[].*|[*x.•_-]+|password|passwd|pass|pwd|secret|token|your\S*|redacted|xxx.*|\d{1,5}/.*",
    re.IGNORECASE,
)
"""A place for a password, not one: `<password>`, `${DB_PASS}`, `***`, `password`."""


def _keys(text: str) -> Iterator[Secret]:
    """Yields private keys up to their end line, or to the end of the base64 without one."""
    at = 0
    while (begun := _KEY.search(text, at)) is not None:
        ended = _KEY_END.search(text, begun.end(), begun.end() + _LONGEST_KEY)
        body = _BODY.match(text, begun.end())
        at = ended.end() if ended else body.end() if body else begun.end()
        if ended or body:
            yield Secret(begun.end(), ended.start() if ended else at)


def _named(pattern: re.Pattern[str], text: str) -> Iterator[Secret]:
    """Yields values after a word such as "password" or "api key"."""
    at = 0
    while (match := pattern.search(text, at)) is not None:
        start, value = match.start("value"), match["value"]
        bare = value.rstrip(".,:*\\")
        is_call = text[start + len(value) : start + len(value) + 1] in {"(", "["}
        password = match["password"] is not None or match["keyword"] is None
        if not is_call and looks_made_up(bare, password=password):
            at = start + len(bare)
            if len(value) == _LONGEST_LOOK and (rest := _REST.match(text, at)) is not None:
                at = rest.end()
            yield Secret(start, at)
        else:  # the value may hold the next word: `token: password=...`
            at = max(match.end("password"), match.end("keyword"), match.start() + 1)


# ------------------------------------------------------------------ values beside "password"

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
_PASSWORD_SIGNS: Final = frozenset("!#$%^&*+=?@~")
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
    if password and capitals and (digits or not _PASSWORD_SIGNS.isdisjoint(value)):
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
