"""A protocol of one's own, as a user has it: `tests/lock`, a package that no file of fencepost names, through every
command; and what is said of a package that lacks something."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from command_line import Ran, fencepost, process, read_json
from fencepost.model import rules
from fencepost.properties import registry

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tests/lock"
NAME = "tests.lock"


@pytest.fixture(autouse=True, scope="module")
def restored() -> Iterator[None]:
    """The rules that other tests count are as they were before."""
    with mock.patch.dict(rules.RULES), mock.patch.dict(rules.AREAS), mock.patch.object(sys, "path", [*sys.path]):
        yield


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """Each test has the protocols of before."""
    with mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        yield


def words(ran: Ran, code: int = 0) -> str:
    """What a command printed, with single spaces, when it ended as it should."""
    assert ran.code == code, ran.out + ran.err
    return " ".join(ran.out.split())


def test_it_is_a_small_package_that_nothing_names() -> None:
    """Sixty lines of rules and promises; and no other file of the repository knows of it, but README and this one."""
    lines = {file.stem: len(file.read_text(encoding="utf-8").splitlines()) for file in LOCK.glob("*.py")}
    assert lines["model"] <= 90 and lines["claims"] <= 90, lines
    naming = [
        path.relative_to(ROOT).as_posix()
        for folder in ("model", "properties", "reference_impl", "proofs", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if LOCK not in path.parents and (NAME in (text := path.read_text(encoding="utf-8")) or "tests/lock" in text)
    ]
    assert naming == ["tests/properties/test_own_protocol.py"]


def test_list() -> None:
    """With its variants, bounds, mutations, and as a table of rules; and beside the others once it was named."""
    assert "unfenced the store takes every write [lock.3]" in words(fencepost("list", NAME))
    assert "needs stored <= held[c] [lock.3]" in words(fencepost("list", f"{NAME}/fenced"))
    assert "fenced lock.3 write: guard 1 dropped" in words(fencepost("list", NAME, "--mutations"))
    assert "lock A lock with fencing tokens" in words(fencepost("list"))


def test_prove() -> None:
    """By induction; and of which files the verdict is."""
    said = words(fencepost("prove", f"{NAME}/fenced"))
    assert f"read lock/model.py and 4 more in {ROOT / 'tests'}, hash" in said
    assert "tokens unique holds, resting on held is issued" in said


def test_explore_and_show() -> None:
    """A complete search, and the shortest run of the mistake."""
    assert "81 states" in words(fencepost("explore", f"{NAME}/fenced"))
    said = words(fencepost("show", f"{NAME}/unfenced", "newest stays"))
    assert "5 write(c=1) stored = 1 It is broken after 5 steps, and not in fewer." in said


def test_necessity() -> None:
    """Without tokens that grow, or without the store's look at them, a promise fails; that one client at a time has
    the lock is not needed for any."""
    said = words(fencepost("necessity", NAME))
    assert "lock.1 fenced acquire: guard 1 dropped necessary: tokens unique fails in 3 steps" in said
    assert "lock.2 fenced acquire: guard 1 dropped redundant" in said
    assert "lock.3 fenced write: guard 1 dropped necessary: newest stays fails in 5 steps" in said


def test_simulate() -> None:
    """Random walks come to the mistake."""
    assert "newest stays broke" in words(fencepost("simulate", f"{NAME}/unfenced"))


def test_keep() -> None:
    """The runs that are kept beside it are all that there are to keep."""
    kept = {file: file.read_text() for file in (LOCK / "kept").iterdir()}
    assert "3 runs, 0 of them new" in words(fencepost("keep", NAME))
    assert {file: file.read_text() for file in (LOCK / "kept").iterdir()} == kept


def test_verify_in_processes(tmp_path: Path) -> None:
    """Everything as expected, where other processes do a part of the work, and with a report as documented."""
    said = words(process("verify", NAME, "--json", tmp_path / "v.json"))
    assert "newest stays violated as predicted explore in 5 steps" in said
    assert said.endswith("; 0 not as expected")
    assert {each["protocol"] for each in read_json(tmp_path / "v.json")["results"]} == {"lock"}


def test_the_environment_names_it() -> None:
    """Then it has its own name, which the shell completes as well."""
    named = {"FENCEPOST_PROTOCOLS": NAME, "PYTHONPATH": os.pathsep.join((str(ROOT / ".package"), str(ROOT)))}
    assert "unfenced" in words(process("list", "lock", **named))
    completing = {"_FENCEPOST_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    assert "lock/unfenced" in process(COMP_WORDS="fencepost prove lock/", **completing, **named).out
    assert f"{NAME}/unfenced" in process(COMP_WORDS=f"fencepost prove {NAME}/", **completing).out


SMALL = '''
from fencepost.model.language import Nat, Properties, Protocol, action, promise, witness
from fencepost.model.rules import add_rules
from fencepost.properties.entries import ProtocolEntry, Variant
{rules}

class Counter(Protocol):
    count: Nat

    @action
    def up(s):
        """One more."""
        {step}

class CounterProperties(Properties, of=Counter):
    @promise(rule="{rule}")
    def not_negative(s):
        """It is not."""
        return s.count >= 0

ENTRIES = (ProtocolEntry("{name}", "It counts.", (Variant("only", CounterProperties, "up"),), {{}}),)
'''


def package(place: Path, name: str, /, rule: str = "", **parts: str) -> None:
    """A package there, with one protocol in it."""
    told = {"rules": "", "step": "s.count = s.count + 1", "rule": rule or "730.P1", "name": name, **parts}
    (place / name).mkdir()
    (place / name / "claims.py").write_text(SMALL.format(**told))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"name": "other"},
            "{name}.claims: ENTRIES begins with 'other'; write ENTRIES = (ProtocolEntry('{name}', …),)",
        ),
        ({"step": "x.count = 1"}, "{name}/claims.py:13: NameError: name 'x' is not defined"),
        ({"step": "s.count ="}, "{name}/claims.py:13: SyntaxError: invalid syntax"),
        (
            {"rules": "import no_such_module"},
            "{name}/claims.py:5: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ({"rules": "add_rules('730', 'mine', '')"}, "{name}/claims.py:5: rules 730.… are those of KIP-730"),
        ({"rules": "add_rules('own', 'x', 'own.1 rule It is.')"}, "is no rule of own; write 'own.1 mechanism What is"),
        ({"rule": "own.77"}, "{name}/claims.py:16: 'own.77' is no rule in the ledger; "),
    ],
)
def test_what_is_wrong_in_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], expected: str
) -> None:
    """One line: where, what, and what to write."""
    name = "wrong" + tmp_path.name.removeprefix("test_what_is_wrong_in_a_packag")  # a module is imported once
    package(tmp_path, name, **change)
    monkeypatch.chdir(tmp_path)
    ran = fencepost("list", f"{name}/only")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert expected.format(name=name) in ran.err


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("no.package", "there is no package no.package, here or installed; name it as in an import statement"),
        ("lock/fenced", "there is no protocol 'lock'; "),
        ("tests/lock", "tests/lock is a folder; name it as a package: tests.lock"),
        ("tests.conftest", "tests.conftest is a file; a protocol is a folder, with claims.py in it"),
        ("tests.support", "tests.support has no claims.py; write one with ENTRIES = (ProtocolEntry(…),)"),
        ("tests.transactions", "tests.transactions and fencepost.properties.transactions are both transactions; give "),
        (
            "tests.lock/fence",
            "lock has no variant 'fence'; did you mean fenced or unfenced? fencepost list lock names ",
        ),
    ],
)
def test_what_is_no_package_with_a_protocol(named: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with what to name or to write."""
    monkeypatch.chdir(ROOT)
    ran = fencepost("prove", named)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err
