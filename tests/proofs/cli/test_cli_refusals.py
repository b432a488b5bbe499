"""Bad input or environment is told in one clear line on the error stream, before any long work, with exit code 2."""

import sys
from pathlib import Path
from pkgutil import resolve_name
from unittest.mock import Mock

import pytest
from command_line import fencepost, process
from fencepost.proofs import cli
from fencepost.proofs.cli.shared.exits import IN_THE_CODE
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.explore.compiled_search.loaded import NotInstalled
from fencepost.properties.catalogue import bounds_of, find, protocols
from fencepost.properties.history import write_histories
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from fuzzing import Beds, hold
from nights import night
from transaction_logs import REAL

KRAFT = "id-blocks/kraft"
NODES = sorted(REAL.glob("node-*"))
NO_SUCH_PROTOCOL = f"there is no protocol 'nope'; fencepost list names all {len(protocols())}"
REFUSALS = [
    (["explore", "nope"], NO_SUCH_PROTOCOL),
    (["verify", "nope"], "there is no protocol 'nope'"),
    (
        ["explore", "idblocks/kraft"],
        "there is no protocol 'idblocks'; did you mean id-blocks? ",
    ),
    (["explore", "id-blocks/nope"], "id-blocks has no variant 'nope'; fencepost list id-blocks names all "),
    (["explore", "id-blocks/kraf"], "id-blocks has no variant 'kraf'; did you mean kraft, kraft-"),
    (["verify", KRAFT], "name id-blocks, not id-blocks/kraft"),
    (["necessity", KRAFT], "name id-blocks, not id-blocks/kraft"),
    (["show", KRAFT, "nope"], "kraft is not asked for a property 'nope'; fencepost list id-blocks/kraft names all 1"),
    (["show", KRAFT, "disjoint block"], "a property 'disjoint block'; did you mean disjoint blocks? fencepost list "),
    (["show", KRAFT, "ID twice"], "did you mean no id twice or answered twice? "),
    (["show", "id-blocks", "a gap"], "id-blocks has several variants; name one, such as id-blocks/zookeeper, "),
    (["show", KRAFT, "a gap", "--without", "730.7", "guard 1 dropt"], "; did you mean answer: guard 1 dropped? "),
    (["show", KRAFT, "a gap", "--without", "rule730.7", "nope"], "; did you mean 730.7"),
    (["show", KRAFT, "a gap", "--without", "999", "nope"], "; fencepost list id-blocks/kraft --verbose names all "),
    (
        ["show", "id-blocks/kraft-answer-first", "no id twice", "--without", "730.7", "answer: guard 1 dropped"],
        "kraft-answer-first has rule 730.7 wrong already",
    ),
    (
        ["show", KRAFT, "an id in the end", "--bound", "nope=2"],
        "kraft has no bound 'nope'; ",
    ),
    (["explore", KRAFT, "--bound", "broker=2"], "kraft has no bound 'broker'; did you mean brokers? "),
    (["explore", KRAFT, "--profile", "nope"], "'nope' is not one of 'smoke', 'ci', 'nightly'; see fencepost explore"),
    (["explore", KRAFT, "--bound", "nope=2"], "kraft has no bound 'nope'; "),
    (["explore", KRAFT, "--bound", "brokers"], "--bound 'brokers' is not NAME=N"),
    (["explore", KRAFT, "--bound", "=2"], "--bound '=2' is not NAME=N"),
    (["explore", KRAFT, "--bound", "brokers=-1"], "--bound 'brokers=-1' is not NAME=N with a number N from 0 on"),
    (["explore", KRAFT, "--bound", "brokers=²"], "--bound 'brokers=²' is not NAME=N"),
    (["explore", KRAFT, "--bound", "brokers=0"], "which has no elements under these bounds"),
    (["explore", KRAFT, "--bound", "size=0"], "the axiom le(1, size) does not hold for size = 0"),
    (["explore", KRAFT, "--bound", "brokers=90", "--bound", "requests=40"], "more than the 1024 that are packed"),
    (
        ["simulate", KRAFT, "--steps", "-5"],
        "Invalid value for '--steps': -5 is not in the range 1<=x<=1000000000; see fencepost simulate",
    ),
    (
        ["record", "--protocol", "transactions", *map(str, NODES), "--topic", "nosuch", "--out", "never"],
        "holds no partition of topic 'nosuch' that is recorded; topics that these hold and could be meant: fencepost-",
    ),
    (["necessity", "id-blocks", "--mutations", "sets", "--master", "local[2]"], "in this process; leave out --master"),
    (["necessity", "id-blocks", "--rule", "none"], "there is no rule 'none'; of those of id-blocks that necessity"),
    (["necessity", "id-blocks", "--rule", "rule730.10"], "did you mean 730.10"),
    (["necessity", "id-blocks", "--rule", "730.5"], "rule 730.5 of kind interface is not judged for id-blocks"),
    (["prove", "kip618-yardstick"], "log is a sequence, and sequences are bounded while proofs are not"),
    (["agree", KRAFT, "--implementation", "nope:factory"], "there is no implementation 'nope:factory': No module"),
    (["agree", KRAFT, "--implementation", "os:nope"], "there is no implementation 'os:nope': module 'os' has no"),
    (["agree", KRAFT, "--implementation", "os:getcwd"], "os:getcwd: makes no cluster from {'seed': 0, "),
    (["agree", KRAFT, "--implementation", "builtins:dict"], "its dict lacks messages, deliver, drop, "),
    (["agree", "id-blocks/kraft-threads"], "no implementation of id-blocks/kraft-threads can be driven; name one of"),
    (["agree", "kip618-yardstick"], "no implementation of kip618-yardstick can be driven"),
    (["agree", "transactions/kraft"], "name one of transactions/v2, transactions/v1, transactions/v1-verified"),
    (["agree", "transactions/v1", "--expecting", "P5"], "there is no rule P5; name promises (txn.P5) or none: did you"),
    (["agree", "transactions/v1", "--promise", "no zombi write"], "did you mean no zombie write? "),
    (["dangers", KRAFT, "--promise", "disjoint block"], "no promise 'disjoint_block' is asked there; did you mean"),
    (["expolre", KRAFT], "No such command 'expolre'; did you mean explore or explorer or export?; see"),
    (
        ["generate", "id-blocks", "made"],
        "id-blocks has several variants; name one that has a simulator: id-blocks/kraft",
    ),
    (
        ["generate", "id-blocks/kraft-threads", "made"],
        "id-blocks/kraft-threads has no simulator; name yours with --from MODULE:FUNCTION",
    ),
    (["generate", KRAFT, "made", "--config", "events"], "--config 'events' is not NAME=VALUE"),
    (["generate", KRAFT, "made", "--config", "nope=1"], "config has unknown keys ['nope']"),
    (["generate", KRAFT, "made", "--config", "events=many"], "cannot simulate with config "),
    (["generate", KRAFT, "made", "--from", "nope:x"], "simulator 'nope:x': not found"),
    (["generate", KRAFT, "made", "--cores", "0"], "'--cores': 0 is not in the range 1<=x<=1024"),
    (["replay", "nowhere"], "nowhere/manifest.json: not found; a directory of histories needs one"),
    (["record", "nowhere", "--out", "made"], "nowhere: no such directory"),
    (["record", ".", "--out", "made"], "holds no __cluster_metadata-0, so it is not the log directory of a KRaft node"),
    (["nope"], "No such command 'nope'; see fencepost --help"),
    (["explore"], "Missing argument 'PROTOCOL[/VARIANT]'; see fencepost explore --help"),
]


def refused(*words: object) -> str:
    """The one line with which a command is refused."""
    ran = fencepost(*words)
    assert ran.code == 2, ran
    [line] = ran.err.splitlines()
    assert line.startswith("fencepost")
    return line


@pytest.mark.parametrize(
    ("words", "text"), REFUSALS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_refused(words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says what is wrong and what there is instead; nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    assert text in refused(*words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["verify"],
        ["prove", KRAFT],
        ["explore", KRAFT],
        ["necessity", "id-blocks"],
        ["agree", KRAFT],
        ["generate", KRAFT, "made"],
        ["replay", "made"],
    ],
    ids=lambda words: words[0],
)
def test_an_unreachable_report_is_refused_at_once(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be written is known before the work, not after it."""
    monkeypatch.chdir(tmp_path)
    line = refused(*words, "--json", tmp_path / "nowhere" / "x.json")
    assert "there is no directory" in line
    assert "nowhere' for 'x.json'; make it first" in line
    assert "is a directory" in refused(*words, "--json", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--junit", "--table"])
def test_other_reports_are_refused_at_once(option: str, tmp_path: Path) -> None:
    """The same of the JUnit report and of the table of rules."""
    words = ["verify"] if option == "--junit" else ["necessity", "id-blocks"]
    assert "there is no directory" in refused(*words, option, tmp_path / "nowhere" / "x")


@pytest.mark.parametrize("command", ["generate", "replay"])
def test_spark_without_java(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, and how to do without, where Spark is asked for; without --master no command needs it."""
    write_histories(tmp_path / "h", [SEEDED_HISTORY.seeded(1, 0, 2)[0]], ID_BLOCKS)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    place = ("generate", KRAFT, tmp_path / "made") if command == "generate" else ("replay", tmp_path / "h")
    line = refused(*place, "--master", "local[2]")
    assert "Spark needs Java 17 or newer: there is no `java` on the PATH" in line
    assert "leave out --master" in line


@pytest.mark.parametrize(
    "words", [("verify", "id-blocks"), ("necessity", "id-blocks"), ("mutants", KRAFT)], ids=" ".join
)
def test_searches_on_a_spark_that_does_not_start(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said in a line, before anything is searched."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FENCEPOST_FRESH", "1")
    assert "Spark needs Java 17 or newer" in refused(*words, "--master", "spark://127.0.0.1:1")


def test_numba_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optional engine says how to get it."""
    monkeypatch.setitem(sys.modules, "numba", None)
    _, variant = find("id-blocks/by-broker-id")
    assert variant is not None
    with pytest.raises(NotInstalled) as refused_by:
        explore(variant.spec, {}, bounds_of(variant, "smoke"), engine="numba")
    assert "pip install 'numba>=0.60', or use engine='numpy'" in str(refused_by.value)


def test_the_exit_code_reaches_the_shell() -> None:
    """The installed script, in a process of its own."""
    ran = process("explore", "nope")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"fencepost: {NO_SUCH_PROTOCOL}; your own goes by its package, such as my.lease\n"


ERRORS_OF_INPUT = (
    "fencepost.model.language:ModelError",
    "fencepost.properties.catalogue:CatalogueError",
    "fencepost.properties.history:HistoryError",
    "fencepost.proofs.engines.explore:TooManySteps",
    "fencepost.proofs.engines.explore.compiled_search.loaded:NotInstalled",
    "fencepost.proofs.readings.ground:BoundsError",
    "fencepost.proofs.recording.errors:RecordingError",
    "fencepost.proofs.scale.spark:SparkUnavailable",
    "fencepost.proofs.testing:ImplementationError",
    "fencepost.reference_impl.live.tcp.connection:WireError",
)


@pytest.mark.parametrize("name", ERRORS_OF_INPUT)
def test_every_error_of_input_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever command it ends; of an error that is not one of input the line says where the code is wrong."""
    error = resolve_name(name)
    raised = error("no such thing", Path("here"), "look") if name.endswith("RecordingError") else error("no such thing")
    monkeypatch.setattr(cli, "fencepost", Mock(side_effect=raised))
    assert cli.run([]) == 2
    assert capsys.readouterr().err == f"fencepost: {raised}\n"
    monkeypatch.setattr(cli, "fencepost", Mock(side_effect=KeyError("a defect")))
    assert cli.run([]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(f": KeyError: 'a defect'; {IN_THE_CODE}, FENCEPOST_TRACEBACK=1 shows how it came to it")
    monkeypatch.setenv("FENCEPOST_TRACEBACK", "1")
    assert cli.run([]) == 2
    assert capsys.readouterr().err.startswith("Traceback (most recent call last):")


def test_without_a_command_the_help_is_printed() -> None:
    """`fencepost` alone: the help on the error stream, and exit code 2."""
    ran = process()
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:\n  verify " in ran.err


def test_a_word_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are no UTF-8, as Python hands them over."""
    assert cli.run(["replay", "made\udcff"]) == 2
    assert "'made\\udcff' is not UTF-8: rename the file, or correct the word" in capsys.readouterr().err


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> Beds:
    """Histories of three protocols, and a cluster's logs."""
    return Beds(tmp_path_factory.mktemp("fuzz") / "beds")


def test_changed_inputs(beds: Beds) -> None:
    """500 in every run."""
    hold(beds, 500, night() or 1)


@pytest.mark.nightly(nights=4)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(20))
def test_many_changed_inputs(beds: Beds, part: int) -> None:
    """10,000 each night."""
    hold(beds, 500, (night() or 1) * 1000 + part)
