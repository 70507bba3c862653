"""Static files as the site collects them: our own without comments, and otherwise as they were written."""

import re
from pathlib import Path

from django.core.files.base import ContentFile

from bridge.static_files import without_comments
from tests.harness.sites import ROOT, clean_environment


def test_comments_are_left_out_and_texts_stay() -> None:
    script = b'// A header.\nconst a = "//x"; // why\n  // narrow\ncall(`https://example.org`);\n'
    kept = without_comments("ask_bridge/js/a.js", ContentFile(script)).read()
    assert kept == b'const a = "//x"; // why\ncall(`https://example.org`);\n'
    style = b"/* One\n   and two. */\n.a {\n  /* why */\n  margin: 0; /* beside */\n}\n"
    kept = without_comments("ask_bridge/css/a.css", ContentFile(style)).read()
    assert kept == b".a {\n  margin: 0; /* beside */\n}\n"


def test_files_of_others_stay_as_they_are() -> None:
    script = ContentFile(b"// Licence\ncall();\n")
    assert without_comments("django_htmx/htmx.min.js", script) is script


def test_every_script_and_style_is_collected_with_all_its_code(tmp_path: Path) -> None:
    collected = Path(clean_environment(tmp_path)["STATIC_DIR"]) / "ask_bridge"
    sources = sorted((ROOT / "rooms/static/ask_bridge").rglob("*.js"))
    assert len(sources) > 20
    for source in sources:
        [hashed] = [
            file
            for file in (collected / "js").glob(f"{source.stem}.*.js")
            if re.fullmatch(rf"{re.escape(source.stem)}\.[0-9a-f]{{12}}\.js", file.name)
        ]
        code = [line for line in source.read_text().splitlines() if not line.lstrip().startswith("//")]
        assert hashed.read_text().splitlines() == code, source.name
