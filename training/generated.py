"""Makes pairs by changing one thing, or nothing, in texts that are there.

What is changed is drawn; what it does to the meaning follows from the change alone, so no label is
ever guessed. Changes that only sometimes alter the meaning are not made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

from training.arranged import Pair, arranged
from training.examples import Example, Target
from training.planned import planned_or_done, work

Change = Callable[[str, random.Random, Sequence[str]], str | None]
"""Returns the changed text, or None where it finds nothing to change."""

NUMBER: Final = re.compile(r"(?<![\w.,/-])\d{1,6}(?:[.,]\d{1,3})?(?![\w/])")
IDENTIFIER: Final = re.compile(r"\b(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w][\w.-]{2,}\b")
VERSION: Final = re.compile(r"\bv?\d+\.\d+(?:\.\d+)?\b")
CODE: Final = re.compile(r"`([^`\s]{3,40})`")
PATH: Final = re.compile(r"(?<![\w:/])[\w.-]*(?:/[\w.-]+)+")
NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")

ORDERED: Final = (
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    ("月曜", "火曜", "水曜", "木曜", "金曜", "土曜", "日曜"),
    ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
    ("January", "February", "March", "April", "June", "July", "August", "September", "October",
     "November", "December"),
    ("Januar", "Februar", "März", "April", "Juni", "Juli", "August", "September", "Oktober",
     "November", "Dezember"),
    ("enero", "febrero", "marzo", "abril", "junio", "julio", "septiembre", "octubre", "noviembre"),
    ("janvier", "février", "mars", "avril", "juin", "juillet", "septembre", "octobre", "novembre"),
    ("first", "second", "third", "fourth", "fifth"),
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty"),
    ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "zwölf"),
    ("dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "diez"),
    ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "dix"),
    ("hours", "minutes", "seconds", "days", "weeks", "months"),
    ("Stunden", "Minuten", "Sekunden", "Tage", "Wochen", "Monate"),
    ("horas", "minutos", "segundos", "días", "semanas", "meses"),
    ("heures", "minutes", "secondes", "jours", "semaines", "mois"),
)  # fmt: skip

OPPOSITES: Final = (
    ("enabled", "disabled"), ("enable", "disable"), ("enables", "disables"), ("before", "after"),
    ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"),
    ("minimum", "maximum"), ("add", "remove"), ("adds", "removes"), ("added", "removed"),
    ("always", "never"), ("open", "closed"), ("opened", "closed"), ("true", "false"),
    ("allowed", "forbidden"), ("allow", "deny"), ("with", "without"), ("above", "below"),
    ("more", "less"), ("older", "newer"), ("oldest", "newest"), ("upper", "lower"),
    ("early", "late"), ("earlier", "later"), ("passes", "fails"), ("passed", "failed"),
    ("passing", "failing"), ("required", "optional"), ("public", "private"), ("short", "long"),
    ("shorter", "longer"), ("start", "end"), ("starts", "ends"),
    ("synchronous", "asynchronous"), ("internal", "external"), ("all", "none"),
    ("success", "failure"), ("online", "offline"), ("buy", "sell"), ("likes", "dislikes"),
    ("accepted", "rejected"), ("accepts", "rejects"), ("include", "exclude"), ("hot", "cold"),
    ("includes", "excludes"), ("locked", "unlocked"), ("read", "write"), ("done", "pending"),
    ("planned", "finished"), ("complete", "incomplete"), ("resolved", "unresolved"),
    ("upgrade", "downgrade"), ("upgraded", "downgraded"), ("encrypted", "unencrypted"),
    ("vor", "nach"), ("mit", "ohne"), ("immer", "nie"), ("aktiviert", "deaktiviert"),
    ("erlaubt", "verboten"), ("mehr", "weniger"), ("offen", "erledigt"),
    ("mindestens", "höchstens"),
    ("con", "sin"), ("antes", "después"), ("siempre", "nunca"), ("más", "menos"),
    ("avec", "sans"), ("avant", "après"), ("toujours", "jamais"), ("plus", "moins"),
    ("有効", "無効"), ("許可", "禁止"), ("最大", "最小"), ("追加", "削除"), ("成功", "失敗"),
    ("完了", "未完了"), ("以前", "以後"), ("以上", "以下"), ("开启", "关闭"), ("允许", "禁止"),
    ("之前", "之后"), ("增加", "减少"), ("必须", "不必"), ("完成", "未完成"), ("启用", "停用"),
    # work that is done and work that is planned
    ("hinzugefügt", "hinzufügen"), ("implementiert", "implementieren"), ("behoben", "beheben"),
    ("erstellt", "erstellen"), ("entfernt", "entfernen"), ("eingerichtet", "einrichten"),
    ("aktualisiert", "aktualisieren"), ("getestet", "testen"), ("umgesetzt", "umsetzen"),
    ("añadido", "añadir"), ("Agregado", "Agregar"), ("implementado", "implementar"),
    ("corregido", "corregir"), ("creado", "crear"), ("eliminado", "eliminar"),
    ("ajouté", "ajouter"), ("Ajouté", "Ajouter"), ("implémenté", "implémenter"),
    ("corrigé", "corriger"), ("créé", "créer"), ("supprimé", "supprimer"),
    ("Добавлен", "Добавить"), ("Исправлен", "Исправить"), ("Реализован", "Реализовать"),
    ("を追加した", "を追加する"), ("を修正した", "を修正する"), ("を実装した", "を実装する"),
    ("追加済み", "追加予定"), ("実装済み", "未実装"), ("対応済み", "未対応"),
    ("已添加", "待添加"), ("已实现", "需要实现"), ("已修复", "待修复"), ("已完成", "待完成"),
    ("已部署", "计划部署"), ("已支持", "尚不支持"),
)  # fmt: skip

NEGATIONS: Final = (
    (r"\b(is|are|was|were|does|do|did|must|should|can|will|has|have) (?!not\b|n't)", r"\1 not "),
    (r"\b(is|are|was|were|does|do|did|must|should|will) not\b", r"\1"),
    (r"\bDo not\b", "Always"),
    (r"\bNever\b", "Always"),
    (r"\bAlways\b", "Never"),
    (r"\bist (?!nicht\b|kein)", "ist nicht "),
    (r"\bnicht ", ""),
    (r"\bno (?=[a-z])", ""),
    (r"\bne (\w+) pas\b", r"\1"),
    (r"ている(?=[。、]|$)", "ていない"),
    (r"する(?=。|$)", "しない"),
    (r"できる", "できない"),
    (r"不(?=[要能会可])", ""),
)


def number(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text with another number in one place."""
    matches = list(NUMBER.finditer(text))
    if not matches:
        return None
    at = draw.choice(matches)
    digits = list(at.group())
    place = draw.choice([i for i, c in enumerate(digits) if c.isdigit()])
    old = digits[place]
    least = "1" if place == 0 and len(digits) > 1 else "0"
    digits[place] = draw.choice([d for d in "0123456789" if d != old and d >= least])
    return text[: at.start()] + "".join(digits) + text[at.end() :]


def part(pattern: re.Pattern[str]) -> Change:
    """Returns a change of one letter or digit inside what the pattern finds."""

    def change(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
        matches = list(pattern.finditer(text))
        if not matches:
            return None
        at = draw.choice(matches)
        inside = list(at.group())
        places = [i for i, c in enumerate(inside) if c.isascii() and c.isalnum()]
        if not places:
            return None
        place = draw.choice(places)
        pool = "0123456789" if inside[place].isdigit() else "abcdefghiklmnoprstuvw"
        inside[place] = draw.choice([c for c in pool if c != inside[place].lower()])
        return text[: at.start()] + "".join(inside) + text[at.end() :]

    return change


def step(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text with another weekday, month, unit or number word."""
    choices = [
        (word, row) for row in ORDERED for word in row if re.search(rf"(?<!\w){word}(?!\w)", text)
    ]
    choices += [(word, row) for row in ORDERED[4:6] for word in row if word in text]
    if not choices:
        return None
    word, row = draw.choice(choices)
    return text.replace(word, draw.choice([other for other in row if other != word]), 1)


def opposite(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text with a word exchanged for its opposite."""
    choices = []
    for one, other in OPPOSITES:
        for here, opposed in ((one, other), (other, one)):
            edge = r"\b" if here.isascii() else ""
            if re.search(rf"{edge}{here}{edge}", text):
                choices.append((rf"{edge}{here}{edge}", opposed))
    if not choices:
        return None
    pattern, opposed = draw.choice(choices)
    return re.sub(pattern, opposed, text, count=1)


def denial(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text denied, or its denial taken away."""
    choices = [(pattern, put) for pattern, put in NEGATIONS if re.search(pattern, text)]
    if not choices:
        return None
    pattern, put = draw.choice(choices)
    return re.sub(pattern, put, text, count=1)


def other_name(text: str, draw: random.Random, names: Sequence[str]) -> str | None:
    """Returns the text with one name exchanged for another."""
    matches = NAME.findall(text)
    if not matches or not names:
        return None
    name = draw.choice(matches)
    new = draw.choice(names)
    return None if new == name else re.sub(rf"\b{name}\b", new, text)


def exchanged(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text with two names, numbers or pieces of code in each other's place."""
    for pattern in draw.sample((NAME, CODE, NUMBER, PATH), 4):
        matches = list(pattern.finditer(text))
        if len(matches) >= 2:
            one, other = sorted(draw.sample(matches, 2), key=lambda m: m.start())
            apart = text[one.end() : other.start()]
            listed = re.fullmatch(r"\W*|,? (and|or|und|oder|y|o|et|ou|&|/) ?", apart)
            if one.group() == other.group() or listed:
                continue
            middle = text[one.end() : other.start()]
            end = text[other.end() :]
            return text[: one.start()] + other.group() + middle + one.group() + end
    return None


CONFLICTS: Final[tuple[tuple[Change, float], ...]] = (
    (number, 3.0),
    (part(VERSION), 1.0),
    (part(IDENTIFIER), 1.0),
    (part(CODE), 1.0),
    (part(PATH), 1.0),
    (step, 2.0),
    (opposite, 3.0),
    (denial, 2.5),
    (other_name, 2.0),
    (exchanged, 1.5),
)

UNSURE: Final = frozenset({other_name})
"""Changes after which both texts may be true: whether they conflict is not known."""

SAME: Final = (
    (r"\bdo not\b", "don't"), (r"\bdoes not\b", "doesn't"), (r"\bis not\b", "isn't"),
    (r"\bcannot\b", "can't"), (r"\bwill not\b", "won't"), (r"\band\b", "&"),
    (r"\bminutes\b", "min"), (r"\bhours\b", "h"), (r"\bseconds\b", "s"), (r"\bpercent\b", "%"),
    (r"\bfor example\b", "e.g."), (r"\bMinuten\b", "Min."), (r"\bStunden\b", "Std."),
    (r"\bund\b", "&"), (r"\bdatabase\b", "DB"), (r"\brepository\b", "repo"),
    (r"\bconfiguration\b", "config"), (r"\bdocumentation\b", "docs"), (r"\bapplication\b", "app"),
    (r"\bKubernetes\b", "k8s"), (r"\bpull request\b", "PR"), (r"\benvironment\b", "env"),
    (r"\bapproximately\b", "about"), (r"\bversion (?=\d)", "v"), (r"\bdependencies\b", "deps"),
    (r"\bauthentication\b", "auth"), (r"\bparameters\b", "params"), (r"(?<=\d),(?=\d{3}\b)", ""),
    (r"\bdevelopment\b", "dev"), (r"\bproduction\b", "prod"), (r"—", "-"), (r"→", "->"),
    (r"\bThe user\b", "User"), (r"\buser's\b", "users"), (r"`", ""), (r"\*\*", ""),
    (r"[.。]$", ""), (r"\b(?:the|The|an) ", ""), (r"; ", ". "), (r": ", " - "),
)  # fmt: skip


def unchanged(text: str, draw: random.Random, _: Sequence[str]) -> str | None:
    """Returns the text written otherwise: short forms, no articles, a slip of the pen."""
    choices = [(pattern, put) for pattern, put in SAME if re.search(pattern, text)]
    some = draw.sample(choices, min(len(choices), draw.randint(1, 3)))
    new = text
    if draw.random() < 0.25 and "`" not in text:
        new = slip(new, draw)
    for pattern, put in some:
        new = re.sub(pattern, put, new)
    return None if new == text else new


def slip(text: str, draw: random.Random) -> str:
    """Returns the text with two letters of a long plain word exchanged."""
    words = list(re.finditer(r"(?<=\s)[a-zäöüéèñ]{7,}(?=[\s,.])", text))
    if not words:
        return text
    at = draw.choice(words)
    place = draw.randint(1, len(at.group()) - 3)
    word = at.group()
    word = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return text[: at.start()] + word + text[at.end() :]


ARRANGED: Final = 0.08
"""Share of pairs whose meaning hangs on what stands where."""
WORK: Final = 0.07
"""Share of pairs of planned and done work."""

JOINTS: Final = (" ", " ", "; ", "\n- ", " Also: ", "\n")


def joined(draw: random.Random, *texts: str) -> str:
    """Returns several texts as one."""
    joint = draw.choice(JOINTS)
    return joint.join(texts)


def combined(draw: random.Random, text: str, other: str, third: str) -> Pair:
    """Returns two texts as one, with the first of them, or with it and a third."""
    both = [text, other]
    draw.shuffle(both)
    if draw.random() < 0.6:
        return joined(draw, *both), unchanged(text, draw, ()) or text, 1, 0, 0
    return joined(draw, *both), joined(draw, text, third), 0, 0, 0


def changed(text: str, draw: random.Random, names: Sequence[str]) -> Pair | None:
    """Returns the text and what one change of its meaning makes of it, now and then reworded."""
    changes, shares = zip(*CONFLICTS, strict=True)
    change = draw.choices(changes, shares)[0]
    new = change(text, draw, names)
    if new is None or new == text:
        return None
    if draw.random() < 0.3 and (loose := unchanged(new, draw, ())):
        new = loose
    return text, new, 0, 0, None if change in UNSURE else 1


def generated(groups: Sequence[tuple[str, Sequence[str]]], count: int, seed: int) -> list[Example]:
    """Returns pairs made of the texts.

    Args:
        groups: Of each language, texts on different facts, a few words to some sentences each.
        count: Pairs in all.
        seed: Same seed, same pairs.
    """
    draw = random.Random(seed)
    names = {
        language: sorted({name for text in texts for name in NAME.findall(text)})
        for language, texts in groups
    }
    languages = [language for language, _ in groups]
    weights = [len(texts) for _, texts in groups]
    by_language = dict(groups)
    tasks = [task for _, texts in groups for task in work(texts)]
    out: list[Example] = []

    def add(a: str, b: str, ab: Target, ba: Target, conflict: Target) -> None:
        out.append(Example(a, b, ab, ba, conflict, "generated", f"generated:{len(out)}"))

    while len(out) < count:
        language = draw.choices(languages, weights)[0]
        texts = by_language[language]
        text, kind = draw.choice(texts), draw.random()
        if kind < ARRANGED:
            add(*arranged(draw))
        elif kind < ARRANGED + WORK and tasks:
            add(*planned_or_done(draw.choice(tasks), draw))
        elif kind < 0.52:
            if pair := changed(text, draw, names[language]):
                add(*pair)
        elif kind < 0.73:
            if new := unchanged(text, draw, ()):
                add(text, new, 1, 1, 0)
        elif kind < 0.8:
            add(text, draw.choice(texts), 0, 0, 0)
        else:
            add(*combined(draw, text, draw.choice(texts), draw.choice(texts)))
    return out
