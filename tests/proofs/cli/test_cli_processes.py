"""The command line in processes of its own: the same report whatever the hash seed and cores, interrupts, terminals."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import ALL_CORES, SCRIPT, bound_to, clean_environment, process, read_json, untimed

ONE = ALL_CORES.partition(",")[0]
ESCAPE = "\x1b["
SMALL = Path(__file__).parents[2] / "support" / "small_catalogue.py"
COMMANDS = {
    "prove": ["prove", "id-blocks/zookeeper"],
    "explore": ["explore", "id-blocks/bridge-from-block-start"],
    "necessity": ["necessity", "id-blocks", "--rule", "730.2"],
    "agree": ["agree", "id-blocks/kraft", "--examples", "30", "--implementation", "BROKEN:double_prefetch"],
}
BROKEN = "fencepost.reference_impl.defects.id_blocks"


def twice(words: list[str], folder: Path) -> tuple[Any, Any]:
    """The JSON of a command run on one core and on all, under two hash seeds; times left out."""
    found = []
    for name, cpus in (("one", ONE), ("all", ALL_CORES)):
        file = folder / f"{name}.json"
        given = [word.replace("BROKEN", BROKEN) for word in words]
        ran = process(*given, "--json", file, cpus=cpus, PYTHONHASHSEED="1" if cpus == ONE else "4242")
        assert ran.code in (0, 1), ran.err
        assert ran.err == ""
        assert ESCAPE not in ran.out
        found.append(untimed(read_json(file)))
    return found[0], found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_report_in_any_process(command: str, tmp_path: Path) -> None:
    """Equal but for the time it took, and nothing but text where there is no terminal."""
    one, other = twice(COMMANDS[command], tmp_path)
    assert one == other


def test_verify_gives_the_same_report_in_any_process(tmp_path: Path) -> None:
    """Every stage of the main job, on the small catalogue."""
    found = []
    for name, cpus, seed in (("one", ONE, "1"), ("all", ALL_CORES, "4242")):
        file = tmp_path / f"{name}.json"
        command = [*bound_to(cpus), sys.executable, str(SMALL), "verify", "--json", str(file)]
        subprocess.run(command, check=True, env=clean_environment(PYTHONHASHSEED=seed), capture_output=True)
        found.append(untimed(read_json(file)))
    assert found[0] == found[1]


def test_the_same_seed_gives_the_same_rows(tmp_path: Path) -> None:
    """Generated histories, and what replay says of them.  (That another seed gives others is in test_generate.)"""
    for name, cpus in (("one", ONE), ("all", ALL_CORES)):
        words = ["generate", "id-blocks/kraft", tmp_path / name, "--histories", 30, "--seed", 3]
        assert process(*words, cpus=cpus, PYTHONHASHSEED="1" if cpus == ONE else "4242").code == 0
        words = ["replay", tmp_path / name, "--json", tmp_path / f"{name}.json"]
        assert process(*words, cpus=cpus).code == 0
    one, other = (pq.read_table(tmp_path / name / "part-00000.parquet") for name in ("one", "all"))
    assert one.equals(other)
    assert untimed(read_json(tmp_path / "one.json")) == untimed(read_json(tmp_path / "all.json"))


LONG = (
    ["prove", "id-blocks"],
    ["explore", "id-blocks/kraft", "--profile", "ci"],
    ["generate", "id-blocks/kraft", "made", "--histories", "100000"],
    ["agree", "id-blocks/kraft", "--examples", "100000"],
)


def test_an_interrupt_ends_it_in_one_line(tmp_path: Path) -> None:
    """Ctrl-C, which reaches every process of the terminal's group: exit code 130, no traceback, soon."""
    running = [
        subprocess.Popen(
            [SCRIPT, *words],
            cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )
        for words in LONG
    ]  # fmt: skip
    try:
        time.sleep(5)
        assert [one.poll() for one in running] == [None] * len(LONG)
        for one in running:
            os.killpg(one.pid, signal.SIGINT)
        for one, words in zip(running, LONG, strict=True):
            _, err = one.communicate(timeout=30)
            assert one.returncode == 130, (words, err)
            assert err.split("\n") == ["", "fencepost: interrupted", ""], words  # the first after the terminal's ^C
    finally:
        for one in running:
            one.kill()


def on_a_terminal(*words: str, both: bool) -> tuple[str, str]:
    """What a command writes to a terminal, and to standard output if that is a pipe (``both``: it is the terminal)."""
    ours, theirs = pty.openpty()
    out = theirs if both else subprocess.PIPE
    environment = clean_environment(TERM="xterm-256color", COLUMNS="100")
    with subprocess.Popen([SCRIPT, *words], stdin=theirs, stdout=out, stderr=theirs, env=environment) as running:
        os.close(theirs)
        observed = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            observed += piece
        piped = running.stdout.read().decode() if running.stdout else ""
    os.close(ours)
    assert running.returncode == 0
    return observed.decode(), piped


def as_seen(text: str) -> list[str]:
    """The lines that a terminal shows in the end, colours left out."""
    lines, row = [""], 0
    for piece in re.split(r"(\r|\n|\x1b\[[0-9;?]*[A-Za-z])", text):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece.endswith("A") and piece.startswith(ESCAPE):
            row -= int(piece[2:-1] or 1)
        elif piece == f"{ESCAPE}2K":
            lines[row] = ""
        elif piece != "\r" and not piece.startswith(ESCAPE):
            lines[row] += piece
    return [line.rstrip() for line in lines]


def test_a_terminal_shows_progress_and_then_only_the_verdicts() -> None:
    """A line turns while it works; what is printed stands above it, whole, and the line is gone in the end."""
    observed, _ = on_a_terminal("necessity", "id-blocks", "--rule", "730.2", both=True)
    assert "necessity of id-blocks" in observed
    seen = as_seen(observed)
    read, *verdicts = [line for line in seen if line]
    assert read.startswith("read model/id_blocks/")
    assert len(verdicts) == 3
    text = r"730\.2 +(zookeeper|bridge) +.* necessary: disjoint blocks fails in \d steps$"
    assert all(re.match(text, line) for line in verdicts)


def test_progress_goes_to_the_terminal_and_verdicts_to_the_pipe() -> None:
    """`fencepost … | tee report`: the pipe gets text, all of it, and the terminal the turning line."""
    observed, piped = on_a_terminal("explore", "id-blocks/by-broker-id", both=False)
    assert "id-blocks/by-broker-id" in observed
    assert [line for line in as_seen(observed) if line] == []
    assert ESCAPE not in piped
    read, first, *_ = piped.splitlines()
    assert read.startswith("read model/id_blocks/")
    assert first.startswith("id-blocks/by-broker-id within brokers 2, ids 4, ")


def test_a_reader_that_has_seen_enough() -> None:
    """`fencepost list … | head -1` ends without a word of complaint."""
    with subprocess.Popen(
        [SCRIPT, "list", "id-blocks/kraft"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"hand_out(b: Broker)\n"
        running.stdout.close()
        assert running.stderr.read() == b""


def test_nothing_is_left_in_the_working_directory(tmp_path: Path) -> None:
    """But what was asked for: no `.hypothesis`, which the library otherwise makes there."""
    for number, words in enumerate(
        (["generate", "transactions/v2", "made", "--histories", "2"], ["agree", "id-blocks/kraft", "--examples", "2"])
    ):
        cache = {"XDG_CACHE_HOME": str(tmp_path / f"cache{number}")}
        place = tmp_path / "here"
        place.mkdir(exist_ok=True)
        ran = subprocess.run(
            [SCRIPT, *words], cwd=place, env=clean_environment(**cache), capture_output=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert [file.name for file in place.iterdir()] == ["made"]
    assert [file.name for file in (tmp_path / "cache0" / "fencepost").iterdir()] == ["hypothesis"]


def seeded(place: Path) -> Path:
    """Modules in the working directory that pandas, NumPy and others import where they find them; what they write."""
    ran = place / "ran"
    for name in ("numexpr", "bottleneck", "numba", "confluent_kafka", "fencepost_lock"):
        (place / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\n")
    return ran


def test_what_lies_in_the_working_directory_is_not_run(tmp_path: Path) -> None:
    """Neither by the script nor by the interpreter, here, in processes of their own, or in Spark's workers; and where a
    module there was named, what is installed comes before it."""
    ran, environment = seeded(tmp_path), clean_environment()
    environment.pop("PYTHONSAFEPATH", None)
    generate, replay = ["generate", "id-blocks/kraft"], ["replay", "made"]
    for command in (
        [SCRIPT, *generate, "made", "--histories", "20", "--cores", "2"],
        [sys.executable, "-m", "fencepost", *generate, "again", "--histories", "2"],
        [SCRIPT, *generate, "by-spark", "--histories", "2", "--master", "local[1]"],
        [SCRIPT, *replay, "--cores", "2"],
        [sys.executable, "-m", "fencepost", *replay],
        [SCRIPT, "agree", "id-blocks/kraft", "--examples", "2"],
        [SCRIPT, "simulate", "kip618-yardstick/any-writer", "--steps", "50"],
        [SCRIPT, "list", "fencepost-lock"],
    ):
        made = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert made.returncode == (2 if "list" in command else 0), (command, made.stderr)
        assert not ran.exists(), (command, ran.read_text())
    (tmp_path / "mine.py").write_text(
        "from fencepost.reference_impl.systems.id_blocks import reference as factory\nimport json\n"
    )
    (tmp_path / "json.py").write_text(f"open({str(ran)!r}, 'a').write('json')\n")
    command = [SCRIPT, "agree", "id-blocks/kraft", "--examples", "2", "--implementation", "mine:factory"]
    made = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "json" not in (ran.read_text() if ran.exists() else "")
