"""Compiled loops over code points for `shingling.py`: normal forms, words, n-grams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from echoless.core.kernel_cache import njit

Ints = NDArray[np.int64]
Points = NDArray[np.uint32]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Classes = NDArray[np.uint8]
Numbers = NDArray[np.int32]

TAB, LINE, SPACE, QUOTE, HASH, APOSTROPHE, STAR = 9, 10, 32, 34, 35, 39, 42
PLUS, MINUS, STOP, GREATER, BACKTICK = 43, 45, 46, 62, 96


@njit(nogil=True)
def is_space(point: int) -> bool:
    """Returns whether a code point is ASCII white space, as `str.isspace` defines it."""
    return point == SPACE or 9 <= point <= 13 or 28 <= point <= 31


@njit(nogil=True)
def bare(points: Points, starts: Ints, flags: Flags) -> None:
    """Marks texts whose normal form needs changes only to white space, case and outer quotes.

    The same as `core.text._is_bare`.
    """
    for text in range(len(starts) - 1):
        fine, begun = True, False
        for place in range(starts[text], starts[text + 1]):
            point = points[place]
            if point >= 128 or point in (BACKTICK, STAR):
                fine = False
                break
            if point == LINE:
                begun = False
            elif not begun and point not in (SPACE, TAB):
                begun = True
                if point in (HASH, GREATER, PLUS, MINUS):
                    fine = False
                    break
        flags[text] = fine


@njit(nogil=True)
def trimmed(points: Points, first: int, last: int) -> tuple[int, int]:
    """Returns the span without white space at its ends."""
    while first < last and is_space(points[first]):
        first += 1
    while first < last and is_space(points[last - 1]):
        last -= 1
    return first, last


@njit(nogil=True)
def unframed(points: Points, first: int, last: int) -> tuple[int, int]:
    """Returns the span without outer quotes and full stop, as `core.text._strip_frame`."""
    first, last = trimmed(points, first, last)
    changed = True
    while changed:
        changed = False
        if last - first > 2 and points[first] == points[last - 1]:
            mark = points[first]
            framed = mark in (QUOTE, APOSTROPHE)
            for place in range(first + 1, last - 1):
                framed = framed and points[place] != mark
            if framed:
                first, last = trimmed(points, first + 1, last - 1)
                changed = True
        two = last - first > 1 and points[last - 2] == STOP
        if last > first and points[last - 1] == STOP and not two:
            first, last = trimmed(points, first, last - 1)
            changed = True
    return first, last


@njit(nogil=True)
def padded(points: Points, starts: Ints, plain: Flags, made: Points, begins: Ints) -> None:
    """Writes normal forms with a space at both ends; those not `plain` are normal already."""
    at = 0
    begins[0] = 0
    for text in range(len(starts) - 1):
        first, last = starts[text], starts[text + 1]
        if plain[text]:
            first, last = unframed(points, first, last)
        if last > first:
            made[at] = SPACE
            at += 1
            gap = False
            for place in range(first, last):
                point = points[place]
                if not plain[text]:
                    made[at] = point
                    at += 1
                elif is_space(point):
                    gap = True
                else:
                    if gap:
                        made[at] = SPACE
                        at += 1
                        gap = False
                    made[at] = point + 32 if 65 <= point <= 90 else point
                    at += 1
            made[at] = SPACE
            at += 1
        begins[text + 1] = at


@njit(nogil=True)
def mixed(value: np.uint64) -> np.uint64:
    """Returns a fixed permutation of 64 bits: the finaliser of SplitMix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True)
def hashed(points: Points, first: int, last: int, factor: np.uint64) -> np.uint64:
    """Returns the hash of a run of code points, as `shingling.hash_of`."""
    value = np.uint64(0)
    for place in range(first, last):
        value = (value ^ np.uint64(points[place] + 1)) * factor
        value ^= value >> np.uint64(29)
    return mixed(value)


@njit(nogil=True)
def word_end(points: Points, classes: Classes, place: int, end: int) -> int:
    """Returns where the word at `place` ends; apostrophes between letters belong to it."""
    while place < end:
        kind = classes[points[place]]
        inside = kind & 1 or (kind & 4 and place + 1 < end and classes[points[place + 1]] & 1)
        if not inside:
            break
        place += 1
    return place


@njit(nogil=True)
def words(
    points: Points, starts: Ints, classes: Classes, factor: np.uint64, made: Words, begins: Ints
) -> None:
    """Writes hashes of the words of each text, in order, as `core.text.words`."""
    at = 0
    begins[0] = 0
    for text in range(len(starts) - 1):
        place, end = starts[text], starts[text + 1]
        while place < end:
            if not classes[points[place]] & 1:
                place += 1
                continue
            stop = word_end(points, classes, place, end)
            while place < stop:
                first, unspaced = place, classes[points[place]] & 2
                while place < stop and classes[points[place]] & 2 == unspaced:
                    place += 1
                if unspaced and place - first > 1:
                    for begin in range(first, place - 1):
                        made[at] = hashed(points, begin, begin + 2, factor)
                        at += 1
                else:
                    made[at] = hashed(points, first, place, factor)
                    at += 1
        begins[text + 1] = at


@njit(nogil=True)
def sort(values: Words | NDArray[np.int32]) -> None:
    """Sorts values in place by Shell sort: runs are short, and only this loop is compiled."""
    gap = 1
    while gap < len(values) // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for place in range(gap, len(values)):
            value, at = values[place], place
            while at >= gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3


@njit(nogil=True)
def distinct(
    values: Words, starts: Ints, made: Words, counts: NDArray[np.int32], begins: Ints
) -> None:
    """Writes each run in ascending order without repeats, and how often each value occurs."""
    at = 0
    begins[0] = 0
    for text in range(len(starts) - 1):
        run = values[starts[text] : starts[text + 1]]
        sort(run)
        for place in range(len(run)):
            if place and run[place] == run[place - 1]:
                counts[at - 1] += 1
            else:
                made[at] = run[place]
                counts[at] = 1
                at += 1
        begins[text + 1] = at


@njit(nogil=True)
def grams(
    points: Points,
    starts: Ints,
    sizes: Ints,
    long: bool,
    factor: np.uint64,
    made: Words,
    begins: Ints,
) -> None:
    """Writes the character n-grams of each text as numbers, in order, for `shingling.gram_runs`."""
    at = 0
    begins[0] = 0
    for text in range(len(starts) - 1):
        first, last, n = starts[text], starts[text + 1], sizes[text]
        for begin in range(first, max(first + 1, last - n + 1) if last > first else first):
            value = np.uint64(0)
            for place in range(begin, min(begin + n, last)):
                point = np.uint64(points[place] + 1)
                if long:
                    value = (value ^ point) * factor
                    value ^= value >> np.uint64(29)
                else:
                    value = (value << np.uint64(21)) | point
            made[at] = value
            at += 1
        begins[text + 1] = at


@njit(nogil=True)
def slot_of(value: np.uint64, slots: Numbers, names: Words) -> np.uint64:
    """Returns the slot that holds the number of a value, or the free one where it belongs.

    A slot holds a number plus one; 0 is free. `names` are the values by number.
    """
    mask = np.uint64(len(slots) - 1)
    slot = mixed(value) & mask
    while slots[slot] != 0 and names[slots[slot] - 1] != value:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True)
def number(values: Words, slots: Numbers, names: Words, known: int, made: Numbers) -> int:
    """Numbers values in the order they first occur, by a hash table of slots (see `slot_of`).

    Returns:
        How many values are known now. The caller keeps the table at most half full, and `names`
        large enough.
    """
    for place in range(len(values)):
        value = values[place]
        slot = slot_of(value, slots, names)
        if slots[slot] == 0:
            names[known] = value
            known += 1
            slots[slot] = known
        made[place] = slots[slot] - 1
    return known


@njit(nogil=True)
def find_slots(names: Words, slots: Numbers) -> None:
    """Writes the numbers of different values into an empty table."""
    for known in range(len(names)):
        slots[slot_of(names[known], slots, names)] = known + 1
