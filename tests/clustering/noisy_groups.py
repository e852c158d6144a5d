"""Groups of copies: one clean, one carrying junk; and one saying more, however it looks."""

from __future__ import annotations

from typing import Final

from echoless.clustering.noise_score import Junk

EN: Final = "The staging database listens on port 5432."
EN2: Final = "Anna prefers green tea in the morning because coffee keeps her awake."
DE: Final = "Der Staging-Server sichert die Datenbank jede Nacht um zwei Uhr."
DE2: Final = "Die Rechnungen liegen im Ordner Finanzen auf dem Netzlaufwerk."
JA: Final = "ステージング環境のデータベースはポート5432で待ち受けている。"
JA2: Final = "アンナは朝に緑茶を飲むのが好きだ。"

ADDED: Final[tuple[tuple[Junk, str, str], ...]] = (
    (Junk.FRAME, EN, f"[2026-01-05 09:12] {EN}"),
    (Junk.FRAME, EN2, f"{EN2} (2026-01-05T09:12:00Z)"),
    (Junk.FRAME, EN, f"{EN} Note: saved at 14:00."),
    (Junk.FRAME, DE, f"{DE} Erfasst am 05.01.2026 09:12 Uhr."),
    (Junk.FRAME, JA, f"{JA}（2026年1月5日 9時12分）"),
    (Junk.FRAME, EN, f"Note to self: {EN}"),
    (Junk.FRAME, DE2, f"Zur Erinnerung: {DE2}"),
    (Junk.FRAME, JA2, f"メモ：{JA2}"),
    (Junk.FRAME, EN, f"Session 14, turn 3: {EN}"),
    (Junk.FRAME, EN2, f"[3/10] {EN2}"),
    (Junk.FRAME, DE, f"Sitzung 14: {DE}"),
    (Junk.FRAME, JA, f"【セッション14】{JA}"),
    (Junk.FRAME, EN, f"2026-01-05 09:12:00,123 INFO agent.memory: {EN}"),
    (Junk.FRAME, DE2, f"[DEBUG] {DE2}"),
    (Junk.FRAME, EN, f"{EN} #infra #staging"),
    (Junk.FRAME, JA2, f"{JA2} #お茶 #好み"),
    (Junk.FRAME, EN2, f"{EN2} (auto-saved)"),
    (Junk.FRAME, DE, f"{DE} [automatisch gespeichert]"),
    (Junk.FRAME, JA, f"{JA}（自動保存）"),
    (Junk.SIGNATURE, EN, f"{EN} -- sent by agent 7"),
    (Junk.SIGNATURE, EN2, f"{EN2}\n--\nagent-7"),
    (Junk.SIGNATURE, DE, f"{DE} — gesendet von Agent 7"),
    (Junk.SIGNATURE, JA2, f"{JA2}\nエージェント7より"),
    (Junk.FRAME, EN, f"{EN} Please continue from here in the next session."),
    (Junk.FRAME, EN2, f"=== HANDOVER ===\n{EN2}\n=== END ==="),
    (Junk.FRAME, DE2, f"{DE2} Ende der Übergabe."),
    (Junk.FRAME, JA, f"{JA}次のセッションで続き。"),
    (Junk.METADATA, EN, f'{EN} {{"id": 17, "confidence": 0.92, "source": "chat"}}'),
    (Junk.METADATA, EN2, f"---\nid: 17\ntags: [tea]\n---\n{EN2}"),
    (Junk.METADATA, DE, f"{DE} [confidence: 0.92, source: chat]"),
    (Junk.METADATA, JA, f'{JA}\n{{"session_id": "ab12", "ts": 1767604320}}'),
    (Junk.REPETITION, EN, f"{EN} {EN}"),
    (Junk.REPETITION, DE, f"{DE}\n{DE}\n{DE}"),
    (Junk.REPETITION, JA, f"{JA}{JA}"),
)
"""What can be taken off: though the judge may call the longer one a superset, it does not win."""

WORN: Final[tuple[tuple[Junk, str, str], ...]] = (
    (Junk.MOJIBAKE, DE2, DE2.replace("auf", "für").encode().decode("cp1252")),
    (Junk.MOJIBAKE, JA2, JA2.encode().decode("latin-1")),
    (Junk.MOJIBAKE, EN, EN.replace("port", "p\ufffdrt")),
    (Junk.CUT_OFF, EN2, "Anna prefers green tea in the morning because coffee…"),
    (Junk.CUT_OFF, DE, f"{DE} (gekürzt)"),
    (Junk.CUT_OFF, JA, "ステージング環境のデータベースはポート5432で、"),
)
"""What cannot be taken off by pattern; a copy where the judge or a person says so."""

MORE: Final[tuple[tuple[str, str], ...]] = (
    (EN, f"[2026-01-05 09:12] {EN} It needs a client certificate."),
    (EN, f"Session 14: {EN} It needs a client certificate. -- sent by agent 7"),
    (EN2, f"{EN2} She buys it at the market in Hall 4. (auto-saved) #tea #anna"),
    (EN2, f"**{EN2.removesuffix('.')}, and she never adds sugar.**"),
    (
        DE,
        f"Notiz 12: {DE} Die Sicherung liegt vier Wochen in /srv/b. [automatisch erfasst]",
    ),
    (DE2, f"{DE2} {DE2} Der Ordner ist schreibgeschützt."),
    (JA, f"メモ：{JA}接続には証明書が要る。（自動保存）"),
    (JA2, f"{JA2}砂糖は入れない。 #お茶 🚀🚀"),
    (EN, f'{EN} {{"port_of_replica": 5433}}'),
    (EN, f"{EN} (host: db-3)"),
)
"""The second says more than the first, and looks worse."""
