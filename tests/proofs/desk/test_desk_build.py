"""The desk's folder, without its network and its browser: what it takes, what it holds, and what its Python answers."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from desk_edits import EDITS, by_command, edited, unpacked
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.desk import parts
from fencepost.proofs.desk.build import own_files
from fencepost.proofs.desk.parts import PARTS, Part, Unreachable, files_of
from fencepost.proofs.desk.questions import QUESTIONS
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.plain_search import search
from fencepost.properties.catalogue import bounds_of, find

ASKING = """
import sys
BAD = ("numpy", "scipy", "networkx", "msgspec", "pyarrow", "pandas", "flask", "jinja2", "hypothesis", "pygments")
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BAD:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from fencepost.proofs.desk.inside import answer, ready
ready()
for line in sys.stdin:
    print(answer(line, lambda _: None), flush=True)
"""
"""The page's Python is this one without what Pyodide lacks."""


@pytest.fixture(scope="module")
def own() -> dict[str, bytes]:
    return own_files()


@pytest.fixture(scope="module")
def package(own: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(own["python.zip"], tmp_path_factory.mktemp("package"))


def answers(package: Path, *wanted: dict[str, object]) -> list[dict[str, object]]:
    lines = "".join(json.dumps(one) + "\n" for one in wanted)
    env = {"PYTHONPATH": str(package), "HOME": str(package)}
    command = [sys.executable, "-c", ASKING]
    done = subprocess.run(command, input=lines, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_page_has_what_it_names(own: dict[str, bytes]) -> None:
    page = own["index.html"].decode()
    imports = re.search(r'<script type="importmap">(.*?)</script>', page)
    assert imports is not None
    hashed = base64.b64encode(hashlib.sha256(imports[1].encode()).digest()).decode()
    assert f"'sha256-{hashed}'" in page
    places = {place for part in PARTS for place in (part.files.values() if part.files else [part.place])}
    for name in re.findall(r'(?:src|href)="([^":]+\.(?:js|css))"', page):
        assert name in own
    assert {place.removeprefix("./") for place in json.loads(imports[1])["imports"].values()} <= places
    used = set(re.findall(r'from "([^"./][^"]*)"', own["editor.js"].decode()))
    assert used and used <= json.loads(imports[1])["imports"].keys()


def test_each_question_is_of_a_line_that_is_there(own: dict[str, bytes]) -> None:
    listed = json.loads(own["catalogue.json"])
    files = {f"{p['name']}/{v['name']}": v["files"] for p in listed["protocols"] for v in p["variants"]}
    for one in QUESTIONS:
        assert one.file in files[one.name]
        lines = [line.strip() for line in own[f"rules/{one.file}.txt"].decode().splitlines()]
        lines = lines[lines.index(one.after) if one.after else 0 :]
        assert one.line in lines and one.rule in "".join(own[f"rules/{one.file}.txt"].decode())


def test_a_part_is_what_its_hash_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    hashed = base64.b64encode(hashlib.sha256(b"right").digest()).decode()
    part = Part("https://registry.invalid/a.whl", f"sha256-{hashed}", place="a.whl")
    with pytest.raises(InputError, match="is not what it was"):
        files_of(part, lambda _: b"wrong")
    assert files_of(part, lambda _: b"right") == {"a.whl": b"right"}
    assert files_of(part, lambda _: b"never asked") == {"a.whl": b"right"}, "it is in the cache"


def test_a_registry_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(parts, "SECONDS", 5)
    with pytest.raises(Unreachable, match=r"^https://127\.0\.0\.1:9/a\.whl cannot be had: .*npm and PyPI[^\n]*$"):
        files_of(Part("https://127.0.0.1:9/a.whl", "sha256-x", place="a.whl"))


@pytest.mark.parametrize(("name", "prop"), [("id-blocks/kraft-answer-first", "disjoint_blocks"),
                                            ("kip618-yardstick/any-writer", "counts_match")])  # fmt: skip
def test_the_plain_search_finds_what_the_explorer_finds(name: str, prop: str) -> None:
    _, variant = find(name)
    assert variant is not None
    asked, bounds = {prop: variant.asked[prop]}, bounds_of(variant, "smoke")
    mine, theirs = search(variant.spec, asked, bounds), explore(variant.spec, asked, bounds, stop_when_violated=True)
    assert mine.violated == theirs.violated == [prop]
    assert len(mine.traces[prop]) == theirs.traces.steps(prop)
    few = search(variant.spec, asked, bounds, most=5)
    assert not few.complete and not few.violated and few.distinct >= 5


def test_without_numpy_an_edit_has_the_verdicts_of_the_command(package: Path) -> None:
    edit = EDITS[3]
    unedited = {"do": "prove", "name": edit[0], "edits": {}}
    found, back = answers(package, unedited | {"edits": {edit[1]: edited(package, edit)}}, unedited)
    assert "error" not in found, found
    assert found["verdicts"] == by_command(package, edit)
    assert found["broken"] and found["stories"] and found["attempts"]
    assert set(back["verdicts"].values()) == {"holds"}, "the next question is of the rules as they were"  # type: ignore[attr-defined]


def test_a_mistake_is_one_line_with_its_place(package: Path) -> None:
    name, path, _, _ = EDITS[3]
    text, mark = (package / "fencepost" / path).read_text(encoding="utf-8"), "    def send(s, a: Send):\n"
    line = 1 + text.splitlines(keepends=True).index(mark)
    texts = [
        text.replace(mark, mark.replace("Send)", "Send")),
        text.replace(mark, mark + "        require(s.nothing)\n"),
    ]
    found = answers(package, *({"do": "prove", "name": name, "edits": {path: one}} for one in texts))
    for one in found:
        words = str(one["error"])
        assert "\n" not in words and (place := re.search(r"sequences\.py:(\d+)", words)), words
        assert line <= int(place[1]) <= line + 1, words


def test_a_run_is_shown_with_what_was_searched(package: Path) -> None:
    wanted = {"do": "show", "name": "kip618-yardstick/any-writer", "edits": {}, "property": "counts_match"}
    [found] = answers(package, wanted)
    says, stories = str(found.get("says", found)), found["stories"]
    assert re.fullmatch(r"counts match: broken after 6 steps, and not in fewer; [\d,]+ states searched .*", says), says
    assert isinstance(stories, list) and len(stories[0]["steps"]) == 6
