"""What the README shows is so: its commands run, with the exit code it states, and `verify` prints what it shows."""

import re
import shlex
from pathlib import Path

import pytest
import verified
from command_line import Ran, fencepost, serving
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.tables import saved_counts
from own_protocols import taken_back
from readme_lines import BLOCKS, COMMANDS, ELSEWHERE, README, ROOT, SHELL, TO_RUN, words_of

CONSOLE = [text for kind, text in BLOCKS if kind == "console"]
EXCERPT = next(text for kind, text in BLOCKS if kind == "text" and "proved" in text)
HERE = {command: line for command, line in TO_RUN.items() if command not in ELSEWHERE}
EXPLORATIONS = 160
"""The work of `verify`, at most, in explorations of id-blocks/kraft: 127 were measured alone (571 s of processor time,
130 of them of two-phase commit), and beside other tests both grow, unevenly."""


@pytest.mark.parametrize("line", HERE.values(), ids=HERE)
def test_command(line: str, readme_folder: Path, mock_bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, prints something, and ends with the exit code that the README states."""
    words, code = words_of(line, readme_folder, mock_bootstrap)
    if any(word.startswith("lease") for word in words):
        monkeypatch.chdir(readme_folder)
        if words[0] != "new" and not Path("lease").exists():  # if this test runs by itself
            assert fencepost("new", "lease").code == 0
    if words[0] == "replay" and not (made := Path(words[1])).exists():  # if this test runs by itself
        assert fencepost("generate", "id-blocks/kraft", made, "--histories", 20).code == 0
    if words[0] == "explorer":
        with serving(*words[1:]) as (_, url):
            assert url.startswith("http://127.0.0.1:")
        return
    if words[0] == "validate" and not Path(words[2]).exists():
        assert fencepost("show", words[1], "nothing committed unasked", "--itf", words[2]).code == 0
    with taken_back():
        ran = fencepost(*words)
    assert ran.code == code, ran.err
    assert ran.out


def test_what_is_run_elsewhere() -> None:
    """Each is a command of the README, and of a test that there is."""
    for command, place in ELSEWHERE.items():
        assert command in TO_RUN
        assert f'"{command.split()[1]}", ' in (ROOT / place).read_text(encoding="utf-8")


def test_every_command_is_in_it() -> None:
    """A newcomer meets each of them once."""
    from fencepost.proofs.cli import COMMANDS as known

    assert {words.split()[1] for words in COMMANDS} == set(known)


def test_two_commands_install_everything() -> None:
    """One for users, one for tests, each there once, from a checkout and with pinned versions."""
    installing = [line for line in README.splitlines() if "pip install" in line and "venv" in line]
    assert len(installing) == len(set(installing)) == 2
    assert all(line in SHELL and "-c .ci/constraints.txt" in line for line in installing)
    user, developer = installing
    assert user.endswith("-e . && .venv/bin/fencepost verify"), "an edit of the checkout has to count"
    assert developer.endswith("-e '.[test]' && .venv/bin/python -m pytest")


def test_it_is_short() -> None:
    """Two screens that can be read in any editor, and few words to learn."""
    lines = README.splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120] == []
    glossary = README[README.index("| word | meaning |") :].partition("\n\n")[0]
    assert len(glossary.splitlines()) <= 42


def test_links_lead_somewhere() -> None:
    """Each to a file of the repository."""
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_rules_are_counted() -> None:
    """How many there are, and how many have a verdict, as `fencepost list --verbose` counts them."""
    decided = sum(len(with_verdict) for with_verdict, _ in saved_counts().values())
    assert f"{len(RULES)} rules of six sources" in README
    assert f"{decided} of them have a verdict" in README


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.splitlines()[0])
def test_what_a_command_prints(block: str) -> None:
    """Every line that is shown is printed, in this order."""
    command, *observed = block.splitlines()
    ran = fencepost(*shlex.split(command)[2:])
    printed = iter(untimed(line) for line in ran.out.splitlines())
    missing = [line for line in observed if line.strip() not in ("", "…") and not any(fits(line, p) for p in printed)]
    assert missing == []


def fits(text: str, printed: str) -> bool:
    """Is this the line, but for what an ellipsis stands for?"""
    parts = [re.escape(part.strip()) for part in untimed(text).split("…")]
    return re.fullmatch(".*".join(parts), printed) is not None


def untimed(line: str) -> str:
    """A line of output without durations, and with single spaces."""
    return " ".join(re.sub(r"\b\d+(\.\d+)? (ms|s)\b", "N", line).split())


def excerpt_of(ran: Ran) -> None:
    """What the README shows of `verify` is printed."""
    printed = [untimed(line) for line in ran.out.splitlines()]
    observed = [line for line in EXCERPT.splitlines() if line.strip() not in ("", "…")]
    assert [line for line in observed if not any(fits(line, each) for each in printed)] == []


@pytest.mark.timeout(1200)
def test_verify_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The main job as a newcomer runs it, on the README's protocol, on each whose files are not those that it was
    recorded with, and on a sample of the others that is another one for each commit: exit code 0, everything as
    expected, an excerpt that is real."""
    changed = ["id-blocks", *verified.stale()]
    others = [entry.name for entry in verified.verified() if entry.name not in changed]
    chosen = dict.fromkeys([*changed, *verified.sample(verified.commit(), others)])
    _, ran, results = verified.verify(list(chosen), tmp_path)
    excerpt_of(ran)
    assert_something_waits(results)
    if not verified.stale():
        assert len(results) == sum(verified.rows()[name]["verdicts"] for name in chosen)


@pytest.mark.nightly(nights=14)
@pytest.mark.timeout(2400)
def test_verify_of_all_protocols(tmp_path: Path) -> None:
    """By every engine, with no more work than promised."""
    took, ran, results = verified.verify([], tmp_path)
    excerpt_of(ran)
    assert took < EXPLORATIONS * verified.spent("explore", "id-blocks/kraft")[0]
    assert {r["engine"] for r in results} == {"induction", "explore", "progress", "agreement", "replay"}
    assert_something_waits(results)


def assert_something_waits(results: list[verified.Row]) -> None:
    """Where progress holds, some state is without it: else nothing was there to hold."""
    progressing = [r for r in results if r["engine"] == "progress" and r["verdict"] == "holds"]
    assert progressing and [r["property"] for r in progressing if not r["evidence"]["waiting"]] == []


def test_what_is_recorded_of_verify_is_complete() -> None:
    """Each protocol has a row, the turn of each shorter one comes, and no sample is longer than it has to be."""
    recorded = verified.rows()
    assert set(recorded) == {entry.name for entry in verified.verified()}
    assert all(len(row["depends"]) == 64 and row["verdicts"] and row["seconds"] for row in recorded.values())
    names = sorted(recorded)
    drawn = [verified.sample(str(number), names) for number in range(60)]
    short = {name for name in names if recorded[name]["seconds"] <= verified.LONGEST}
    assert {name for each in drawn for name in each} == short, "each shorter protocol's turn comes"
    assert len(short) >= len(names) * 3 / 4
    for each in drawn:
        seconds = [recorded[name]["seconds"] for name in each]
        assert sum(seconds[:-1]) < verified.SAMPLE_SECONDS <= sum(seconds)


def test_a_change_of_a_file_makes_the_record_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a change of the engines does, whose files are in the hash of each protocol."""
    monkeypatch.setattr(verified, "hash_of", lambda *of: "0" * 64)
    assert verified.stale() == [entry.name for entry in verified.verified()]
