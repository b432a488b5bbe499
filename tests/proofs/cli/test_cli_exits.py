"""Exit codes: one table, in the help and the README; and one line for whatever a command cannot go on with."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from command_line import SCRIPT, clean_environment, fencepost, process, read_json
from fencepost.proofs import cli
from fencepost.proofs.cli.shared.exits import CODES, NOTHING_JUDGED, code_of, table

ROOT = Path(__file__).parents[3]
KRAFT = "id-blocks/kraft"


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_every_help_has_the_table(command: str) -> None:
    """Or says where it is."""
    ran = fencepost(*filter(None, [command]), "--help")
    assert ran.code == 0
    if command:
        assert ran.out.endswith("\n  Exit codes: see fencepost --help.\n")
    else:
        assert "\n".join(line for line in table("Exit codes", CODES).splitlines()[2:]) in ran.out.replace("\n  ", "\n")


def test_the_readme_has_the_table() -> None:
    """Row by row, in its words."""
    rows = [f"| {code} | {says} |" for code, says in CODES.items()]
    assert "\n".join(rows) in (ROOT / "README.md").read_text(encoding="utf-8")
    assert list(CODES) == [0, 1, 2, 130]


@pytest.mark.parametrize(
    ("verdicts", "wrong", "code"),
    [
        (["holds", "unknown"], 0, 0),
        (["violated"], 0, 0),
        (["violated", "unknown"], 1, 1),
        (["unknown", "not proved"], 0, 2),
        (["unknown"], 1, 2),
        ([], 0, 2),
    ],
)
def test_verdicts_have_an_exit_code(
    verdicts: list[str], wrong: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where all are unknown, or there is none, nothing was judged, and the error stream has a line that says so."""
    assert code_of(verdicts, wrong) == code
    assert (NOTHING_JUDGED in capsys.readouterr().err) == (code == 2)


ENDED = {
    "sys.exit(0)": (SystemExit(0), "called sys.exit(0) before there was a verdict; take the call out"),
    "memory": (MemoryError(), "; use smaller bounds, fewer histories or fewer cores"),
    "memory of Z3": (RuntimeError("b'out of memory'"), "fencepost: memory ended at "),
    "depth": (RecursionError("maximum recursion depth exceeded"), "something is nested too deeply to be read"),
    "full disk": (OSError(28, "No space left on device", "r.json"), "fencepost: r.json: No space left on device"),
    "end of input": (EOFError("no more"), ": EOFError: no more; this is a mistake in the code there, and no verdict"),
}


@pytest.mark.parametrize("what", ENDED)
def test_what_ends_a_command_is_one_line_and_2(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a command, where click has its own ideas of what ends one."""
    error, reported = ENDED[what]

    @click.command()
    def broken() -> None:
        raise error

    monkeypatch.setattr(cli.Lazy, "get_command", Mock(return_value=broken))
    assert cli.run(["list"]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert reported in line


@pytest.mark.parametrize("full", ["report", "output"])
def test_a_full_device(full: str, tmp_path: Path) -> None:
    """One line that names it, no exception of the interpreter's end after it, and exit code 2."""
    out = open("/dev/full", "w") if full == "output" else subprocess.PIPE  # noqa: SIM115
    words = ["findings", *(["--json", "/dev/full"] if full == "report" else [])]
    ran = subprocess.run(
        [SCRIPT, *words], stdout=out, stderr=subprocess.PIPE, text=True, env=clean_environment(), check=False
    )
    assert ran.returncode == 2
    [line] = ran.stderr.splitlines()
    assert "No space left on device" in line


def test_a_report_is_whole_or_as_it_was(tmp_path: Path) -> None:
    """Where there is no room for it no half of it stays, and what stood there before stays as it was."""
    file = tmp_path / "r.json"
    file.write_text("earlier")

    def short_of_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    ran = subprocess.run(
        [SCRIPT, "findings", "--json", str(file)],
        preexec_fn=short_of_room, capture_output=True, text=True, env=clean_environment(), check=False,
    )  # fmt: skip
    assert ran.returncode == 2, ran.stderr
    assert "r.json: File too large; the report is not written" in ran.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]
    assert file.read_text() == "earlier"
    assert fencepost("findings", "--json", file).code == 0
    assert read_json(file)


def test_a_report_to_a_pipe(tmp_path: Path) -> None:
    """What is no file is written to, and not replaced by one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert cli.run(["findings", "--json", str(pipe)]) == 0
        assert reader.stdout is not None and reader.stdout.read().startswith("[")
    assert pipe.is_fifo()


def test_a_terminal_that_knows_ascii_only() -> None:
    """Other signs stand for those that it has not."""
    ran = process("show", "id-blocks/by-broker-id", "no id twice", PYTHONIOENCODING="ascii")
    assert ran.code == 0, ran.err
    ran = process("agree", KRAFT, "--bootstrap", "nowhere…:1", PYTHONIOENCODING="ascii")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1 and ran.err.isascii()


def test_an_edited_model_that_is_no_python(tmp_path: Path) -> None:
    """Where it is wrong, in a line, in whichever of the four folders it is."""
    for file in ("model/id_blocks/kraft.py", "model/language/checks/errors.py", "properties/registry.py"):
        copy = tmp_path / file.replace("/", "-")
        for folder in ("model", "properties", "proofs", "reference_impl"):
            (copy / "fencepost").mkdir(parents=True, exist_ok=True)
            (copy / "fencepost" / folder).symlink_to(ROOT / folder)
        (copy / "fencepost" / "__init__.py").symlink_to(ROOT / ".package" / "fencepost" / "__init__.py")
        _edit(copy / "fencepost", file)
        command = [sys.executable, "-c", "from fencepost.proofs.cli import main; main()", "prove", KRAFT]
        environment = clean_environment(PYTHONPATH=str(copy))
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=copy, check=False)
        assert ran.returncode == 2, ran.stderr
        [line] = ran.stderr.splitlines()
        assert f"{Path(file).name}:1: SyntaxError: " in line


def _edit(package: Path, file: str) -> None:
    """A mistake in one file of a package that is links: the folders above the file become folders of links."""
    *folders, name = file.split("/")
    place = package
    for folder in folders:
        place = place / folder
        there = place.resolve()
        place.unlink()
        place.mkdir()
        for each in there.iterdir():
            (place / each.name).symlink_to(each)
    (place / name).unlink()
    (place / name).write_text("class Kraft(:\n")


GONE = """
import os

{at_import}

def factory(config):
    from fencepost.reference_impl.systems.id_blocks import reference
    {in_factory}
    system = reference(config)
    system.advance = lambda *_, **__: {in_call}
    return system


def simulator(*_, **__):
    os._exit(0)
"""
PLACES = {
    "import": dict(at_import="os._exit(0)"),
    "factory": dict(in_factory="os._exit(0)"),
    "call": dict(in_call="os._exit(0)"),
    "as if it were violated": dict(in_call="os._exit(1)"),
    "crash": dict(in_call="os.kill(os.getpid(), 11)"),
    "killed": dict(in_call="os.kill(os.getpid(), 9)"),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_ends_the_process_gives_no_verdict(place: str, tmp_path: Path) -> None:
    """`os._exit(0)`, which nothing can catch, and a crash: exit code 2 and one line, from the process that waits."""
    parts = {"at_import": "", "in_factory": "", "in_call": "None", **PLACES[place]}
    (tmp_path / "gone.py").write_text(GONE.format(**parts))
    words = [SCRIPT, "agree", KRAFT, "--implementation", "gone:factory", "--examples", "2"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean_environment())
    assert ran.returncode == 2, ran.stderr
    [line] = ran.stderr.splitlines()
    reported = {"crash": "ended by SIGSEGV before there was", "killed": "was killed before there was"}
    assert reported.get(place, "look for os._exit in what was driven, simulated or imported") in line


@pytest.mark.parametrize("cores", [1, 2])
def test_a_simulator_that_ends_the_process_makes_no_histories(cores: int, tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text(GONE.format(at_import="", in_factory="", in_call="None"))
    words = [SCRIPT, "generate", KRAFT, "made", "--from", "gone:simulator", "--cores", str(cores)]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean_environment())
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr


def test_a_command_ends_with_the_process_that_was_started(tmp_path: Path) -> None:
    """Also where that is killed, and can tell the one that does the work nothing any more."""
    words = [SCRIPT, "agree", KRAFT, "--examples", "1000000"]
    with subprocess.Popen(words, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith(b"read ")
        running.kill()
        assert running.stdout.read() == b""  # which is there when all that could write have ended
