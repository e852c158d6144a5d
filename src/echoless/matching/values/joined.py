"""Values that share what is said once: `4 h 30 min`, `from 8 to 10 pm`, `3 to 5 March`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from echoless.matching.values import quantities
from echoless.matching.values.tokens import Key, Kind, Raw

_DASHES: Final = frozenset("-–—~〜")
_ON_THE_HOUR: Final = re.compile(r"(?:uhr|o'clock)$")
_AFTERNOON: Final = re.compile("午後|夕方")
_DIGITS: Final = re.compile(r"\d{1,2}")


def joined(raws: Sequence[Raw], sets: Mapping[str, frozenset[str]]) -> list[Raw]:
    """Add up quantities in two units, and give the first end of a range what the second says.

    Args:
        raws: Matches in order.
        sets: Word lists of the language, see `lexicon/forms.json`.
    """
    out: list[Raw] = []
    for raw in raws:
        if len(raw.keys) != 1 or not out:
            out.append(raw)
        elif not _added(out, raw, sets):
            _share(out, raw, sets)
            out.append(_still_afternoon(out, raw))
    return out


def _still_afternoon(out: Sequence[Raw], raw: Raw) -> Raw:
    """午後5時から7時: the second hour is in the afternoon too."""
    if len(out) < 2 or raw.kind != "time" or out[-2].kind != "time":
        return raw
    first, key = out[-2], raw.keys[0][1]
    linked = out[-1].text in {"から", "〜", "~", "-", "–"}
    if not linked or not _AFTERNOON.match(first.text) or not raw.text[0].isdecimal():
        return raw
    hour = int(key[2:4])
    if hour >= 12 or hour + 12 <= int(first.keys[0][1][2:4]):
        return raw
    return Raw(raw.kind, raw.text, ((Kind.DATE, f"t:{hour + 12}{key[4:]}"),))


def _added(out: list[Raw], raw: Raw, sets: Mapping[str, frozenset[str]]) -> bool:
    """`4 h 30 min`: the second quantity is a part of the first one's unit."""
    if raw.keys[0][1][:2] != "q:":
        return False
    back = 2 if len(out) > 1 and out[-1].word in sets["and"] else 1
    first = out[-back]
    if len(first.keys) != 1 or first.keys[0][1][:2] != "q:":
        return False
    unit = quantities.unit_of(first.text)
    key = quantities.add_up(first.keys[0][1], raw.keys[0][1], unit) if unit else None
    if key is None or not quantities.unit_of(raw.text):
        return False
    del out[-back:]
    out.append(Raw("spoken", f"{first.text} {raw.text}", ((Kind.NUMBER, key),)))
    return True


def _share(out: list[Raw], raw: Raw, sets: Mapping[str, frozenset[str]]) -> None:
    """Give the number before `to` or `and` the half of the day, the unit or the month after it."""
    if len(out) < 2 or len(out[-2].keys) != 1:
        return
    link, first = out[-1], out[-2]
    text = link.word or link.text
    ranged = text in sets["range"] or text in _DASHES
    if not ranged and text not in sets["or"]:
        return
    number = first.keys[0][1]
    kind = raw.keys[0][1][:2]
    between = len(out) > 2 and out[-3].word in sets["between"]
    key: Key | None = None
    if kind == "d:" and number[:2] in {"n:", f"#{number[1:2]}"}:
        key = _same_month(number.lstrip("n:#"), raw.keys[0][1])
    elif number[:2] != "n:" or not number[2:].isdigit():
        return
    elif kind in {"t:", "c:"}:
        key = _same_half(number[2:], raw)
    elif kind == "q:" and (ranged or between):
        unit = quantities.unit_of(raw.text)
        key = (Kind.NUMBER, quantities.quantity_key(Fraction(number[2:]), unit)) if unit else None
    if key is not None:
        out[-2] = Raw("spoken", first.text, (key,))


def _same_month(day: str, key: str) -> Key | None:
    month, _, last = key[2:].partition("-")
    if not (day.isdecimal() and last.isdecimal()) or not 0 < int(day) < int(last):
        return None
    return (Kind.DATE, f"d:{month}-{int(day):02d}")


def _same_half(hour: str, raw: Raw) -> Key | None:
    """The hour before `to 10 pm`, `bis 18 Uhr`, `to six in the evening`; not before `10:30`."""
    key, text = raw.keys[0][1], raw.text.casefold()
    digits = _DIGITS.match(text)
    if int(hour) > 24 or (
        raw.kind == "time" and ":" in text and not text.rstrip(".").endswith("m")
    ):
        return None
    if _ON_THE_HOUR.search(text) or (digits and int(digits.group()) > 12):
        whole = int(hour)
        open_half = key[:2] == "c:" and 0 < whole <= 12
        return (Kind.DATE, quantities.dial(whole, 0) if open_half else f"t:{whole % 24:02d}:00")
    if key[:2] == "c:":
        return (Kind.DATE, quantities.dial(int(hour), 0)) if 0 < int(hour) <= 12 else None
    last = int(key[2:4])
    ends = quantities.clock_range(hour, str(last % 12 or 12), "pm" if last >= 12 else "am")
    return (Kind.DATE, ends[0]) if ends else None
