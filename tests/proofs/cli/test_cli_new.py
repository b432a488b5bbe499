"""`fencepost new`: a protocol of one's own that runs at once, and one that is made of the actions of a model."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from command_line import Ran, fencepost
from fencepost.proofs.cli.lookup.new import FILES
from fencepost.properties import registry
from own_protocols import taken_back

MODEL = '''
"""A door with a counter of visits."""

from fencepost.model.language import Bool, Enumeration, Map, Nat, Protocol, Sort, action, fault, not_of_this, require


class Visitor(Sort, bound="visitors"):
    """Who may come in."""


class Side(Enumeration):
    IN = 0
    OUT = 1


class Count(Nat, upto="visits"):
    """Of visits."""


class Door(Protocol):
    """A door."""

    open: Bool
    where: Map[Visitor, Side]
    count: Count

    outside = not_of_this("it is no part of Kafka")

    @action
    def unlock(s):
        """The door opens."""
        s.open = True

    @action
    def walk(s, v: Visitor, to: Side, n: Count):
        """A visitor walks through."""
        require(s.open)
        require(n == s.count)
        s.where[v] = to
        s.count = n + 1

    @fault(budget="drafts")
    def slam(s):
        """A draft closes it."""
        s.open = False
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins in an empty folder, without protocols of others."""
    with taken_back(), mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        monkeypatch.chdir(tmp_path)
        yield


def fine(*words: object, code: int = 0) -> Ran:
    ran = fencepost(*words)
    assert ran.code == code, ran.out + ran.err
    return ran


def test_a_new_protocol_runs_at_once(tmp_path: Path) -> None:
    """Under its own name, also in rules: proved, explored, driven, its defect found, its histories judged."""
    ran = fine("new", "my_leases")
    assert all(f"written: my_leases/{name}" in ran.out for name in FILES)
    assert "try: fencepost prove my_leases; fencepost explore my_leases; fencepost agree my_leases" in ran.err
    assert "newest stays                       holds, of itself" in fine("prove", "my_leases").out
    assert "newest stays                       violated" in fine("explore", "my_leases/unfenced").out
    assert "holds after 20 clusters" in fine("agree", "my_leases", "--examples", 20).out
    found = fine("agree", "my_leases", "--implementation", "my_leases.reference:Unfenced", "--examples", 40, code=1)
    assert "promise broken: my-leases.P1: written at step" in found.out
    fine("generate", "my_leases/fenced", tmp_path / "made", "--histories", 10)
    fine("replay", tmp_path / "made", "--protocol", "my_leases", "--require", "all")
    names = {word for file in Path("my_leases").glob("*.py") for word in file.read_text().replace("'", '"').split('"')}
    assert "my-leases" in names and "lock" not in names


def test_what_is_there_is_left_alone() -> None:
    """No file is written over, and where some are there without a model nothing is."""
    fine("new", "once")
    before = {file: file.read_text() for file in Path("once").glob("*.py")}
    Path("once/histories.py").unlink()
    Path("once/claims.py").write_text("# mine\n")
    ran = fine("new", "once")
    assert ran.out.count("written: ") == 1 and "written: once/histories.py" in ran.out
    assert "left as it is: once/claims.py" in ran.out and Path("once/claims.py").read_text() == "# mine\n"
    assert Path("once/model.py").read_text() == before[Path("once/model.py")]
    Path("half").mkdir()
    Path("half/claims.py").write_text("# mine\n")
    assert fine("new", "half", code=2).err.startswith("fencepost: half has claims.py and no model.py; write that first")
    assert [*Path("half").iterdir()] == [Path("half/claims.py")]


@pytest.mark.parametrize("name", ["My", "a-b", "lease/core", ""])
def test_a_name_that_is_no_package(name: str, tmp_path: Path) -> None:
    """Is refused in one line, and nothing is written."""
    assert "is no name of a package" in fine("new", name, code=2).err
    assert not [*tmp_path.iterdir()]


def test_a_model_gives_the_other_files() -> None:
    """Events, methods and observations of its actions, by their sorts; nothing is judged before something is done."""
    Path("doors").mkdir()
    Path("doors/model.py").write_text(MODEL)
    ran = fine("new", "doors")
    assert ran.out.count("written: ") == len(FILES) and "left as it is: doors/model.py" in ran.out
    assert "every action can happen            reached" in fine("prove", "doors").out
    assert "doors/core within drafts 1, visitors 2, visits 2" in fine("explore", "doors", code=2).out
    undone = fine("agree", "doors", code=1)
    assert "inconclusive: no run took unlock, walk, slam of the model, though" in undone.out
    interface = Path("doors/interface.py").read_text()
    taken = (
        'v: Annotated[int, Index("visitors")]',
        "to: Annotated[int, OneOf(0, 1)]",
        "n: Annotated[int, Between(0, 3)]",
    )
    assert f"def walk(self, {', '.join(taken)}) -> bool:" in interface
    done = Path("doors/reference.py").read_text()
    for line in done.splitlines():
        if "return False" in line:
            done = done.replace(line, line.replace("return False  # do it, and: ", ""))
    Path("doors/reference.py").write_text(done)
    for module in [name for name in sys.modules if name.startswith("doors.reference")]:
        del sys.modules[module]
    assert "walk: open" in fine("agree", "doors", code=1).out


def test_the_texts_of_a_model_are_python_as_it_is_kept_here() -> None:
    """They need no formatting but that of long lines."""
    Path("doors").mkdir()
    Path("doors/model.py").write_text(MODEL)
    fine("new", "doors")
    for file in Path("doors").glob("*.py"):
        text = file.read_text()
        compile(text, str(file), "exec")
        assert (
            text.endswith("\n") and "\n\n\n\n" not in text and not any(line.endswith(" ") for line in text.splitlines())
        )


def test_a_model_without_actions() -> None:
    """Is named."""
    Path("bare").mkdir()
    Path("bare/model.py").write_text("x = 1\n")
    assert "bare/model.py has no class of a Protocol with an @action" in fine("new", "bare", code=2).err
    assert [file.name for file in Path("bare").glob("*.py")] == ["model.py"]
