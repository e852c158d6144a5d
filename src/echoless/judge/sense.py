"""Words that deny in themselves, and words of what is only planned."""

from __future__ import annotations

from typing import Final

from echoless.judge.language import fold

_PREFIXES: Final = ("un", "non", "dis", "mis")
_SUFFIXES: Final = ("less", "free", "los", "frei")

NEGATIVE: Final = frozenset(
    (
        *("disabled", "disable", "disables", "blocked", "block", "blocks", "off", "forbidden"),
        *("prohibited", "banned", "ban", "bans", "fail", "fails", "failed", "failing"),
        *("failure", "hate", "hates", "hated", "avoid", "avoids", "avoided", "refuse"),
        *("refuses", "refused", "refusing", "lack", "lacks", "lacking", "missing", "absent"),
        *("empty", "drop", "drops", "dropped", "remove", "removed", "removes", "stop", "stops"),
        *("stopped", "prevent", "prevents", "prevented", "only", "except", "but", "until"),
        *("before", "unless", "rather", "instead", "free", "apart", "alone", "exclusively"),
        *("just", "solely", "barred", "denied", "deny", "denies", "decline", "declines"),
        *("declined", "exclude", "excludes", "excluded", "ignore", "ignores", "ignored"),
        *("skip", "skips", "skipped", "omit", "omits", "omitted", "reject", "rejected"),
        *("rejects", "cannot", "zero", "closed", "broken", "dead"),
        *("gone", "away", "lost", "hides", "dislikes"),
        *("dislike", "allergic", "intolerant", "blind"),
        *("late", "too", "hardly", "rarely", "seldom", "without"),
        *("maximum", "deaktiviert", "gesperrt"),
        *("verboten", "untersagt", "fehlt", "fehlen", "fehlte", "vermeidet", "vermeiden"),
        *("hasst", "nur", "ausschliesslich", "erst", "ausser", "ohne", "statt", "frei"),
        *("lediglich", "allein", "selbst", "ablehnen", "lehnt", "abgelehnt", "verweigert"),
        *("scheitert", "gescheitert", "kaputt", "defekt", "weg", "vergeblich", "kaum"),
        *("selten", "hoechstens", "maximal", "spaetestens", "bevor", "anstatt"),
        *("entfaellt", "abgeschafft", "gestrichen", "leer"),
    )
)

NEGATIVE_JA: Final = (
    *("のみ", "だけ", "限", "避", "断", "停止", "無効", "欠", "除", "以外", "外", "未"),
    *("非", "不", "無", "止", "失敗", "拒", "消", "なし", "だめ", "まで"),
)

_PLANNED: Final = frozenset(
    (
        *("almost", "nearly", "trying", "tries", "tried", "wanted", "being", "beinahe", "wollte"),
        *("plans", "planned", "intend", "intends", "intended", "promised", "considering"),
        *("thinking", "proceed"),
        *("considers", "soon", "upcoming", "tbd", "todo", "might", "maybe", "perhaps"),
        *("geplant", "planen", "vorgesehen", "beabsichtigt", "demnaechst", "vielleicht"),
        *("eventuell", "moeglicherweise", "ueberlegen", "versprochen", "予定", "つもり", "計画"),
        *("見込み", "検討", "かもしれない", "可能性"),
    )
)


def negative(text: str, key: str, language: str) -> bool:
    """Whether a word denies in itself: `disabled`, `refuses`, `only`, `unmöglich`, `wireless`."""
    word = fold(text, language)
    if word in NEGATIVE or key in NEGATIVE:
        return True
    if language == "ja":
        return any(part in text for part in NEGATIVE_JA)
    return len(word) > 5 and (word.startswith(_PREFIXES) or word.endswith(_SUFFIXES))


def unreal(text: str, key: str, language: str) -> bool:
    """Whether a word tells of what is only planned, or no longer so."""
    return key == "!used to" or fold(text, language) in _PLANNED
