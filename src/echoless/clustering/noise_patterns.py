"""Removes junk from the ends of a text, by pattern, one piece after another.

Pure. Junk that cannot be removed (broken characters) is found by `clustering/noise_score.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, NamedTuple

from echoless.core.noise_policy import Junk, JunkPolicy

_MAX_PEELS: Final = 24
_MAX_BRACES: Final = 20
_WINDOW: Final = 2_000
"""Characters from the end in which a tail may begin: keeps the work linear."""

# ------------------------------------------------------------------ junk at the ends

_DAY: Final = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}|\d{4}年\d{1,2}月\d{1,2}日)"
_CLOCK: Final = (
    r"(?:\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?(?:Z|UTC|Uhr|[+-]\d\d:?\d\d))?"
    r"|\d{1,2}時\d{2}分)"
)
_MOMENT: Final = rf"{_DAY}(?:T|,?\s*){_CLOCK}"
_STAMP: Final = rf"(?:{_MOMENT}|{_DAY})"
_OPEN, _CLOSE = r"[\[(（【]", r"[\])）】]"
_CAPTURED: Final = (
    r"(?:(?:last\s+)?(?:captured|recorded|saved|noted|stored|updated|created|logged|observed)"
    r"|(?:zuletzt\s+)?(?:erfasst|gespeichert|notiert|aufgezeichnet|aktualisiert)|stand"
    r"|記録日時|保存日時|記録|保存)"
)
_KEPT: Final = (
    r"(?:captured|saved|noted|stored|logged|erfasst|gespeichert|notiert"
    r"|記録日時|保存日時|記録|保存)"
)
"""Without brackets fewer words are safe: `Updated on 2026-01-05.` may speak of the thing."""

_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|LOG)"
_LABELS: Final = (
    r"(?:(?:important\s+)?notes?(?:\s+to\s+self)?|memory|memories|remember|reminder|fyi|facts?"
    r"|summary|learned|learnt|key\s+insight|insight|observation|handover|context|checkpoint"
    r"|memory\s+update|saved\s+memory|notiz|merke|hinweis|erinnerung|zur\s+erinnerung|fakt"
    r"|zusammenfassung|übergabe|メモ|覚え書き|備考|要約|記録|引き継ぎ|リマインダー)"
)
_WRITER: Final = (
    r"(?:(?:the\s+)?(?:agent|assistant|bot|claude|gpt|chatgpt|gemini|copilot|memory\s?bot|assistent)"
    r"|エージェント|アシスタント|ボット)"
)
_BY: Final = (
    r"(?:(?:sent|written|saved|recorded|generated|posted|noted|logged)\s+(?:by|from|via)"
    r"|(?:gesendet|geschrieben|erstellt|notiert|gespeichert)\s+(?:von|durch|vom)|from|von|by)"
)
_SAVED: Final = (
    r"(?:auto(?:matically)?[- ]?(?:saved|stored|captured|generated|save)|saved\s+automatically"
    r"|autosaved?|automatisch\s+(?:gespeichert|erfasst|erstellt)|自動保存(?:済み)?|自動記録)"
)
_HANDED: Final = (
    r"(?:(?:please\s+)?continue\s+(?:from\s+)?here(?:\s+in\s+the\s+next\s+session)?"
    r"|end\s+of\s+(?:the\s+)?(?:handover|note|memory|summary|context|session)"
    r"|(?:this\s+is\s+)?(?:context|handover)\s+for\s+the\s+next\s+(?:agent|session)"
    r"|handing\s+over\s+to\s+the\s+next\s+(?:agent|session)"
    r"|(?:bitte\s+)?(?:hier\s+)?in\s+der\s+nächsten\s+sitzung\s+(?:hier\s+)?weitermachen"
    r"|ende\s+der\s+(?:übergabe|notiz|zusammenfassung|sitzung)"
    r"|übergabe\s+an\s+(?:die\s+nächste\s+sitzung|den\s+nächsten\s+agenten)"
    r"|次(?:回)?のセッション(?:で|に)(?:続き|続ける|引き継ぐ|引き継ぎ)|引き継ぎ(?:ここまで|終わり|以上))"
)
_BLANKS: Final = re.compile(r"\s{4,}")
"""Long runs of white space make patterns that may begin with some quadratic: 4.5 s for 18,000."""

_ALONE: Final = frozenset(
    ("ts", "timestamp", "session_id", "memory_id", "confidence", "created_at", "updated_at")
)
"""Fields that are metadata even alone; `(source: the audit)` may be a fact."""

_SENTENCE: Final = re.compile(r"[^\n]+?(?:[.!?]{1,8}(?=\s|$)|[。！？]{1,8}|$|(?=\n))\s*")
_BREAK: Final = re.compile(r"[.!?]\s|[。！？\n]")
"""Without one before its end a text is one sentence: most are, and need no look at each letter."""

_WORD: Final = re.compile(r"\w+")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_TRAIT: Final = re.compile(r"""["']?([\w-]{1,40})["']?\s*[:=]\s*[^,;:=\n]{1,120}""")


class NoisePattern(NamedTuple):
    """A pattern of junk at one end of a text.

    Attributes:
        kind: What it is.
        pattern: Finds it.
        last: Characters one of which a text ends with if it is there; empty where any may be. Most
            texts are done with at that.
        holds: Strings one of which is in such a text; empty as above.
    """

    kind: Junk
    pattern: re.Pattern[str]
    last: str = ""
    holds: tuple[str, ...] = ()

    def may_be(self, text: str) -> bool:
        """Checks whether the pattern is worth a search; `text` is not empty."""
        if self.last and text[-1] not in self.last:
            return False
        return not self.holds or any(each in text for each in self.holds)


def _at(
    kind: Junk,
    expression: str,
    flags: int = re.IGNORECASE,
    *,
    last: str = "",
    holds: tuple[str, ...] = (),
) -> NoisePattern:
    """Returns the pattern for an expression."""
    return NoisePattern(kind, re.compile(expression, flags), last, holds)


_HEADS: Final[tuple[NoisePattern, ...]] = (
    _at(
        Junk.LOG_PREFIX,
        rf"^(?:{_OPEN}?{_MOMENT}{_CLOSE}?\s*[|:-]?\s*)?\[?{_LEVEL}\]?"
        r"(?:\s*[\[(]?[A-Za-z][\w.-]{0,40}[\])]?)?(?:\s*[:|–—-]\s+|(?<=\])\s+)",
        0,
    ),
    _at(
        Junk.CAPTURE_TIME, rf"^{_OPEN}\s*(?:{_CAPTURED}\W{{0,3}})?{_STAMP}\s*{_CLOSE}\s*[:|–—-]?\s*"
    ),
    _at(
        Junk.CAPTURE_TIME,
        r"^\d{4}-\d\d-\d\d(?:T\d|(?=\s\d\d:\d\d(?:\s\||:\d)))[\s\d:.,]*(?:Z|UTC|[+-]\d\d:?\d\d)?"
        r"\s*(?:[:：|–—-]\s*)?",
    ),
    _at(
        Junk.CAPTURE_TIME,
        rf"^{_KEPT}(?:\s+(?:at|on|am|um))?\s*[:：]?\s*{_STAMP}\s*[.:：|–—-]\s*",
    ),
    _at(Junk.LABEL, rf"^(?:{_OPEN}{_LABELS}{_CLOSE}\s*[:：]?|{_LABELS}\s*(?:[:：]|\s[–—-]\s))\s*"),
    _at(Junk.COUNTER, r"^\[\s*#?\d{1,4}\s*/\s*\d{1,4}\s*\]\s*[:：]?\s*"),
    _at(Junk.COUNTER, r"^(?:mem|memory|note|fact|obs|entry|record)[_-]\d+\s*[:：|]\s*"),
    _at(Junk.HANDOVER, r"^={2,}\s*(?:handover|context|übergabe|引き継ぎ)\s*={2,}\s*"),
    _at(Junk.MARKDOWN, r"^(?:#{1,6}[ \t]+(?=[^\n]+\Z)|(?:[-=_*]\s?){3,40}\n+)"),
)

TAILS: Final[tuple[NoisePattern, ...]] = (
    # Damage at the end comes off, too: it must not hide the junk before it.
    _at(
        Junk.CUT_OFF,
        r"\s*(?:…|\.{3,40}|[\[(（]\s*(?:…|\.{3}|truncated|cut(?:\s+off)?|gekürzt|abgeschnitten"
        r"|以下略|省略)\s*[\])）])$",
        last="….])）",
        holds=("…", "...", "[", "(", "（"),
    ),
    _at(Junk.MOJIBAKE, "\ufffd{1,40}$", last="\ufffd"),
    _at(Junk.HASHTAGS, r"(?:\s+#[^\W\d][\w-]*)+$", holds=("#",)),
    _at(Junk.SAVED_MARK, rf"\s*{_OPEN}\s*{_SAVED}[^\])）】\n]{{0,40}}{_CLOSE}$", last="])）】"),
    _at(
        Junk.CAPTURE_TIME,
        rf"\s*{_OPEN}\s*(?:{_CAPTURED}\W{{0,3}}(?:at\s|on\s|am\s)?)?{_STAMP}\s*{_CLOSE}$",
        last="])）】",
    ),
    _at(
        Junk.CAPTURE_TIME,
        rf"(?:(?<=[.!?。])\s*|\n+)(?:{_LABELS}\s*[:：]\s*)?{_KEPT}(?:\s+(?:at|on|am|um))?\s*[:：]?"
        rf"\s*(?:{_STAMP}|{_CLOCK})\s*[.。]?$",
    ),
    _at(
        Junk.SIGNATURE,
        rf"\s+(?:--+|[—–])\s*(?:{_BY}\s+)?{_WRITER}(?:[ #_-]*[\w.]{{0,12}}\d[\w.]{{0,12}})?$",
        holds=("--", "—", "–"),
    ),
    _at(Junk.SIGNATURE, rf"\s*\n--[ \t]*\n(?:{_BY}\s+)?[^\n]{{1,40}}$", holds=("\n--",)),
    _at(Junk.SIGNATURE, rf"\s*\n{_WRITER}\s*#?\d{{0,6}}より$", last="り"),
    _at(Junk.HANDOVER, rf"(?:(?<=[.!?。])\s*|\s*\n+|\s+[—–-]+\s+){_HANDED}\s*[.!。]?$"),
    _at(
        Junk.HANDOVER,
        r"\s*={2,}\s*(?:end|ende|終わり|handover|end\s+of\s+handover)?\s*={2,}$",
        last="=",
    ),
    _at(Junk.MARKDOWN, r"(?:\s*\n[ \t]*(?:[-=_*][ \t]?){3,40}|\s[-=_*]{3,40})$", last="-=_*"),
    _at(Junk.HTML, r"(?:\s*(?:<(?:br|hr)\s*/?>|&nbsp;))+$", last=">;"),
)

_WRAPS: Final[tuple[NoisePattern, ...]] = (
    _at(Junk.MARKDOWN, r"^```[\w+-]*\s*\n(?P<in>[\s\S]+?)\n?\s*```$"),
    _at(Junk.MARKDOWN, r"^(\*{1,3}|`)(?=\S)(?P<in>[^*`\n]+)\1$"),
    _at(Junk.MARKDOWN, r"^(_{1,3})(?=\S)(?P<in>[^_\n]+\s[^_\n]+)\1$"),
    _at(Junk.MARKDOWN, r"^(?:>|[-*+•](?![ \t]*(?:[\d.]|\[[ xX]\])))[ \t]+(?P<in>[^\n]+)$"),
    _at(
        Junk.HTML,
        r"^<(p|div|span|b|i|u|em|strong|pre|code|li|blockquote|font|section|body|html|h[1-6]"
        r"|memory|note|fact|entry|observation)(?:\s[^<>]{0,200})?>\s*(?P<in>[\s\S]+?)\s*</\1\s*>$",
    ),
)


# ------------------------------------------------------------------ removal


def peeled(text: str, policy: JunkPolicy, kinds: AbstractSet[Junk]) -> tuple[str, set[Junk]]:
    """Returns what is left of a text without junk at its ends, and the kinds of that junk.

    Args:
        text: Any text.
        policy: What counts as junk.
        kinds: What to take off.
    """
    found: set[Junk] = set()
    text = _BLANKS.sub(lambda run: "\n\n" if "\n" in run.group() else "  ", text.strip())
    for _ in range(_MAX_PEELS):
        shorter = _one_off(text, policy, kinds, found)
        if shorter == text:
            break
        text = shorter
    return text, found


def _one_off(text: str, policy: JunkPolicy, wanted: AbstractSet[Junk], found: set[Junk]) -> str:
    """Returns the text without one piece of junk, whose kind goes to `found`."""
    for kind, pattern, *_ in _WRAPS:
        wrapped = pattern.match(text) if kind in wanted else None
        if wrapped and _worth(wrapped["in"]) and _is_one(wrapped):
            found.add(kind)
            return wrapped["in"].strip()
    for kind, take in ((Junk.METADATA, _undumped), (Junk.REPETITION, _unrepeated)):
        rest = take(text, policy) if kind in wanted else text
        if rest != text and _worth(rest):
            found.add(kind)
            return rest
    for peel in (*_own(policy), *_HEADS, *TAILS) if text else ():
        if peel.kind in wanted and peel.may_be(text) and (rest := _without(text, peel.pattern)):
            found.add(peel.kind)
            return rest
    return text


_NEXT_FENCE: Final = re.compile(r"\n```[ \t]*\n+```[\w+-]*[ \t]*\n(?!\s*```)")
"""One block of code ends and another begins."""


def _is_one(wrapped: re.Match[str]) -> bool:
    """Checks whether the end closes what the beginning opened: not in `<p>a</p> <p>b</p>`."""
    inner = wrapped["in"]
    if not wrapped.group().startswith("<"):
        return not (wrapped.group().startswith("```") and _NEXT_FENCE.search(inner))
    depth = 0
    for tag in re.finditer(rf"<(/?){wrapped[1]}\b", inner, re.IGNORECASE):
        depth += -1 if tag[1] else 1
        if depth < 0:
            return False
    return True


def _without(text: str, pattern: re.Pattern[str]) -> str:
    """Returns the text without a match at an end; empty if there is none or nothing is left."""
    start = max(0, len(text) - _WINDOW)
    at_end = pattern.pattern.endswith("$")
    hit = pattern.search(text, start) if at_end else pattern.match(text)
    if not hit or not hit.group():
        return ""
    rest = (text[: hit.start()] if at_end else text[hit.end() :]).strip()
    return rest if _worth(rest) else ""


def _worth(rest: str) -> bool:
    """Checks that at least two words are left; otherwise the junk is all the memory there is."""
    return count(rest) >= 2


@lru_cache(maxsize=64)
def _own(policy: JunkPolicy) -> tuple[NoisePattern, ...]:
    """Returns the patterns made of a policy's own words."""
    peels: list[NoisePattern] = []
    if policy.counted:
        word = "|".join(sorted(map(re.escape, policy.counted), key=lambda w: (-len(w), w)))
        some = rf"(?:{word})\s*[#№]?\s*\d+(?:/\d+)?"
        more = rf"{some}(?:\s*[,;/·、]?\s*{some})*"
        peels.append(
            _at(
                Junk.COUNTER,
                rf"^(?:{_OPEN}\s*{more}\s*{_CLOSE}\s*[:：–—-]?|{more}\s*(?:[:：|]|\s[–—-]))\s*",
            )
        )
        peels.append(_at(Junk.COUNTER, rf"\s*{_OPEN}\s*{more}\s*{_CLOSE}$"))
    for phrase in policy.phrases:
        words = re.escape(phrase.strip()).replace(r"\#", r"\d+").replace(r"\ ", r"\s+")
        peels.append(_at(Junk.BOILERPLATE, rf"^{words}\s*[.:,;–—-]?\s+"))
        peels.append(_at(Junk.BOILERPLATE, rf"(?:(?<=[.!?。,;–—-])|\s)\s*{words}\s*[.]?$"))
    return tuple(peels)


def count(text: str) -> int:
    """Returns the number of words; two characters of Chinese or Japanese count as one."""
    if text.isascii():
        return len(_WORD.findall(text))
    dense = len(_DENSE.findall(text))
    return (dense + 1) // 2 + len(_WORD.findall(_DENSE.sub(" ", text)))


# ------------------------------------------------------------------ dumps and repetitions


def _undumped(text: str, policy: JunkPolicy) -> str:
    """Returns the text without a dump of metadata at an end, if all of its keys are known."""
    fields = _fields(policy)
    for rest, inner in _dumps(text):
        if inner and inner <= fields and (len(inner) > 1 or inner <= _ALONE):
            return rest
    return text


@lru_cache(maxsize=64)
def _fields(policy: JunkPolicy) -> frozenset[str]:
    """Returns the names of metadata fields of a policy, in lower case."""
    return frozenset(field.casefold() for field in policy.fields)


def _dumps(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yields what is left without a possible dump of metadata, and the keys of that dump."""
    front = re.match(r"---\s*\n((?:[\w-]+:[^\n]*\n)+)---\s*\n", text)
    if front:
        yield text[front.end() :].strip(), _keys(front[1].split("\n"))
    tail = text[-_WINDOW:]
    fenced = tail.endswith("```") and not (text.startswith("```") and text.count("```") == 2)
    if fenced:
        tail = tail[:-3].rstrip()  # the fence of the dump; one around everything comes off whole
    if tail.endswith("}"):
        for rest, keys in _json_dumps(text[: max(0, len(text) - _WINDOW)], tail):
            yield (re.sub(r"\s?```(?:json)?\s?$", "", rest).strip() if fenced else rest), keys
    closed = text.endswith(("]", ")", "）"))
    boxed = re.search(r"\s*[\[(（]([^\[\]()（）\n]{3,300})[\])）]$", text) if closed else None
    if boxed:
        yield text[: boxed.start()].strip(), _keys(re.split(r"[,;|]", boxed[1]))
    tail = text[-_WINDOW:]
    pairs = re.search(r"(?:\s+[\w-]{1,40}=[^\s=]{1,80})+$", tail) if "=" in tail else None
    if pairs:
        cut = max(0, len(text) - _WINDOW) + pairs.start()
        yield text[:cut].strip(), _keys(pairs.group().split())


def _json_dumps(before: str, tail: str) -> Iterator[tuple[str, set[str]]]:
    """Yields the same as `_dumps` for JSON objects that end the text, the shortest first."""
    start = len(tail)
    for _ in range(_MAX_BRACES):
        start = tail.rfind("{", 0, start)
        if start < 0:
            return
        try:
            value = json.loads(tail[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value:
            yield (before + tail[:start]).strip(), {str(key).casefold() for key in value}


def _keys(parts: Iterable[str]) -> set[str]:
    """Returns the keys of `key: value` parts; an unreadable part gives a key nobody lists."""
    hits = [_TRAIT.fullmatch(part.strip()) for part in parts if part.strip()]
    return {hit[1].casefold() if hit else "" for hit in hits}


def sentences(text: str) -> list[str]:
    """Returns sentences and lines, white space behind them included."""
    if not _BREAK.search(text, 0, max(1, len(text) - 1)):
        return [text] if text else []
    return [hit.group() for hit in _SENTENCE.finditer(text)]


def folded(sentence: str) -> str:
    """Returns the words of a sentence in lower case; sentences with the same words are equal."""
    return " ".join(_WORD.findall(sentence.casefold()))


def _unrepeated(text: str, _: JunkPolicy) -> str:
    """Returns the text without sentences or whole texts that are repeated.

    A sentence counts as repeated only directly behind itself: `Run the tests. Commit. Run the
    tests.` is an order of work and stays.
    """
    parts = sentences(text)
    if len(parts) == 1:
        return text
    keys = [folded(part) for part in parts]
    for size in range(1, len(parts) // 2 + 1 if len(parts) <= 64 else 1):
        if len(parts) % size == 0 and keys == keys[:size] * (len(parts) // size):
            return "".join(parts[:size]).strip()
    once = [
        part
        for at, part in enumerate(parts)
        if not (at and keys[at] == keys[at - 1] and count(part) >= 3)
    ]
    return "".join(once).strip() if len(once) < len(parts) else text
