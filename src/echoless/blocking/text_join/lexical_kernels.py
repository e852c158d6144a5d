"""Compiled loops of the lexical joins: sorted terms, postings, partners of a row.

Where a loop is all the work its indices are unsigned: numba asks of a signed one whether it counts
from the end, which takes a third of such a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.shingling_kernels import sort
from echoless.core.kernel_cache import njit

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Counts = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Shares = NDArray[np.uint16]


# The field types are part of what numba compiles for. These classes stand in this file, as a change
# of them must give compiled code of another name (`kernel_cache`).


class Grams(NamedTuple):
    """Rows of n-grams, as `tfidf_rows.TermRows`."""

    starts: Ints
    terms: Numbers
    counts: Counts
    idf: Floats
    lengths: Floats


class ClueRows(NamedTuple):
    """Rows of clues, rarest first, as `tfidf_rows.Clues`.

    Attributes:
        starts: Where each row begins.
        terms: Of all rows.
        worth: Squared idf of each clue, scaled.
        lengths: Of the rows.
    """

    starts: Ints
    terms: Numbers
    worth: Floats
    lengths: Floats


class Index(NamedTuple):
    """Rows of each clue, as `approximate_tfidf_join.Postings`."""

    begins: Ints
    posts: Numbers
    shares: Shares


class Bounds(NamedTuple):
    """Limits of an approximate join.

    Attributes:
        budget: Postings read for a row.
        looked_at: Rows scored for a row.
        most: Partners kept for a row.
        threshold: Of the cosine.
        inclusive: Whether the threshold itself passes.
        dense: Share from which rows are nearly the same.
    """

    budget: int
    looked_at: int
    most: int
    threshold: float
    inclusive: bool
    dense: float


class Room(NamedTuple):
    """Working memory for one row.

    Attributes:
        sums: A total for each row, all zero before and after.
        touched: Rows that share a clue.
        totals: Of these rows.
        candidates: The touched rows whose total reaches the floor.
        values: Totals of those.
        chosen: The best of them.
        scores: Totals of the best.
    """

    sums: Numbers
    touched: Numbers
    totals: Numbers
    candidates: Numbers
    values: Numbers
    chosen: Ints
    scores: Ints


@njit(nogil=True)
def room_for(rows: int, limits: Bounds) -> Room:
    """Returns room for the partners of one row after the other."""
    reads = limits.budget + 1
    return Room(
        np.zeros(rows, np.int32),
        np.empty(reads, np.int32),
        np.empty(reads, np.int32),
        np.empty(reads, np.int32),
        np.empty(reads, np.int32),
        np.empty(limits.looked_at, np.int64),
        np.empty(limits.looked_at, np.int64),
    )


@njit(nogil=True)
def arrange(starts: Ints, terms: Numbers) -> None:
    """Sorts the terms of each row in ascending order (Shell sort)."""
    for row in range(len(starts) - 1):
        sort(terms[starts[row] : starts[row + 1]])


@njit(nogil=True)
def add_squares(starts: Ints, terms: Numbers, idf: Floats, made: Floats) -> None:
    """Writes the sum of squared weights of each row whose terms occur once, in their order."""
    for row in range(len(starts) - 1):
        total = 0.0
        for place in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            weight = idf[np.uint32(terms[place])]
            total += weight * weight
        made[row] = total


@njit(nogil=True)
def add_counted_squares(
    starts: Ints, terms: Numbers, counts: Counts, idf: Floats, made: Floats
) -> None:
    """Writes the sum of squared weights of each row, as `tfidf_rows.lengths_of`."""
    for row in range(len(starts) - 1):
        total = 0.0
        for place in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            weight = counts[place] * idf[np.uint32(terms[place])]
            total += weight * weight
        made[row] = total


@njit(nogil=True)
def post(clues: ClueRows, index: Index, filled: Numbers) -> None:
    """Writes the rows of each clue, ascending, as many as there is room for, with their shares."""
    starts, terms, worth, lengths = clues
    begins, posts, shares = index
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            term = terms[place]
            at = begins[term] + filled[term]
            if at < begins[term + 1]:
                posts[at] = row
                shares[at] = np.uint16(np.rint(worth[term] / lengths[row]))
                filled[term] += 1


@njit(nogil=True)
def insert(chosen: Ints, scores: Ints, size: int, row: int, score: int) -> int:
    """Inserts a row among the best so far: higher scores first, then lower rows.

    Where there is no room left, the last one is dropped; the caller has checked that it is worse.
    """
    at = min(size, len(chosen) - 1)
    size = at + 1
    while at and (scores[at - 1] < score or (scores[at - 1] == score and chosen[at - 1] > row)):
        chosen[at], scores[at] = chosen[at - 1], scores[at - 1]
        at -= 1
    chosen[at], scores[at] = row, score
    return size


@njit(nogil=True)
def first_of(
    touched: Numbers, totals: Numbers, many: int, crowd: int, chosen: Ints, scores: Ints
) -> int:
    """Collects the first rows that share nearly all clues, and removes them from `totals`."""
    size, room = 0, len(chosen)
    for at in range(many):
        if totals[at] >= crowd and (size < room or touched[at] < chosen[size - 1]):
            size = insert(chosen, scores, size, touched[at], 0)
    for at in range(many):
        if totals[at] >= crowd and touched[at] <= chosen[size - 1]:
            totals[at] = 0
    return size


@njit(nogil=True)
def best_of(touched: Numbers, totals: Numbers, many: int, chosen: Ints, scores: Ints) -> int:
    """Collects the rows of the highest totals above 0; one comparison rules out nearly all rows."""
    size, worst, room = 0, 0, len(chosen)
    for at in range(many):
        total = totals[at]
        if total < worst or total == 0:
            continue
        if size < room or total > worst or touched[at] < chosen[size - 1]:
            size = insert(chosen, scores, size, touched[at], total)
            worst = scores[size - 1] if size == room else 0
    return size


@njit(nogil=True)
def place_of(posts: Numbers, first: int, last: int, row: int) -> int:
    """Returns the first place, from `first` to `last`, whose row is not below `row`."""
    while first < last:
        middle = (first + last) >> 1
        if posts[middle] < row:
            first = middle + 1
        else:
            last = middle
    return first


@njit(nogil=True)
def add_up(clues: ClueRows, index: Index, row: int, budget: int, room: Room) -> tuple[int, float]:
    """Adds up what each row before `row` shares with it.

    Returns:
        How many rows share something, and what the row would share with itself.
    """
    sums, touched, totals = room.sums, room.touched, room.totals
    starts, terms, worth, lengths = clues
    begins, posts, shares = index
    own, many, left = 0.0, np.uint64(0), budget
    for place in range(starts[row], starts[row + 1]):
        if left == 0:
            break
        term = terms[place]
        own += np.rint(worth[term] / lengths[row])
        first = begins[term]
        end = place_of(posts, first, min(begins[term + 1], first + left), row)
        for at in range(np.uint64(first), np.uint64(end)):
            partner = np.uint32(posts[at])
            before = sums[partner]
            touched[many] = partner
            many += np.uint64(before == 0)
            sums[partner] = before + shares[at]
        left -= end - first
    for at in range(many):
        partner = np.uint32(touched[at])
        totals[at] = sums[partner]
        sums[partner] = 0
    return int(many), own


@njit(nogil=True)
def at_least(floor: int, many: int, room: Room) -> int:
    """Copies the rows whose total reaches the floor, and returns how many there are."""
    touched, totals, candidates, values = room.touched, room.totals, room.candidates, room.values
    size = np.uint64(0)
    for at in range(np.uint64(many)):
        candidates[size], values[size] = touched[at], totals[at]
        size += np.uint64(totals[at] >= floor)
    return int(size)


@njit(nogil=True)
def gather(clues: ClueRows, index: Index, row: int, limits: Bounds, floor: int, room: Room) -> int:
    """Collects the rows before `row` that share most of its rarest clues.

    The same as `approximate_tfidf_join.most_in_common`. `floor` is a guess of the lowest total that
    is chosen. A poor one costs time: as long as too few rows reach it, it is halved.
    """
    candidates, values, chosen, scores = room.candidates, room.values, room.chosen, room.scores
    many, own = add_up(clues, index, row, limits.budget, room)
    crowd, near = max(1, int(own * limits.dense)), 0
    floor = max(1, min(floor, crowd))
    size = at_least(floor, many, room)
    while size < len(chosen) and floor > 1:
        floor >>= 1
        size = at_least(floor, many, room)
    for at in range(size):
        near += values[at] >= crowd
    half = (len(chosen) + 1) // 2
    first = first_of(candidates, values, size, crowd, chosen[:half], scores[:half]) if near else 0
    return first + best_of(candidates, values, size, chosen[first:], scores[first:])


@njit(nogil=True)
def keep_partners(
    one: Ints, similarity: Floats, first: int, last: int, most: int, dense: float
) -> int:
    """Moves the wanted partners to the front, by the rule of `vector_join.top_k.kept_partners`."""
    half = first + (most + 1) // 2
    crowd = True
    for wanted in range(first, min(first + most, last)):
        best = -1
        if crowd and wanted < half:
            for place in range(wanted, last):
                if similarity[place] >= dense and (best < 0 or one[place] < one[best]):
                    best = place
        crowd = best >= 0
        if not crowd:
            best = wanted
            for place in range(wanted + 1, last):
                closer = similarity[place] > similarity[best]
                if closer or (similarity[place] == similarity[best] and one[place] < one[best]):
                    best = place
        one[wanted], one[best] = one[best], one[wanted]
        similarity[wanted], similarity[best] = similarity[best], similarity[wanted]
    return min(first + most, last)


@njit(nogil=True)
def partners(
    clues: ClueRows,
    index: Index,
    rows: Grams,
    span: tuple[int, int],
    limits: Bounds,
    made: tuple[Ints, Ints, Floats],
    done: Ints,
) -> None:
    """Writes the partners of the rows of a span, for `approximate_tfidf_join`.

    `done` takes the number of pairs, of pairs scored, and of rows with more partners than wanted.
    """
    starts, terms, counts, idf, lengths = rows
    looked_at, most, dense = limits.looked_at, limits.most, limits.dense
    one, other, similarity = made
    spread = np.zeros(len(idf))
    room = room_for(len(lengths), limits)
    chosen, scores = room.chosen, room.scores
    at, floor = 0, 1
    for row in range(span[0], span[1]):
        size = gather(clues, index, row, limits, floor, room)
        floor = scores[size - 1] * 3 // 4 if size == looked_at else 1  # texts are much alike
        for place in range(starts[row], starts[row + 1]):
            spread[terms[place]] = counts[place] * (idf[terms[place]] * idf[terms[place]])
        begin = at
        for near in range(size):
            partner, total = chosen[near], 0.0
            for place in range(np.uint64(starts[partner]), np.uint64(starts[partner + 1])):
                total += spread[np.uint32(terms[place])] * counts[place]
            total /= lengths[row] * lengths[partner]
            cosine = min(np.rint(total * 1e6) / 1e6, 1.0)  # as `ngram_index.DECIMALS`
            if cosine > limits.threshold or (limits.inclusive and cosine == limits.threshold):
                one[at], other[at], similarity[at] = partner, row, cosine
                at += 1
        for place in range(starts[row], starts[row + 1]):
            spread[terms[place]] = 0.0
        done[1] += size
        if at - begin > most:
            at = keep_partners(one, similarity, begin, at, most, dense)
            done[2] += 1
    done[0] = at


@njit(nogil=True)
def choose(clues: ClueRows, index: Index, wanted: Ints, limits: Bounds, made: Ints) -> int:
    """Writes the partners of the wanted rows, unscored, and those rows; returns how many."""
    looked_at, room = limits.looked_at, room_for(len(clues.lengths), limits)
    chosen, scores = room.chosen, room.scores
    at, floor = 0, 1
    for row in wanted:
        size = gather(clues, index, row, limits, floor, room)
        floor = scores[size - 1] * 3 // 4 if size == looked_at else 1
        for near in range(size):
            made[0, at], made[1, at] = chosen[near], row
            at += 1
    return at


@njit(nogil=True)
def cosines(rows: Grams, one: Ints, other: Ints, made: Floats) -> None:
    """Writes the cosines of pairs ordered by `one`, as `tfidf_join.cosines_of_pairs`."""
    starts, terms, counts, idf, lengths = rows
    spread = np.zeros(len(idf))
    for pair in range(len(one)):
        row, partner = one[pair], other[pair]
        if pair == 0 or row != one[pair - 1]:
            if pair:
                last = one[pair - 1]
                for place in range(starts[last], starts[last + 1]):
                    spread[terms[place]] = 0.0
            for place in range(starts[row], starts[row + 1]):
                spread[terms[place]] = counts[place] * (idf[terms[place]] * idf[terms[place]])
        total = 0.0
        for place in range(np.uint64(starts[partner]), np.uint64(starts[partner + 1])):
            total += spread[np.uint32(terms[place])] * counts[place]
        total /= lengths[row] * lengths[partner]
        made[pair] = min(np.rint(total * 1e6) / 1e6, 1.0)
