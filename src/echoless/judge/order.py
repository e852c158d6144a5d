"""The same words in another order: when is it the same statement, and when is one inside the other.

`X because Y` is `Because Y, X`, and a list may be shuffled. `The ledger feeds the report` is not
`The report feeds the ledger`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from echoless.judge.facts import Facts
from echoless.judge.language import Lexicon
from echoless.judge.scan import LINE, Kind, Token

_SPLITS: Final = frozenset(f",;.!?。、・{LINE}")
_STATEMENT_ENDS: Final = frozenset(f".;!?。{LINE}")
_BOUNDARIES: Final = frozenset(f",;.:!?。、|()[]【】「」–—=-{LINE}")
_HARMLESS: Final = frozenset({"!all", "!always", "!both", "!exactly", "!many", "!half"})
_COMPOUND: Final = frozenset({"of", "for", "in", "on", "at"})
_FIGURES: Final = frozenset({Kind.NUMBER, Kind.DATE, Kind.VERSION})
_COPULA: Final = frozenset({"is", "are", "was", "were", "ist", "sind", "war"})
_DEFINITE: Final = frozenset(
    {Kind.DATE, Kind.NUMBER, Kind.VERSION, Kind.IDENTIFIER, Kind.PATH, Kind.NAME}
)
_AROUND: Final = frozenset({"the", "a", "an", "on", "in", "at", "der", "die", "das", "am", "im"})
_MAX_STARTS: Final = 6


@dataclass(frozen=True, slots=True)
class View:
    """The tokens of a text under the keys that the other text uses for them."""

    facts: Facts
    tokens: tuple[Token, ...]
    keys: tuple[str, ...]

    @property
    def lexicon(self) -> Lexicon:
        """The words of its language."""
        return self.facts.lexicon

    def part(self, places: Sequence[int]) -> View:
        """Some of the tokens."""
        tokens, keys = self.tokens, self.keys
        return View(self.facts, tuple(tokens[i] for i in places), tuple(keys[i] for i in places))


def view(facts: Facts, alike: Mapping[int, str]) -> View:
    """See a text under the keys of the text it is compared with."""
    pairs = [(t, alike.get(id(t), t.key)) for t in facts.tokens]
    kept = [(t, key) for t, key in pairs if key]
    return View(facts, tuple(t for t, _ in kept), tuple(key for _, key in kept))


def same_order(a: View, b: View) -> bool:
    """Whether two texts of the same tokens say them in an order of the same meaning."""
    if a.keys == b.keys:
        return True
    if a.facts.ordered or b.facts.ordered or a.facts.language != b.facts.language:
        return False
    if _same_pieces(_segments(a), _segments(b)):
        return True
    cut_a, cut_b = _middle(a, b)
    if _sequenced(a) or _sequenced(b):
        return _changed_voice(a, b) or _changed_voice(b, a)
    if _same_pieces(_segments(cut_a), _segments(cut_b)) or _compound(cut_a, cut_b):
        return True
    related = any(t.kind is Kind.RELATION for t in (*a.tokens, *b.tokens))
    if not related and _same_pieces(_phrases(a), _phrases(b)):
        return True
    return _changed_voice(a, b) or _changed_voice(b, a)


def _changed_voice(active: View, passive: View) -> bool:
    return _same_voice(active, passive) or _agentless(active, passive)


def _sequenced(text: View) -> bool:
    return any(k[0] == "#" or text.lexicon.has("order", k) for k in text.keys)


def _middle(a: View, b: View) -> tuple[View, View]:
    """What stands between the common beginning and the common end."""
    size, start, end = len(a.keys), 0, 0
    while a.keys[start] == b.keys[start]:
        start += 1
    while a.keys[size - 1 - end] == b.keys[size - 1 - end]:
        end += 1
    places = range(start, size - end)
    return a.part(places), b.part(places)


def _compound(a: View, b: View) -> bool:
    """`demo for investors` is the `investor demo`; `X is 5` is `5 is X`; `Y (an X)` is `X Y`."""
    for i in range(1, len(a.keys)):
        if a.keys[i:] + a.keys[:i] == b.keys:
            one, other = a.tokens[i], b.tokens[len(a.keys) - i]
            glues = [{*one.glue.split()}, {*other.glue.split()}]
            defined = {one.kind, other.kind} & _DEFINITE
            if defined and all(g & _COPULA and not g - _COPULA - _AROUND for g in glues):
                return True
            if {one.mark, other.mark} == {"", "("} and not one.glue and not other.glue:
                return True
            plain = not one.mark and not other.mark
            return plain and any(g & _COMPOUND for g in glues) and not all(glues)
    return False


def _same_pieces(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> bool:
    return Counter(one) == Counter(other) and not _bare_figures(one)


def _bare_figures(pieces: list[tuple[str, ...]]) -> bool:
    """A piece of figures alone belongs to something by its place: `dev and prod: 3000, 443`."""
    figures = ("n:", "q:", "d:", "t:", "y:")
    return any(all(key.startswith(figures) for key in piece if key) for piece in pieces)


def _segments(text: View) -> list[tuple[str, ...]]:
    """Clauses and list items."""
    lex = text.lexicon
    pieces: list[list[str]] = []
    for token, key in zip(text.tokens, text.keys, strict=True):
        words = {*token.glue.split()}
        joined = not words.isdisjoint(lex.sets["conjunctions"] | lex.sets["clauses"])
        if not pieces or _splits(token) or joined or token.key in lex.sets["clauses"]:
            pieces.append([])
        pieces[-1].append(key)
    return [tuple(piece) for piece in pieces]


def _splits(token: Token) -> bool:
    return not _SPLITS.isdisjoint(token.mark)


def _phrases(text: View) -> list[tuple[str, ...]]:
    """Pieces led by a preposition or an article; the preposition stays with its phrase."""
    lex = text.lexicon
    opening = lex.sets["articles"] | lex.sets["conjunctions"]
    pieces: list[list[str]] = []
    for token, key in zip(text.tokens, text.keys, strict=True):
        words = token.glue.split()
        lead = next((w for w in reversed(words) if lex.has("prepositions", w)), "")
        if not pieces or lead or _splits(token) or not opening.isdisjoint(words):
            pieces.append([lead])
        pieces[-1].append(key)
    return [tuple(piece) for piece in pieces]


def _same_voice(active: View, passive: View) -> bool:
    """`X did Y` against `Y was done by X`: the agent leads the active clause."""
    lex = active.lexicon
    start = _agent_at(passive)
    verbs = {
        key for token, key in zip(passive.tokens, passive.keys, strict=True) if _verbal(token, lex)
    }
    if _agent_at(active) is not None or start is None or not verbs:
        return False
    agent = _agent(passive, start)
    at = next(
        (i for i in range(len(active.keys)) if active.keys[i : i + len(agent)] == agent), None
    )
    if at is None or _glued(active.tokens[at], lex.sets["prepositions"]):
        return False
    if at and not active.tokens[at].mark:
        return False
    said = active.part([i for i in range(len(active.keys)) if not at <= i < at + len(agent)])
    told = passive.part(
        [i for i in range(len(passive.keys)) if not start <= i < start + len(agent)]
    )
    done_a, done_p = _verbs(said, verbs), _verbs(told, verbs)
    if [said.keys[i] for i in sorted(done_a)] != [told.keys[i] for i in sorted(done_p)]:
        return False
    rest_a, rest_p = _except(said, done_a), _except(told, done_p)
    return rest_a.keys == rest_p.keys or Counter(_phrases(rest_a)) == Counter(_phrases(rest_p))


def _verbal(token: Token, lex: Lexicon) -> bool:
    return _glued(token, lex.sets["passive"]) or (
        token.kind is Kind.WORD and token.text.endswith("ed")
    )


def _verbs(text: View, verbs: set[str]) -> set[int]:
    """Places of the verbs, with the duty or denial that goes with each."""
    found: set[int] = set()
    for place, key in enumerate(text.keys):
        if key in verbs:
            first = place
            while first and text.tokens[first - 1].kind in {Kind.MODALITY, Kind.NEGATION}:
                first -= 1
            found.update(range(first, place + 1))
    return found


def _except(text: View, gone: set[int]) -> View:
    return text.part([i for i in range(len(text.keys)) if i not in gone])


def _agentless(active: View, passive: View) -> bool:
    """`Updates the config` against `The config was updated`: the verbs lead, no one is named.

    `Update the config` is an instruction and says something else.
    """
    gone_a: set[int] = set()
    gone_p: set[int] = set()
    for start, token in enumerate(passive.tokens):
        if not (_glued(token, passive.lexicon.sets["passive"]) and token.text.endswith("ed")):
            continue
        end = start + 1
        while end < len(passive.tokens) and _goes_on(passive.tokens[end]):
            end += 1
        run = passive.keys[start:end]
        at = next(
            (
                i
                for i in range(len(active.keys))
                if active.keys[i : i + len(run)] == run and _leads(active.tokens[i], active.lexicon)
            ),
            None,
        )
        if at is not None:
            gone_a.update(range(at, at + len(run)))
            gone_p.update(range(start, end))
    rest_a = [key for i, key in enumerate(active.keys) if i not in gone_a]
    rest_p = [key for i, key in enumerate(passive.keys) if i not in gone_p]
    return bool(gone_a) and rest_a == rest_p


def _goes_on(token: Token) -> bool:
    return not token.mark and (token.key == "or" or token.text.endswith("ed"))


def _leads(token: Token, lex: Lexicon) -> bool:
    """A verb without a named subject: `Updates …`, `We update …`."""
    if _glued(token, lex.sets["anyone"]):
        return True
    return bool(token.mark) and not token.glue and token.text.endswith(("s", "ed"))


def _agent(passive: View, start: int) -> tuple[str, ...]:
    end = start + 1
    while end < len(passive.tokens):
        token = passive.tokens[end]
        if token.glue or token.mark or token.kind is Kind.RELATION:
            break
        end += 1
    return passive.keys[start:end]


def _glued(token: Token, words: frozenset[str]) -> bool:
    return not words.isdisjoint(token.glue.split())


def _agent_at(text: View) -> int | None:
    agent = text.lexicon.sets["agent"]
    return next((i for i, t in enumerate(text.tokens) if _glued(t, agent)), None)


# ------------------------------------------------------------------ containment


def contained(small: View, large: View) -> bool:
    """Whether the larger text states all of the smaller one, in its words and order, and adds.

    What is added may stand before it up to a colon or full stop, after it as an adjunct or a
    further clause, or in between as a phrase of its own. It may not turn the meaning: a negation,
    a limit, a condition, a duty or a scope added to the same clause is not "more of the same".
    """
    small, large = _without_day(small, large)
    if not small.keys:
        return False
    starts = [i for i, key in enumerate(large.keys) if key == small.keys[0]][:_MAX_STARTS]
    return any(
        places is not None and _adds_only(small, large, places)
        for places in (_places(small.keys, large.keys, start) for start in starts)
    )


def _without_day(small: View, large: View) -> tuple[View, View]:
    """`On Tuesday it failed` and `It failed on Tuesday`: the only date may stand anywhere."""
    days = [i for i, token in enumerate(small.tokens) if token.kind is Kind.DATE]
    if len(days) != 1 or large.keys.count(small.keys[days[0]]) != 1:
        return small, large
    return _except(small, set(days)), _except(large, {large.keys.index(small.keys[days[0]])})


def _places(keys_small: Sequence[str], keys_large: Sequence[str], start: int) -> list[int] | None:
    places: list[int] = []
    at = start
    for key in keys_small:
        while at < len(keys_large) and keys_large[at] != key:
            at += 1
        if at == len(keys_large):
            return None
        places.append(at)
        at += 1
    return places


def _adds_only(small: View, large: View, places: list[int]) -> bool:
    tokens = large.tokens
    lead, tail = tokens[: places[0]], tokens[places[-1] + 1 :]
    if lead and not _may_lead(lead, tokens[places[0]], large.lexicon):
        return False
    for one, (before, after) in zip(small.tokens[1:], pairwise(places), strict=False):
        inside = tokens[before + 1 : after]
        if large.facts.language == "ja" and (inside or one.glue != tokens[after].glue):
            return False
        if inside and not _may_stand_inside(tokens[before], inside, tokens[after], large.lexicon):
            return False
    return not tail or _may_follow(tail, large.lexicon)


def turns(token: Token, lex: Lexicon) -> bool:
    """Whether an added token can turn the meaning of what it is added to."""
    if token.kind in {Kind.NEGATION, Kind.MODALITY, Kind.SCOPE}:
        return True
    if token.kind is Kind.QUANTIFIER:
        return token.key not in _HARMLESS
    return _listed(token, "qualifiers", lex) or _listed(token, "reversers", lex)


def _listed(token: Token, name: str, lex: Lexicon) -> bool:
    return lex.has(name, token.key) or lex.has(name, token.text.casefold())


def _may_lead(lead: Sequence[Token], first: Token, lex: Lexicon) -> bool:
    if _BOUNDARIES.isdisjoint(first.mark):
        return False
    return not any(turns(token, lex) or _listed(token, "reversers", lex) for token in lead)


def _may_stand_inside(before: Token, inside: Sequence[Token], after: Token, lex: Lexicon) -> bool:
    if any(turns(token, lex) for token in inside):
        return False
    if any(token.kind is not Kind.NAME for token in inside):
        closed = bool(after.mark or after.glue) or after.kind in {Kind.RELATION, Kind.DATE}
        return _opens(inside[0]) and closed
    # A name in apposition: `her sister` / `her sister Lucia`.
    apposition = before.kind is Kind.WORD and before.text[:1].islower()
    return apposition and not inside[0].mark and not inside[0].glue and len(inside) <= 2


def _opens(token: Token) -> bool:
    return bool(token.mark or token.glue) and "'s" not in token.glue


def _may_follow(tail: Sequence[Token], lex: Lexicon) -> bool:
    first = tail[0]
    east = lex.language == "ja"
    if not (first.mark or first.kind is Kind.RELATION or (_opens(first) and not east)):
        return False
    if any(_listed(token, "reversers", lex) for token in tail):
        return False
    return all(_statement_may_follow(part, lex) for part in _statements(tail))


def _statements(tail: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tail:
        if not _STATEMENT_ENDS.isdisjoint(token.mark):
            parts.append([])
        parts[-1].append(token)
    return [part for part in parts if part]


def _statement_may_follow(part: list[Token], lex: Lexicon) -> bool:
    """A statement of its own may deny or limit its own things; a continuation may not.

    Two words of its own are taken as the sign that a clause speaks of something else.
    """
    if not _STATEMENT_ENDS.isdisjoint(part[0].mark):
        return len(part) >= 4 or not any(turns(token, lex) for token in part)
    opened, plain = False, 0
    for place, token in enumerate(part):
        if not _BOUNDARIES.isdisjoint(token.mark):
            opened, plain = True, 0
        if not turns(token, lex):
            plain += 1
            continue
        last = place == len(part) - 1
        hard = _listed(token, "hard_qualifiers", lex)
        if last or hard or not _own_matter(token, plain, opened=opened):
            return False
    return True


def _own_matter(token: Token, plain: int, *, opened: bool) -> bool:
    if token.kind is Kind.MODALITY and token.glue:
        return True
    mild = token.kind in {Kind.QUANTIFIER, Kind.MODALITY}
    return opened and plain >= (1 if mild else 2)
