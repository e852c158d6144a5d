"""The same words in another order: when is it the same statement?

`X because Y` is `Because Y, X`, and a list may be shuffled. `The ledger feeds the report` is not
`The report feeds the ledger`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from echoless.judge.labels import scattered
from echoless.judge.language import Lexicon
from echoless.judge.moves import only_moved
from echoless.judge.order_view import View, view, without
from echoless.judge.roles import crossed
from echoless.judge.scan import LINE, Kind, Token

__all__ = ["BOUNDARIES", "View", "same_order", "view", "without"]

_SPLITS: Final = frozenset(f",;.!?。、・{LINE}")
BOUNDARIES: Final = frozenset(f",;.:!?。、|()[]【】「」–—=-{LINE}")
_COMPOUND: Final = frozenset({"of", "for", "in", "on", "at"})
_FIGURES: Final = frozenset({Kind.NUMBER, Kind.DATE, Kind.VERSION})
_COPULA: Final = frozenset({"is", "are", "was", "were", "ist", "sind", "war"})
_DEFINITE: Final = frozenset(
    {Kind.DATE, Kind.NUMBER, Kind.VERSION, Kind.IDENTIFIER, Kind.PATH, Kind.NAME}
)
_AROUND: Final = frozenset({"the", "a", "an", "on", "in", "at", "der", "die", "das", "am", "im"})


def same_order(a: View, b: View) -> bool:
    """Whether two texts of the same tokens say them in an order of the same meaning."""
    if a.keys == b.keys:
        return True
    if a.facts.ordered or b.facts.ordered or a.facts.language != b.facts.language:
        return False
    if scattered((a.tokens, a.keys), (b.tokens, b.keys)):
        return False
    if _same_pieces(_segments(a), _segments(b)) or only_moved(a, b):
        return True
    if any(True for _ in crossed(a.facts, b.facts)):
        return _changed_voice(a, b) or _changed_voice(b, a)
    cut_a, cut_b, closed = _middle(a, b)
    if _sequenced(a) or _sequenced(b):
        return _changed_voice(a, b) or _changed_voice(b, a)
    clauses = _has_clauses(a) or _has_clauses(b)
    if not clauses and _same_pieces(_segments(cut_a), _segments(cut_b)):
        return True
    if closed and not clauses and _compound(cut_a, cut_b):
        return True
    related = any(t.kind is Kind.RELATION for t in (*a.tokens, *b.tokens))
    if not related and not clauses and _same_phrases(_phrases(a), _phrases(b)):
        return True
    return _changed_voice(a, b) or _changed_voice(b, a)


def _changed_voice(active: View, passive: View) -> bool:
    return _same_voice(active, passive) or _agentless(active, passive)


def _sequenced(text: View) -> bool:
    return any(k[0] == "#" or text.lexicon.has("order", k) for k in text.keys)


def _has_clauses(text: View) -> bool:
    """A clause is led by a word (`if`, `weil`) that must not be cut off with a common beginning."""
    lead = text.lexicon.sets["clauses"]
    return any(token.key in lead or _glued(token, lead) for token in text.tokens)


def _middle(a: View, b: View) -> tuple[View, View, bool]:
    """What stands between the common beginning and the common end.

    The last value says whether nothing behind it can belong to it: in `Anna is Ben's mother` the
    mother does.
    """
    size, start, end = len(a.keys), 0, 0
    while a.keys[start] == b.keys[start]:
        start += 1
    while a.keys[size - 1 - end] == b.keys[size - 1 - end]:
        end += 1
    places = range(start, size - end)
    follow = [text.tokens[size - end] for text in (a, b)] if end else []
    closed = all(not BOUNDARIES.isdisjoint(token.mark) or token.glue for token in follow)
    return a.part(places), b.part(places), closed and not any("'s" in t.glue for t in follow)


def _compound(a: View, b: View) -> bool:
    """`demo for investors` is the `investor demo`; `X is 5` is `5 is X`; `Y (an X)` is `X Y`."""
    for i in range(1, len(a.keys)):
        if a.keys[i:] + a.keys[:i] == b.keys:
            one, other = a.tokens[i], b.tokens[len(a.keys) - i]
            glues = [{*one.glue.split()}, {*other.glue.split()}]
            defined = (one.kind in _DEFINITE) != (other.kind in _DEFINITE)
            if defined and all(g & _COPULA and not g - _COPULA - _AROUND for g in glues):
                return True
            if {one.mark, other.mark} == {"", "("} and not one.glue and not other.glue:
                return True
            plain = not one.mark and not other.mark
            return plain and any(g & _COMPOUND for g in glues) and not all(glues)
    return False


def _same_pieces(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> bool:
    return Counter(one) == Counter(other) and not _bare_figures(one)


def _same_phrases(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> bool:
    """Phrases may change places (`on Tuesday`), but not with phrases of the same make.

    `Ruth lent Sam her car, and Sam lent Ruth his bike` has two bare pieces that belong to what
    stands before them; so have two phrases led by one preposition.
    """
    if not _same_pieces(one, other):
        return False
    leads = {piece[0] for piece in one}
    return all(
        [piece for piece in one if piece[0] == lead]
        == [piece for piece in other if piece[0] == lead]
        for lead in leads
    )


def _bare_figures(pieces: list[tuple[str, ...]]) -> bool:
    """A piece of figures alone belongs to something by its place: `dev and prod: 3000, 443`."""
    figures = ("n:", "q:", "d:", "t:", "y:")
    return any(all(key.startswith(figures) for key in piece if key) for piece in pieces)


def _segments(text: View) -> list[tuple[str, ...]]:
    """Clauses and list items."""
    clauses, conjunctions = (text.lexicon.sets[name] for name in ("clauses", "conjunctions"))
    pieces: list[list[str]] = []
    for token, key in zip(text.tokens, text.keys, strict=True):
        words = {*token.glue.split()}
        joined = not (words.isdisjoint(conjunctions) and words.isdisjoint(clauses))
        if not pieces or _splits(token) or joined or token.key in clauses:
            pieces.append([])
            leads = sorted(words & clauses)
            pieces[-1].extend(f"<{word}" for word in leads)  # what leads a clause stays with it
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
    rest_a, rest_p = without(said, done_a), without(told, done_p)
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


def _agentless(active: View, passive: View) -> bool:
    """`Updates the config` against `The config was updated`: the verbs lead, no one is named.

    `Update the config` is an instruction and says something else.
    """
    gone_a: set[int] = set()
    gone_p: set[int] = set()
    for start, token in enumerate(passive.tokens):
        if not (_glued(token, passive.lexicon.sets["passive"]) and _participle(token)):
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
    return not token.mark and (token.key == "or" or _participle(token))


def _participle(token: Token) -> bool:
    return token.kind is Kind.WORD and token.text.endswith("ed")


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
