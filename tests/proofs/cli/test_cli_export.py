"""``export``: what it writes and says, and that bad input leaves nothing behind."""

from pathlib import Path

import pytest
from command_line import fencepost

YARDSTICK = ("export", "kip618-yardstick")


def test_a_module_and_its_configuration(tmp_path: Path) -> None:
    """Under one name in capitals and small letters, and nothing besides; what is said leads to TLC."""
    made = tmp_path / "made"
    ran = fencepost(*YARDSTICK, made, "--bound", "tasks=2", "--bound", "log=2")
    assert (ran.code, ran.err) == (0, "")
    assert sorted(path.name for path in made.iterdir()) == ["Kip618Yardstick.cfg", "Kip618Yardstick.tla"]
    module, configuration = ((made / f"Kip618Yardstick.{ending}").read_text() for ending in ("tla", "cfg"))
    assert "MODULE Kip618Yardstick -" in module
    assert "    max_log = 2\n" in configuration
    command = "java -cp tla2tools.jar tlc2.TLC -deadlock -workers 1 -config Kip618Yardstick.cfg Kip618Yardstick"
    assert command in ran.out
    assert f"{made}/Kip618Yardstick.tla: 14 actions, 2 invariants, 0 properties of steps" in ran.out


def test_written_again_it_is_the_same(tmp_path: Path) -> None:
    """The second export replaces the first, byte for byte."""
    texts = []
    for _ in range(2):
        assert fencepost(*YARDSTICK, tmp_path).code == 0
        texts.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert texts[0] == texts[1]


def test_all_main_variants_of_a_protocol(tmp_path: Path) -> None:
    """Each by its own name, and beside it what comes in the end, which has no configuration."""
    ran = fencepost("export", "id-blocks", tmp_path)
    assert ran.code == 0
    stems = {"IdBlocksZookeeper", "IdBlocksBridge", "IdBlocksKraft", "IdBlocksKraftLengths"}
    assert {path.stem for path in tmp_path.glob("*.cfg")} == stems
    liveness = {path.stem.removesuffix("Liveness") for path in tmp_path.glob("*Liveness.tla")}
    assert {path.stem for path in tmp_path.glob("*.tla")} == stems | {f"{stem}Liveness" for stem in liveness}
    assert liveness == stems - {"IdBlocksKraftLengths"}
    assert f"    {tmp_path}/IdBlocksZookeeperLiveness.tla: 2 properties of progress" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["export", "nope", "DIR"], "there is no protocol 'nope'"),
        (["export", "id-blocks/kraf", "DIR"], "did you mean kraft"),
        (["export", "id-blocks/kraft", "DIR", "--reduce", "order"], "'order' is not 'symmetry'"),
        (["export", "id-blocks/kraft", "DIR/further/folder"], "there is no directory"),
        (["export", "id-blocks/kraft", "DIR", "--bound", "nope=2"], "kraft has no bound 'nope'"),
        (["export", "id-blocks/kraft", "DIR", "--bound", "brokers=0"], "has no elements under these"),
        (
            ["export", "id-blocks/kraft", "DIR", "--bound", "size=0"],
            "the axiom le(1, size) does not hold",
        ),
        (["export", "id-blocks", "DIR", "--bound", "copies=1"], "zookeeper has no bound 'copies'"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_bad_input_leaves_nothing(words: list[str], says: str, tmp_path: Path) -> None:
    """One line, exit code 2, and neither a directory nor a file."""
    ran = fencepost(*(word.replace("DIR", str(tmp_path / "made")) for word in words))
    assert ran.code == 2
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_ones_own_is_left_alone(tmp_path: Path) -> None:
    """What was not exported is not replaced, and then nothing else is written."""
    own = tmp_path / "Kip618Yardstick.cfg"
    own.write_text("INIT MyInit\n")
    ran = fencepost(*YARDSTICK, tmp_path)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "Kip618Yardstick.cfg is there and was not exported" in ran.err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(own.name, "INIT MyInit\n")]


def test_where_the_disk_is_full_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second file has no room, and the first goes as well."""
    write = Path.write_text

    def full(path: Path, text: str, **more: str) -> int:
        if ".cfg." in path.name:
            raise OSError(28, "No space left on device", str(path))
        return write(path, text, **more)

    monkeypatch.setattr(Path, "write_text", full)
    ran = fencepost(*YARDSTICK, tmp_path / "made")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "No space left on device" in ran.err
    assert list(tmp_path.iterdir()) == []
