"""Merges three states of a memory file claim by claim, where Git merges line by line.

The claims of each side are laid beside those of the base, then each place is decided:

```
unchanged on one side .............. as on the other: changed, removed, or kept
changed or removed on both ......... once if both say the same, else a conflict
added on both ...................... once if both say the same, else both, ours first
added, and not both true ........... a conflict of these two claims alone
```

Of two claims that say the same the fuller one stays. Where the merge by lines is clean and no claim
is said twice or against another one, its result stands, byte for byte.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rapidfuzz import fuzz, process

from echoless.core.claims import Claim, ClaimKind, is_bare, split_claims
from echoless.core.model import (
    Contradiction,
    Memory,
    Pair,
    Sibling,
    Unsure,
    Update,
    Verdict,
    flipped,
)
from echoless.core.profiles import SAFE
from echoless.core.run_notes import Tally
from echoless.matching import claims as notes
from echoless.matching.judge import open_learned
from echoless.matching.rule_judge import VALUES_OF_ONE
from echoless.matching.runner import verdicts_on
from echoless.stores.jsonl_record import text_of

MOST_BYTES: Final = 2**20
"""Bytes of a file that is merged by claims, at most."""

_TURNED: Final = 60.0
"""Share of letters in common (`rapidfuzz.fuzz.ratio`, 0 to 100), inclusive, from which a claim is a
changed one of the base, rather than another one in its place."""

_MOST_PAIRS: Final = 40_000
"""Pairs of claims that are compared where a stretch was rewritten; in a larger one none turned."""

_LITERAL: Final = frozenset({ClaimKind.HEADING, ClaimKind.CODE, ClaimKind.METADATA, ClaimKind.REST})
_OWN: Final = frozenset({"id", "created_at", "updated_at"})
"""Fields of a record that may differ between two that say the same."""

OURS: Final = 0
THEIRS: Final = 1


class Labels(NamedTuple):
    """How conflicts are marked.

    Attributes:
        ours: Name of our side.
        theirs: Name of the other one.
        size: Characters of a mark.
    """

    ours: str = "ours"
    theirs: str = "theirs"
    size: int = 7


class Merge(NamedTuple):
    """The result of a merge.

    Attributes:
        data: Of the merged file.
        conflicts: How many are marked in it.
        folded: What is not written again, and what says it.
        notes: What there is to say beside.
    """

    data: bytes
    conflicts: int
    folded: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()


def by_lines(base: bytes, ours: bytes, theirs: bytes, labels: Labels) -> Merge:
    """Returns what Git itself makes of three states; of binary ones it keeps ours."""
    with TemporaryDirectory(prefix="echoless-") as made:
        paths = [Path(made) / name for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        names = chain.from_iterable(("-L", e) for e in (labels.ours, "base", labels.theirs))
        command = ["git", "merge-file", "-p", f"--marker-size={labels.size}", *names]
        done = subprocess.run([*command, *paths], capture_output=True, check=False)  # noqa: S603 (no shell)
    if done.returncode > 127:
        return Merge(ours, 1, notes=("Git cannot merge it: ours was kept.",))
    return Merge(done.stdout, done.returncode)


def by_claims(
    base: bytes, ours: bytes, theirs: bytes, labels: Labels, *, records: bool = False
) -> Merge:
    """Merges three states of a memory file.

    Args:
        base: What both sides started from.
        ours: One side.
        theirs: The other side.
        labels: For conflicts.
        records: Whether each line is a record of JSON.

    Returns:
        The merge; that by lines where the file is no text in UTF-8, or too large.

    Raises:
        DamagedPackage: The weights of the pair model are not as they were shipped.
    """
    plain, states = by_lines(base, ours, theirs, labels), (base, ours, theirs)
    try:
        if max(map(len, states)) > MOST_BYTES or any(b"\0" in state for state in states):
            raise ValueError
        texts = [state.decode() for state in states]
    except ValueError:
        why = "Too large, or no text in UTF-8: merged by lines."
        return plain._replace(notes=(*plain.notes, why))
    end = "\n"
    if not any("\r\n" in text and re.search(r"(?<!\r)\n", text) for text in texts):
        ends = ["\r\n" if "\r\n" in text else "\n" * ("\n" in text) for text in texts]
        end = _of_three(ends) or max(ends) or end
        texts = [text.replace("\r\n", "\n") for text in texts]
    start = _State(texts[0], records=records)
    merge = _ClaimMerge(start, [_State(e, start, records=records) for e in texts[1:]], labels)
    if not plain.conflicts and not merge.folded and not merge.against:
        lines = _pieces(plain.data.decode().replace("\r\n", "\n"), records=records)
        if not merge.lost(lines):
            return plain
    text, conflicts = merge.written()
    data = text.replace("\n", end).encode()
    return Merge(data, conflicts, merge.folded, merge.tally.notes)


def _of_three(values: Sequence[str]) -> str:
    """Returns of base, ours and theirs the one that is changed; ours if both are."""
    base, ours, theirs = values
    return theirs if ours == base else ours


# ------------------------------------------------------------------ one state


class _Piece(NamedTuple):
    """A claim as it is written.

    Attributes:
        claim: Its place, kind and context.
        lead: White space before it.
        body: Its letters.
        says: What it says.
        id: Of a record; empty for others.
        beside: What a record holds beside its text.
    """

    claim: Claim
    lead: str
    body: str
    says: str
    id: str = ""
    beside: str = ""

    @property
    def form(self) -> str:
        """What is compared letter by letter: of running text without its line ends."""
        exact = self.id or self.claim.kind in _LITERAL
        return self.body if exact else " ".join(self.body.split())

    @property
    def is_heading(self) -> bool:
        """Whether it stands above others."""
        return self.claim.kind is ClaimKind.HEADING

    @property
    def is_glued(self) -> bool:
        """Whether it goes on in the line of the claim before it."""
        return "\n" not in self.lead and self.claim.start > 0

    @property
    def margin(self) -> str:
        """White space before it on its line."""
        return "" if self.is_glued else self.lead[self.lead.rfind("\n") + 1 :]


def _pieces(text: str, *, records: bool) -> Iterator[_Piece]:
    """Yields the claims of a text, headings among them, or its records."""
    end = 0
    for claim in _lines(text) if records else split_claims(text):
        if body := text[claim.start : claim.end].strip():
            start = text.index(body, claim.start)
            lead, end = text[end:start], start + len(body)
            # the head of a table has no block of its own
            block = claim.start if claim.kind in _LITERAL else claim.block
            piece = _Piece(replace(claim, block=block), lead, body, claim.of(text))
            yield _record(piece) if records else piece


def _lines(text: str) -> Iterator[Claim]:
    start = 0
    for line in text.split("\n"):
        yield Claim(start, start + len(line), ClaimKind.REST)
        start += len(line) + 1


def _record(piece: _Piece) -> _Piece:
    """Returns a line of JSON Lines; one with an id and a text is compared by them."""
    try:
        data = json.loads(piece.body)
    except ValueError:
        return piece
    text = text_of(data) if isinstance(data, dict) else None
    if text is None or not (id_ := str(data.get("id", ""))):
        return piece
    others = {key: value for key, value in data.items() if key not in _OWN and value != text}
    claim = replace(piece.claim, kind=ClaimKind.ROW)
    return piece._replace(claim=claim, says=text, id=id_, beside=json.dumps(others, sort_keys=True))


class _State:
    """A state of the file, laid beside the base.

    Attributes:
        pieces: Its claims.
        note: The same for the comparison of notes.
        tail: White space at the end.
        at: Places of its claims by those of the base that they are, or turned from.
        added: Places of its other claims, by the place of the base before which they stand.
        zone: The place of the base at which each new claim stands, changed or added.
        gone: Places of what is written elsewhere.
    """

    def __init__(self, text: str, base: _State | None = None, *, records: bool) -> None:
        self.pieces = [*_pieces(text, records=records)]
        claims = tuple(each.claim for each in self.pieces)
        says = tuple(each.says for each in self.pieces)
        bare = tuple(each.claim.kind in _LITERAL or is_bare(each.says) for each in self.pieces)
        whole = Claim(0, len(text), ClaimKind.SENTENCE, block=notes.WHOLE)
        self.note = notes.Note(text, whole, claims, says, bare)
        self.tail = text[len(text.rstrip()) :]
        self.at: dict[int, int] = {}
        self.added: dict[int, list[int]] = defaultdict(list)
        self.zone: dict[int, int] = {}
        self.gone: set[int] = set()
        if base:
            self._lay_beside(base)

    def _lay_beside(self, base: _State) -> None:
        """Finds which claims are those of the base, turned from one, or were added."""
        forms = [[each.form for each in state.pieces] for state in (base, self)]
        steps = SequenceMatcher(None, forms[0], forms[1], autojunk=False).get_opcodes()
        for step, start, stop, first, last in steps:
            if step == "equal":
                self.at.update(zip(range(start, stop), range(first, last), strict=True))
                continue
            turned, zone = self._turned(base, range(start, stop), range(first, last)), start
            for place in range(first, last):
                self.zone[place] = turned.get(place, zone)
                if place in turned:
                    zone = turned[place] + 1
                    self.at[zone - 1] = place
                else:
                    self.added[zone].append(place)

    def has_turned(self, at: int) -> bool:
        """Checks whether a new claim turned from one of the base, rather than being added."""
        return self.at.get(self.zone[at]) == at

    def block(self, at: int) -> list[int]:
        """Returns the places of what was added in one block with a claim; its own in an old one."""
        claims = enumerate(self.note.claims)
        block = [n for n, claim in claims if claim.block == self.note.claims[at].block]
        added = all(n in self.zone and not self.has_turned(n) and n not in self.gone for n in block)
        return block if added else [at]

    def _turned(self, base: _State, old: range, own: range) -> dict[int, int]:
        """Returns which claims turned from which of the base, the likest first; none overtakes."""
        if len(old) * len(own) > _MOST_PAIRS:
            return {}
        ratios = ((-_alike(base.pieces[i], self.pieces[j]), i, j) for i in old for j in own)
        turned: dict[int, int] = {}
        for _, i, j in sorted(each for each in ratios if each[0] <= -_TURNED):
            if all(i != a and j != b and (i < a) == (j < b) for b, a in turned.items()):
                turned[j] = i
        return turned


def _as_one(pieces: Sequence[_Piece]) -> _Piece:
    """Returns claims that follow each other as one."""
    first, *rest = pieces
    return first._replace(body=first.body + "".join(each.lead + each.body for each in rest))


def _alike(one: _Piece, other: _Piece) -> float:
    """Returns how likely a claim turned from another, 0 to 100."""
    if one.id or other.id:
        return 100.0 * (one.id == other.id)
    return fuzz.ratio(one.form, other.form) if one.claim.kind is other.claim.kind else 0.0


# ------------------------------------------------------------------ two sides


class _Entry(NamedTuple):
    """What is written at one place of the result.

    Attributes:
        piece: The claim, with the white space and letters to write.
        places: Of it in ours and theirs, where it is there.
        zone: Place of the base.
        marked: Whether it is a conflict in its marks.
    """

    piece: _Piece
    places: tuple[int | None, int | None]
    zone: int
    marked: bool = False


class _ClaimMerge:
    """Two sides beside their base.

    Attributes:
        folded: What is not written again, and what says it.
        against: Claims of ours and theirs that may not both be true, by the first of ours.
        kept: What stays though it was removed: each side removed another copy of it.
        tally: What the judge did without.
    """

    def __init__(self, base: _State, sides: Sequence[_State], labels: Labels) -> None:
        self._base, self._sides, self._labels = base, sides, labels
        self.folded: list[tuple[str, str]] = []
        self.against: dict[int, tuple[list[int], list[int]]] = {}
        self.tally = Tally()
        verdicts = self._judged()
        self._fold(verdicts)
        self._oppose(verdicts)
        self.kept: frozenset[str] = frozenset()
        self.kept = self.lost(entry.piece for entry in self._entries())

    def _judged(self) -> notes.Verdicts:
        """Returns what claims of both sides are to each other: those kept, and the closest new."""
        ours, theirs = self._sides
        kept = ((ours.at[i], theirs.at[i]) for i in ours.at.keys() & theirs.at.keys())
        says = [
            {
                at: " ".join(s.pieces[at].says.split())
                for at in s.zone
                if not s.pieces[at].is_heading
            }
            for s in self._sides
        ]
        equal = {(x, y) for x, y in kept if x not in ours.zone and y not in theirs.zone}
        equal |= {(x, y) for x, one in says[0].items() for y, two in says[1].items() if one == two}
        some = [
            {at: said for at, said in each.items() if not side.note.bare[at]}
            for each, side in zip(says, self._sides, strict=True)
        ]
        near = {*_closest(some[0], some[1]), *((x, y) for y, x in _closest(some[1], some[0]))}
        verdicts: dict[tuple[int, int], Verdict] = dict.fromkeys(equal, notes.EQUAL)
        if asked := sorted(near - equal):
            judge = open_learned(self.tally, cache=False, use=SAFE.use)
            pairs = [_pair(some[0][x], some[1][y]) for x, y in asked]
            verdicts |= zip(asked, verdicts_on(judge, SAFE, pairs), strict=True)
        return {
            (x, y): verdict
            for (x, y), verdict in verdicts.items()
            if ours.pieces[x].beside == theirs.pieces[y].beside
            or not (notes.holds(verdict) or notes.holds(flipped(verdict)))
        }

    def _fold(self, verdicts: notes.Verdicts) -> None:
        """Lets new claims go that the other side says too: theirs where both say the same."""
        ours, theirs = self._sides
        other_way = {(y, x): flipped(verdict) for (x, y), verdict in verdicts.items()}
        places = [
            (x, y)
            for x, y in sorted(verdicts)
            if x in ours.zone and y in theirs.zone
            if notes.stands_for(ours.note, x, theirs.note, y)
        ]
        covered = notes.covered(theirs.note, ours.note, other_way)
        said = [(x, y) for x, y in places if y in covered and notes.holds(other_way[y, x])]
        theirs.gone = {y for _, y in said}
        self.folded += [(theirs.pieces[y].says, ours.pieces[x].says) for x, y in said]
        covered = notes.covered(ours.note, theirs.note, verdicts) - {x for x, _ in said}
        said = [
            (x, y)
            for x, y in places
            if x in covered and y not in theirs.gone and notes.holds(verdicts[x, y])
        ]
        ours.gone = {x for x, _ in said}
        self.folded += [(ours.pieces[x].says, theirs.pieces[y].says) for x, y in said]

    def _oppose(self, verdicts: notes.Verdicts) -> None:
        """Pairs new claims that may not both be true; each is in one conflict."""
        ours, theirs = self._sides
        for x, y in sorted(verdicts):
            new = x in ours.zone.keys() - ours.gone and y in theirs.zone.keys() - theirs.gone
            if new and x not in self.against and self._may_oppose(x, y, verdicts[x, y]):
                self._set_against(x, y)
        heads = [side.pieces[0] for side in self._sides if 0 in side.added[0]]
        matters = [each for each in heads if each.body.startswith("---\n")]
        if len(matters) > 1 and 0 not in theirs.gone:
            self._set_against(0, 0)  # a file has one front matter

    def _set_against(self, x: int, y: int) -> None:
        """Puts two claims into one conflict, each with what its side added in the same block."""
        own, other = self._sides[OURS].block(x), self._sides[THEIRS].block(y)
        self.against[own[0]] = (own, other)
        self._sides[OURS].gone.update(own[1:])
        self._sides[THEIRS].gone.update(other)

    def _may_oppose(self, x: int, y: int, verdict: Verdict) -> bool:
        """Returns whether a person has to choose; far from each other only where it is sure."""
        ours, theirs = self._sides
        near = abs(ours.zone[x] - theirs.zone[y]) <= 1
        for side, other, at in ((ours, theirs, x), (theirs, ours, y)):
            there = other.at.get(side.zone[at])
            if side.has_turned(at) and (not near if there is None else there in other.zone):
                return (
                    False  # both sides changed a claim of the base, which is a conflict of its own
                )
        if ours.pieces[x].id and ours.pieces[x].id == theirs.pieces[y].id:
            return True
        opposed = isinstance(verdict, Update | Contradiction)
        if not near:
            return opposed and notes.says_again(ours.note, x, theirs.note, y, verdict)
        valued = isinstance(verdict, Sibling) and verdict.evidence.difference in VALUES_OF_ONE
        open_ = opposed or valued or isinstance(verdict, Unsure)
        return open_ and notes.may_say_again(ours.note, x, theirs.note, y)

    # -------------------------------------------------------------- what is written

    def written(self) -> tuple[str, int]:
        """Returns the merged text, and how many conflicts are marked in it."""
        entries = self._entries()
        tail = _of_three([self._base.tail, *(side.tail for side in self._sides)])
        return _joined(entries, tail), sum(entry.marked for entry in entries)

    def _entries(self) -> list[_Entry]:
        entries: list[_Entry] = []
        left = {*self.kept}
        for place in range(len(self._base.pieces) + 1):
            entries += self._gap(place)
            if place < len(self._base.pieces):
                form = self._base.pieces[place].form
                entries += self._anchor(place, keep=form in left)
                left.discard(form)
        return entries

    def lost(self, pieces: Iterable[_Piece]) -> frozenset[str]:
        """Returns what both sides say and none of some claims does."""
        ours, theirs = ({each.form for each in side.pieces} for side in self._sides)
        bodies = {each.form: each.body for each in pieces}  # a conflict is one body
        open_ = ours & theirs - bodies.keys()
        return frozenset(e for e in open_ if not any(e in body for body in bodies.values()))

    def _gap(self, place: int) -> Iterator[_Entry]:
        """Yields what both sides added before a claim of the base."""
        ours, theirs = (
            [at for at in side.added.get(place, ()) if at not in side.gone] for side in self._sides
        )
        yield from map(
            self._opposed,
            _woven(
                [_Entry(self._sides[OURS].pieces[at], (at, None), place) for at in ours],
                [_Entry(self._sides[THEIRS].pieces[at], (None, at), place) for at in theirs],
            ),
        )

    def _anchor(self, place: int, *, keep: bool) -> Iterator[_Entry]:
        """Yields what becomes of a claim of the base; one to keep stays, whoever removed it."""
        base = self._base.pieces[place]
        x, y = (side.at.get(place) for side in self._sides)
        new = [at is None or at in side.zone for side, at in zip(self._sides, (x, y), strict=True)]
        live = [
            None if at is None or at in side.gone else side.pieces[at]
            for side, at in zip(self._sides, (x, y), strict=True)
        ]
        entry = _Entry(base, (x, y), place)
        if new == [False, False]:
            three = [base, *(each or base for each in live)]
            lead = _of_three([each.lead for each in three])
            body = _of_three([each.body for each in three])
            yield entry._replace(piece=base._replace(lead=lead, body=body))
        elif not all(new):
            if changed := live[new.index(True)]:
                lead = _of_three([base.lead, *((each or base).lead for each in live)])
                yield self._opposed(entry._replace(piece=changed._replace(lead=lead)))
            elif keep:
                yield entry
        elif chosen := live[OURS] or live[THEIRS]:
            entry = entry._replace(piece=chosen)
            apart = None not in live and len({each.form for each in live if each}) > 1
            if x not in self.against and (apart or None in (x, y)):
                yield self._conflict(entry, base, *live)
            else:
                yield self._opposed(entry)

    def _opposed(self, entry: _Entry) -> _Entry:
        """Returns an entry, in conflict where a claim of theirs is against it."""
        x = entry.places[OURS]
        if x is None or x not in self.against:
            return entry
        blocks = list(zip(self._sides, self.against[x], strict=True))
        turned = (side.zone[at] for side, (at, *_) in blocks if side.has_turned(at))
        base = next((self._base.pieces[place] for place in turned), None)
        own, other = (_as_one([side.pieces[at] for at in block]) for side, block in blocks)
        last = self.against[x][OURS][-1]
        return self._conflict(entry._replace(places=(last, entry.places[THEIRS])), base, own, other)

    def _conflict(self, entry: _Entry, *three: _Piece | None) -> _Entry:
        """Returns the conflict of two claims as Git marks it; merged where their lines are not."""
        base, ours, theirs = (f"{e.margin}{e.body}\n".encode() if e else b"" for e in three)
        made = by_lines(base, ours, theirs, self._labels)
        body = made.data.decode()
        if not made.conflicts:
            body = body.removesuffix("\n").removeprefix(entry.piece.margin)
        return entry._replace(piece=entry.piece._replace(body=body), marked=made.conflicts > 0)


def _closest(some: Mapping[int, str], others: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Yields the closest texts of others for each of some, by their places."""
    folded = {at: said.casefold() for at, said in others.items()}
    near = partial(process.extract, scorer=fuzz.token_set_ratio, limit=notes.CLOSEST)
    for at, said in some.items():
        for *_, place in near(said.casefold(), folded, score_cutoff=notes.LEAST_ALIKE):
            yield at, place


def _pair(a: str, b: str) -> Pair:
    """Returns two claims as a judge reads them."""
    signals = {"lexical": fuzz.token_set_ratio(a, b) / 100}
    return Pair(Memory(id="a", content=a), Memory(id="b", content=b), signals)


# ------------------------------------------------------------------ one text


def _woven(ours: Iterable[_Entry], theirs: Iterable[_Entry]) -> Iterator[_Entry]:
    """Yields what both added at one place: ours first, each under the headings of its side."""
    sections, at = _sections(ours), 0
    for added in _sections(theirs):
        if added and (head := added[0].piece).is_heading:
            same = [n for n, each in enumerate(sections) if _is_headed(each, head)]
            if not same:
                at += 1
                while sections[at:] and sections[at][0].piece.claim.headings >= head.claim.headings:
                    at += 1
                sections.insert(at, added)
                continue
            at, added = same[0], added[1:]  # noqa: PLW2901
        _add(sections[at], added)
    yield from chain.from_iterable(sections)


def _is_headed(section: Sequence[_Entry], head: _Piece) -> bool:
    """Checks whether a section of ours has a heading of theirs."""
    if not section or section[0].places[OURS] is None:
        return False
    own = section[0].piece
    forms = {each.form.casefold() for each in (own, head)}
    return own.is_heading and own.claim.context == head.claim.context and len(forms) == 1


def _sections(entries: Iterable[_Entry]) -> list[list[_Entry]]:
    """Returns claims by the heading above them; the first are those above any."""
    sections: list[list[_Entry]] = [[]]
    for entry in entries:
        if entry.piece.is_heading:
            sections.append([])
        sections[-1].append(entry)
    return sections


def _add(section: list[_Entry], added: Iterable[_Entry]) -> None:
    """Adds claims to a section: a sentence to its paragraph, others behind those of their list."""
    last = sum(1 for _ in takewhile(lambda each: each.piece.is_glued, section)) - 1
    for entry in added:
        if not entry.piece.is_glued:
            above = entry.piece.claim.context
            like = [at for at, each in enumerate(section) if each.piece.claim.context == above]
            own = any(section[at].places[OURS] is not None for at in like)
            last = like[-1] if own else len(section) - 1
        last += 1
        section.insert(last, entry)


def _joined(entries: Iterable[_Entry], tail: str) -> str:
    """Returns the text of claims, each apart from the one before it as on its own side."""
    text, before = "", None
    for entry in entries:
        lead = _lead(before, entry)
        if entry.marked:
            lead = lead[: lead.rfind("\n") + 1] or "\n" * bool(text)
        text, before = _put(text, before, lead) + entry.piece.body, entry
    return _put(text, before, tail)


def _put(text: str, before: _Entry | None, lead: str) -> str:
    """Returns a text with white space; the marks of a conflict end their line themselves."""
    if before is None or not before.marked:
        return text + lead
    return text + (lead.replace("\n", "", 1) if "\n" in lead else "")


def _lead(before: _Entry | None, entry: _Entry) -> str:
    """Returns the white space before a claim: its own behind what it followed on its side."""
    piece = entry.piece
    if before is None:
        return piece.lead if 0 in entry.places else piece.margin
    steps = zip(before.places, entry.places, strict=True)
    first = 0 in entry.places and "\n" not in piece.lead  # on a side it stands at the very start
    if not first and any(at is not None and at + 1 == own for at, own in steps):
        return piece.lead
    if piece.is_glued and before.zone == entry.zone and not first:
        return piece.lead or " "
    row = piece.claim.kind is ClaimKind.ROW and before.piece.claim.kind is ClaimKind.ROW
    lines = 1 if row or piece.claim.kind in {ClaimKind.ITEM, ClaimKind.REST} else 2
    return piece.lead if piece.lead.count("\n") >= lines else "\n" * lines + piece.margin
