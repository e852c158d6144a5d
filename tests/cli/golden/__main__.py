"""Writes what terminals show today into the files of this folder."""

from tests.cli.golden.story import shown

for look, text in shown().items():
    old = look.path.read_text("utf-8") if look.path.exists() else ""
    look.path.write_text(text, "utf-8")
    print("unchanged" if old == text else "rewritten", look.path.name)
