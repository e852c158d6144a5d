"""Cuts a text into matches that carry values: one pass of one pattern, first alternative wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from echoless.core.text import lazy_pattern
from echoless.matching.languages import Lexicon, fold
from echoless.matching.values import quantities
from echoless.matching.values.patterns import (
    PLAIN_NUMBER,
    PLAIN_WORDS,
    breadth_of,
    companions,
    heads,
    phrases_of,
    table_of,
)
from echoless.matching.values.tokens import (
    DialTime,
    EitherDay,
    Kind,
    Month,
    Number,
    Ordinal,
    Quantity,
    Raw,
    TypedValue,
    Weekday,
    Year,
)

_Match: TypeAlias = re.Match[str]


# ------------------------------------------------------------------ dates and times


_LED_BY_DAY: Final = lazy_pattern(
    r"(?:\b(?:am|vom|zum|den|dem|seit|bis|ab|und)|(?:tag|woch|Mo|Di|Mi|Do|Fr|Sa|So)\.?,?|[-–])\s?$"
)


def _whole(match: _Match) -> tuple[TypedValue, ...]:
    return ((Kind.NUMBER, Number(match.group())),)


def _day(match: _Match, month: int, day: str | None, year: str | None) -> tuple[TypedValue, ...]:
    values: list[TypedValue] = []
    if month:
        value = quantities.day_of(month, int(day)) if day else Month(month)
        if value is None or not 1 <= month <= 12:
            return _whole(match)
        values.append((Kind.DATE, value))
    if year:
        values.append((Kind.DATE, _year(year)))
    return tuple(values)


def _year(digits: str) -> Year:
    """Returns a year in two digits is one of this century."""
    return Year(int(digits) + (2000 if len(digits) == 2 else 0))


def _named_day(match: _Match, n: str, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    n = n if match[f"m{n}"] else "A"
    month = lexicon.months.get(match[f"m{n}"].casefold().replace("ä", "ae"), 0)
    return _day(match, month, match.groupdict().get(f"d{n}"), match[f"y{n}"])


def _iso(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    values = _day(match, int(match["m1"]), match["d1"], match["y1"])
    if match["h0"] and values[0][0] is Kind.DATE:
        time = quantities.clock(match["h0"], match["n0"], None, match["x0"])
        values += ((Kind.DATE, time),) if time else ()
        values += ((Kind.NUMBER, Number(match["z0"])),) if match["z0"] else ()
    return values


def _dmy(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    get = match.groupdict().get
    if get("d9"):
        led = _LED_BY_DAY.search(match.string[max(0, match.start() - 8) : match.start()])
        if not led:
            return ((Kind.NUMBER, Number(f"{get('d9')}.{get('m9')}")),)
    n = next(n for n in "289" if get(f"d{n}"))
    return _day(match, int(match[f"m{n}"]), match[f"d{n}"], get(f"y{n}"))


def _slashes(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    """Day and month tell themselves apart if one is above twelve; else either may be meant."""
    one, other, year = int(match["a"]), int(match["b"]), match["y"]
    if one > 12 or one == other:
        return _day(match, other, str(one), year)
    if other > 12:
        return _day(match, one, str(other), year)
    return ((Kind.DATE, EitherDay(one, other)), (Kind.DATE, _year(year)))


def _jdate(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    get = match.groupdict().get
    month = get("m3") or get("em4") or get("m4") or get("m5")
    day = get("d3")
    year = get("y3") or get("y4")
    era, of_era = get("era") or get("era4"), get("ye") or get("ye4")
    if era and of_era:
        year = str(quantities.western_year(era, of_era))
    number = int(quantities.kanji_number(month)) if month else 0
    return _day(match, number, str(quantities.kanji_number(day)) if day else None, year)


def _weekdays(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    if match.lastgroup == "days":
        names = re.findall("Mo|Di|Mi|Do|Fr|Sa|So", match.group())
        index = {name: i for i, name in enumerate(("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"), 1)}
    else:
        names = [c for c in match.group().removesuffix("曜日").removesuffix("曜") if c in _DAYS_JA]
        index = _DAYS_JA
    days = tuple((Kind.DATE, Weekday(index[name])) for name in names)
    return ((Kind.WORD, "毎週"), *days) if match.group().startswith("毎週") else days


_DAYS_JA: Final = {day: i for i, day in enumerate("月火水木金土日", 1)}
_SOON: Final = lazy_pattern("(午前|早朝|朝|昼|夕方|夜|晩|深夜|午後)の?$")


def _time(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    get = match.groupdict().get
    n = next(n for n in "14235" if get(f"h{n}"))
    hour = str(quantities.kanji_number(match[f"h{n}"]))
    minute = str(quantities.kanji_number(get(f"n{n}") or "")) if get(f"n{n}") else None
    part = get("p0") or get(f"p{n}")
    if n == "3" and not part:
        before = _SOON.search(match.string[max(0, match.start() - 4) : match.start()])
        part = before[1] if before else None
    time = quantities.clock(hour, "30" if get("half") else minute, part, get("x1"))
    if time is None:
        return _whole(match)
    # "8 o'clock" may be in the evening, "8 Uhr" is in the morning.
    open_half = n == "2" and (get("oc") or "").casefold() == "o'clock" and 0 < int(hour) <= 12
    dial = DialTime(int(hour) % 12, int(minute or 0))
    return ((Kind.DATE, dial if open_half else time),)


# ------------------------------------------------------------------ numbers


def _number(match: _Match, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    digits, unit, sign = match["n"], match["u"], "-" if match["sign"] in {"-", "−"} else ""
    if match["ord"]:
        return ((Kind.RELATION, Ordinal(int(digits)) if digits.isdigit() else digits),)
    value = quantities.number(digits, lexicon)
    if value is None:
        return ((Kind.NUMBER, Number(f"{sign}{digits}")),)
    k = (match["k"] or "").strip()
    factor = lexicon.multipliers.get(k.casefold(), _BIG.get(k)) if k else None
    if unit:
        signed = -value if sign else value
        return _measured(signed * (factor or 1), unit, match["np"])
    if factor:
        return ((Kind.NUMBER, Number(f"{sign}{value * factor}")),)
    return _bare_date(match, digits, lexicon) or _counted(sign, digits, lexicon)


_BIG: Final = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
_BARE_DATE: Final = lazy_pattern(r"(\d{1,2})\.(\d{1,2})")
_LED_BY_AM: Final = lazy_pattern(r"(?:\b(?:[Aa]m|[Vv]om|[Zz]um|[Dd]en|dem)|tag|woch),?\s$")


def _bare_date(match: _Match, digits: str, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    """Reads `am 5.2` in German, where the full stop of the month was that of the sentence."""
    parts = _BARE_DATE.fullmatch(digits) if lexicon.language == "de" else None
    before = match.string[max(0, match.start() - 6) : match.start()]
    if not parts or not _LED_BY_AM.search(before):
        return ()
    day = quantities.day_of(int(parts[2]), int(parts[1]))
    return ((Kind.DATE, day),) if day else ()


def _measured(value: Fraction, unit: str, per: str | None) -> tuple[TypedValue, ...]:
    """Returns a quantity, and for `65 €/h` the unit it is counted by."""
    amount = (Kind.NUMBER, quantities.quantity_of(value, unit))
    return (amount, (Kind.UNIT, quantities.unit_named(per))) if per else (amount,)


def _compact(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    """Reads `1h30m` and `PT90S`."""
    get = match.groupdict().get
    hours, minutes, seconds = (int(get(f"c{n}") or get(f"i{n}") or 0) for n in "hms")
    whole = Fraction(hours * 3600 + minutes * 60 + seconds)
    return ((Kind.NUMBER, Quantity(whole, "second")),)


def _is_year(sign: str, digits: str) -> bool:
    return not sign and len(digits) == 4 and digits.isdigit() and digits[:2] in {"19", "20"}


def _counted(sign: str, digits: str, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    """Returns a number with nothing beside it: a year, or how many.

    Without a unit, `1.10` may be a version: digits after a point stay as written.
    """
    if _is_year(sign, digits):
        return ((Kind.DATE, Year(int(digits))),)
    if quantities.is_whole(digits):
        coded = digits.startswith("0") and len(digits) > 2  # a PIN, a postcode: no amount
        return ((Kind.NUMBER, Number(f"{sign}{digits if coded else int(digits)}")),)
    value = quantities.number(digits, lexicon)
    grouped = not {",", "'", " "}.isdisjoint(digits) or (lexicon.language == "de" and "." in digits)
    if value is not None and ("e" in digits.casefold() or grouped):
        plain = str(value) if value.denominator == 1 else digits.replace(",", ".")
        return ((Kind.NUMBER, Number(f"{sign}{plain}")),)
    return ((Kind.NUMBER, Number(f"{sign}{digits}")),)


def _range(match: _Match, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    """Reads a range: `9-18` is from 9 to 18, `2025-03` a month; what falls stays as written."""
    low, high = quantities.number(match["r1"], lexicon), quantities.number(match["r2"], lexicon)
    one, other = match["r1"], match["r2"]
    if len(one) == 4 and len(other) == 2 and _is_year("", one) and 1 <= int(other) <= 12:
        return ((Kind.DATE, Month(int(other))), (Kind.DATE, Year(int(one))))
    clock = match["rc"]
    if low is None or high is None or (low >= high and not clock):
        whole = _whole(match)
        return (*whole, (Kind.UNIT, quantities.unit_named(match["ru"]))) if match["ru"] else whole
    if clock:
        times = quantities.clock_range(one, other, clock)
        return tuple((Kind.DATE, time) for time in times) or _whole(match)
    if match["ru"]:
        return (*_measured(low, match["ru"], None), *_measured(high, match["ru"], None))
    return tuple(each for part in (one, other) for each in _counted("", part, lexicon))


def _fraction(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    whole, part, of = (int(match[name] or 0) for name in ("fw", "fa", "fb"))
    if not of or (match["fw"] and part >= of):
        return _whole(match)
    value = whole + Fraction(part, of)
    if match["fu"]:
        return _measured(value, match["fu"], None)
    # As written: 4/12 may be a day.
    return ((Kind.NUMBER, Number(str(value) if match["fw"] else f"{part}/{of}")),)


def _jfrac(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    if match["jhalf"]:
        return ((Kind.NUMBER, Number("1/2")),)
    of = quantities.kanji_number(match["jb"])
    part = quantities.kanji_number(match["ja"])
    return ((Kind.NUMBER, Number(f"{part}/{of}")),) if of else _whole(match)


def _money(match: _Match, lexicon: Lexicon) -> tuple[TypedValue, ...]:
    value = quantities.number(match["cn"], lexicon)
    if value is None:
        return _whole(match)
    factor = lexicon.multipliers.get((match["ck"] or "").strip().casefold(), 1)
    return _measured(value * factor, match["cur"], match["cp"])


def _jnum(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    unit = match["ju"] or match["hu"]
    if match["hu"]:
        value = Fraction(1, 2)
    else:
        value = quantities.kanji_number(match["jn"] or match.group())
        value += Fraction(1, 2) if match["jh"] else 0
    if match["hu"] == "月":
        unit = "か月"
    return ((Kind.NUMBER, quantities.quantity_of(value, unit) if unit else Number(str(value))),)


def _version(match: _Match, _: Lexicon) -> tuple[TypedValue, ...]:
    bare = match.group().removeprefix("v")
    kind = Kind.VERSION if "." in bare else Kind.IDENTIFIER
    return ((kind, Number(bare)),)


def _literal(kind: Kind) -> Callable[[_Match, Lexicon], tuple[TypedValue, ...]]:
    return lambda match, _: ((kind, match.group().rstrip(".:")),)


def _address(url: str) -> str:
    """Returns an address without a last slash, and without what only counts visits."""
    page, sharp, place = url.partition("#")
    path, _, query = page.partition("?")
    parameters = "&".join(each for each in query.split("&") if each and not each.startswith("utm_"))
    return path.rstrip("/") + ("?" + parameters if parameters else "") + sharp + place


_READERS: Final[dict[str, Callable[[_Match, Lexicon], tuple[TypedValue, ...]]]] = {
    "url": lambda match, _: ((Kind.PATH, _address(match.group().rstrip(".:"))),),
    "mail": _literal(Kind.IDENTIFIER),
    "uuid": _literal(Kind.IDENTIFIER),
    "iso": _iso,
    "dmy": _dmy,
    "slashes": _slashes,
    "jdate": _jdate,
    "dm": lambda match, lexicon: _named_day(match, "6", lexicon),
    "md": lambda match, lexicon: _named_day(match, "7", lexicon),
    **dict.fromkeys(("days", "jdays"), _weekdays),
    "time": _time,
    "compact": _compact,
    "flag": _literal(Kind.IDENTIFIER),
    "range": _range,
    "fraction": _fraction,
    "jfrac": _jfrac,
    "path": _literal(Kind.PATH),
    "version": _version,
    "jnum": _jnum,
    "money": _money,
    "number": _number,
    "compound": _literal(Kind.IDENTIFIER),
    "identifier": _literal(Kind.IDENTIFIER),
    "dotted": _literal(Kind.PATH),
    "digits": lambda match, _: _whole(match),
    "sign_": _literal(Kind.RELATION),
}
_SHORT: Final = {
    "w/": "with",
    "w/o": "without",
    "w/out": "without",
    "w/in": "within",
    "b/c": "because",
    "and/or": "or",
    "und/oder": "oder",
}


_MOST_WORDS: Final = 65_536
"""Words of a language in memory; beyond them it begins anew."""


class _Opening(NamedTuple):
    """A word with which an entry or a value may begin.

    Attributes:
        raw: Its match where it begins none.
        following: Words that may follow it in an entry.
        dated: Whether a date or a time may begin with it.
    """

    raw: Raw
    following: frozenset[str]
    dated: bool


class _Words(dict[str, Raw | None]):
    """The match of each plain word as written; None where it is one of the openings."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Takes the language."""
        super().__init__()
        self.openings: dict[str, _Opening] = {}
        self._lex = lexicon

    def __missing__(self, word: str) -> Raw | None:
        """Returns the match of a word that was not met yet."""
        if len(self) >= _MOST_WORDS:
            self.clear()
        folded = word.casefold()
        raw = Raw("word", word, (), fold(word, self._lex.language))
        following = phrases_of(self._lex).following(folded)
        dated = folded in heads(self._lex)
        if following or dated:
            self.openings[word] = _Opening(raw, following, dated)
            self[word] = None
            return None
        self[word] = raw
        return raw


_words_of: Final = cache(_Words)

_ALONE: Final = {
    **{sign: Raw("mark", sign) for sign in ",;:|()?]"},
    **{sign: Raw("other", sign) for sign in "`\"'^&%"},
}
"""Matches of signs with which nothing longer begins."""
_DIGIT: Final = re.compile(r"\d")
_POINT: Final = Raw("mark", ".")


def scan(text: str, lexicon: Lexicon) -> list[Raw]:
    """Returns the matches in order. Words come without values, see `word_classes.py`."""
    return _Scan(text, lexicon).raws


class _Scan:
    """The matches of one text, from its beginning to its end."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.raws: list[Raw] = []
        self._text = text
        self._lex = lexicon
        self._words = _words_of(lexicon)
        self._table = table_of(lexicon)
        self._breadth = breadth_of(text)
        self._dated = lexicon.language == "de" or _DIGIT.search(text) is not None
        self._read()

    def _read(self) -> None:
        text, raws, words = self._text, self.raws, self._words
        plain, alone = PLAIN_WORDS.match, _ALONE.get
        at, end = 0, len(text)
        while at < end:
            char = text[at]
            if char == " ":
                at += 1
            elif (sign := alone(char)) is not None:
                raws.append(sign)
                at += 1
            elif (run := plain(text, at)) is not None:
                parts = run[1].split()
                entries = [words[part] for part in parts]
                if None in entries:
                    at = self._opened(run, parts, entries)
                else:
                    raws += filter(None, entries)
                    at = run.end()
            else:
                at = self._value(at)

    def _opened(self, run: _Match, words: Sequence[str], entries: list[Raw | None]) -> int:
        """Reads plain words up to where an entry or a value begins, and this; returns its end."""
        text, at, done = self._text, run.start(), 0
        for place, raw in enumerate(entries):
            if raw is not None:
                continue
            opening = self._words.openings[words[place]]
            after = words[place + 1].casefold() if place + 1 < len(words) else None
            entry = after is None or after in opening.following
            if entry or (opening.dated and self._dated):
                for word in words[done : place + 1]:
                    at = text.index(word, at) + len(word)
                at -= len(word)
                end = phrases_of(self._lex).end_of(text, at, word.casefold()) if entry else -1
                if end >= 0 or (opening.dated and self._dated):
                    self.raws += filter(None, entries[:place])
                    if end < 0:
                        return self._match(at)
                    self.raws.append(Raw("phrase", text[at:end]))
                    return end
                at, done = at + len(word), place + 1
            entries[place] = opening.raw
        self.raws += filter(None, entries)
        return run.end()

    def _value(self, at: int) -> int:
        """Reads a number with nothing beside it, or what the table finds; returns its end."""
        text = self._text
        char, after = text[at], text[at + 1 : at + 2]
        if char == "." and after in {"", " "}:
            self.raws.append(_POINT)
            return at + 1
        number = PLAIN_NUMBER.match(text, at) if "0" <= char <= "9" else None
        if number and (number[2] or "").casefold() not in companions(self._lex):
            self.raws.append(Raw("number", number[1], _counted("", number[1], self._lex)))
            return number.end()
        return self._match(at)

    def _match(self, at: int) -> int:
        """Reads what the table finds at a place; returns its end, or the next place."""
        match = self._table.match(self._text, at, self._breadth)
        if match is None:
            return at + 1
        name, text = match.lastgroup or "other", match.group()
        if name == "word":
            self.raws.append(Raw(name, text, (), fold(text, self._lex.language)))
        elif name == "short":
            word = _SHORT[text.casefold()]
            self.raws.append(Raw("word", word, (), word))
        elif name == "pair":
            for part in text.split("/"):
                self.raws += scan(part, self._lex)
        else:
            reader = _READERS.get(name)
            self.raws.append(Raw(name, text, reader(match, self._lex) if reader else ()))
        return match.end()
