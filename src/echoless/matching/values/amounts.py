"""Quantities said in words: `an hour and a half`, `two thirds`, `minus achtzig Grad`."""

from __future__ import annotations

from fractions import Fraction

from echoless.matching.values import quantities
from echoless.matching.values.cursor import Cursor, Spelled
from echoless.matching.values.tokens import Kind, Number, Quantity


def signed(c: Cursor, at: int) -> Spelled | None:
    """Reads `minus five degrees`."""
    if not c.has(at, "minus"):
        return None
    number = c.number(at + 1)
    if number is not None:
        plain = Spelled(number[0], Kind.NUMBER, Number(str(number[1])))
        after = _measured(c, number[1], at + 1, number[0]) or plain
    elif at + 1 < len(c.raws) and len(c.raws[at + 1].values) == 1:
        after = Spelled(1, *c.raws[at + 1].values[0])
    else:
        return None
    match after.value:
        case Number(text) if not text.startswith("-"):
            return Spelled(1 + after.taken, Kind.NUMBER, Number(f"-{text}"))
        case Quantity(amount, unit) if amount >= 0:
            return Spelled(1 + after.taken, Kind.NUMBER, Quantity(-amount, unit))
        case _:
            return None


def _measured(c: Cursor, value: Fraction, at: int, taken: int) -> Spelled | None:
    """Returns a value with the unit that follows, an article or `of an` between them or not."""
    for skip in (0, 1, 2):
        if skip == 1 and not c.has(at + taken, "one"):
            continue
        if skip == 2 and not (c.has(at + taken, "of") and c.has(at + taken + 1, "one")):
            continue
        unit = c.unit(at + taken + skip)
        if unit is not None:
            amount = quantities.quantity_of(value, unit[1])
            return Spelled(taken + skip + unit[0], Kind.NUMBER, amount)
    return None


def share(c: Cursor, at: int) -> Spelled | None:
    """Reads `half an hour`, `three quarters of an hour`, `two thirds`, `a fifth of`."""
    if c.word(at) in c.forms.hour_parts:
        part = quantities.quantity_of(c.forms.hour_parts[c.word(at)], "h")
        return Spelled(1, Kind.NUMBER, part)
    lead, count = 0, Fraction(1)
    if c.has(at, "one"):
        lead = 1
    elif c.word(at) not in c.forms.fractions:
        many = c.number(at)
        if many is None or not 0 < many[1] < 10 or many[1].denominator != 1:
            return None
        lead, count = many
    return _named_share(c, at, lead, count)


def _named_share(c: Cursor, at: int, lead: int, count: Fraction) -> Spelled | None:
    name = c.word(at + lead)
    share = c.forms.fractions.get(name)
    if share is None:
        return None
    half = share == Fraction(1, 2)
    measured = _measured(c, count * share, at, lead + 1)
    if measured is not None and (half or lead or c.has(at + 1, "of")):
        follows_of = c.has(at + lead + 1, "of")
        # "a second third quarter" and "the first quarter year" are no shares.
        return measured if half or follows_of or name.endswith("s") or count == 1 else None
    if half and c.has(at + lead + 1, "one") and c.has(at + lead + 2, "dozen"):
        return Spelled(lead + 3, Kind.NUMBER, Number("6"))
    if half or not lead or count * share >= 1:
        return None
    plural = count > 1
    if plural or c.has(at + lead + 1, "of") or c.word(at) == "one":
        return Spelled(lead + 1, Kind.NUMBER, Number(str(count * share)))
    return None


def mixed(c: Cursor, at: int) -> Spelled | None:
    """Reads `two and a half hours`, `an hour and a half`, `two dozen`."""
    number = c.number(at)
    if number is None and c.has(at, "one"):
        number = 1, Fraction(1)
    if number is None:
        return None
    taken, value = number
    if c.has(at + taken, "dozen") and c.word(at) not in c.forms.sets["dozen"]:
        return Spelled(taken + 1, Kind.NUMBER, Number(str(value * 12)))
    tail = _and_a_part(c, at + taken)
    if tail is not None:
        return _measured(c, value + tail[1], at, taken + tail[0])
    unit = c.unit(at + taken)
    tail = _and_a_part(c, at + taken + unit[0]) if unit else None
    if unit is None or tail is None or c.has(at + taken + unit[0] + tail[0], "past"):
        return None
    amount = quantities.quantity_of(value + tail[1], unit[1])
    return Spelled(taken + unit[0] + tail[0], Kind.NUMBER, amount)


def _and_a_part(c: Cursor, at: int) -> tuple[int, Fraction] | None:
    """Reads `and a half`, `and three quarters`."""
    if not c.has(at, "and"):
        return None
    lead = 1 if c.has(at + 1, "one") else 0
    count = Fraction(1)
    if not lead:
        many = c.number(at + 1)
        lead, count = many if many is not None and many[1] < 10 else (0, count)
    share = c.forms.fractions.get(c.word(at + 1 + lead))
    if share is None or not lead or count * share >= 1:
        return None
    return 2 + lead, count * share


def amount(c: Cursor, at: int) -> Spelled | None:
    """Returns a number in words, with the unit after it."""
    number = c.number(at)
    if number is None:
        return None
    taken, value = number
    if not c.raws[at].word and not c.unit(at + 1):
        return None
    measured = _measured(c, value, at, taken)
    if measured is not None and c.has(at + taken, "one"):
        measured = None
    if measured is not None:
        return measured
    if not c.raws[at].word or (c.words[at] == "one" and taken == 1 and not _counts(c, at)):
        return None
    return Spelled(taken, Kind.NUMBER, Number(str(value)))


def _counts(c: Cursor, at: int) -> bool:
    """Returns whether `one` is a number here and not a pronoun: a plain noun has to follow."""
    after = c.word(at + 1)
    closed = ("function", "articles", "prepositions", "conjunctions", "significant", "bland")
    known = any(c.lex.has(name, after) for name in closed) or after in c.lex.modality
    return bool(after) and not known


def one_in(c: Cursor, at: int) -> Spelled | None:
    """Reads `one in twenty`, `one run in twenty`: the words after the share are dropped."""
    if c.word(at) != "one" and not (c.raws[at].values and c.raws[at].text == "1"):
        return None
    for link in (at + 1, at + 2):
        number = c.number(link + 1) if c.word(link) == "in" else None
        if number is None or c.word(link + 1 + number[0]) or number[1] < 2:
            continue
        if number[1].denominator == 1 and not c.unit(link + 1 + number[0]):
            c.dropped.update(range(link, link + 1 + number[0]))
            return Spelled(1, Kind.NUMBER, Number(f"1/{number[1]}"))
    return None
