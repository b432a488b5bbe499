"""The tables of events: that of a protocol and that of its reference implementation are written apart and agree, and
what is derived from them does what was written out by hand before."""

import ast
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.lines import Lines
from fencepost.reference_impl.simulation import EventLog, Kernel
from fencepost.reference_impl.systems.end_to_end import simulate

ROOT = Path(__file__).parents[2]


def log_type(protocol: str) -> type[EventLog]:
    """The event log of the reference implementation: the one with the protocol's kinds."""
    import_module(f"fencepost.reference_impl.systems.{protocol.replace('-', '_')}")
    kinds = VOCABULARIES[protocol].codes.keys()
    (log,) = (each for each in EventLog.__subclasses__() if set(each.kind_names.values()) == kinds)
    return log


def reference(protocol: str) -> Any:
    """The module that declares it."""
    return import_module(log_type(protocol).__module__)


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_both_tables_have_the_same_kinds_and_columns(protocol: str) -> None:
    """Names, codes and the order of the columns: rows cross from the one to the other by position."""
    vocabulary, events = VOCABULARIES[protocol], reference(protocol)
    assert {kind.name: int(kind) for kind in vocabulary.kinds} == {n: code for code, n in events.KIND_NAMES.items()}
    assert tuple(vocabulary.schema.names[1:]) == events.COLUMNS == events.Event._fields
    codes = {name: code for name, code in vars(events.Kind).items() if name.isupper()}
    assert {code: name.lower() for name, code in codes.items()} == events.KIND_NAMES
    assert len(codes) == len(events.KIND_NAMES)


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_a_row_has_what_was_emitted(protocol: str) -> None:
    """Each column in its place, those that are not given absent as the vocabulary says; integers, and no other."""
    vocabulary, events, log = VOCABULARIES[protocol], reference(protocol), log_type(protocol)(Kernel(0))
    for code in events.KIND_NAMES:
        for name in vocabulary.names:
            log.emit(code, **{name: 7})
            row = log.rows[-1]
            absent = {column.name: column.absent for column in vocabulary.columns}
            expected = {"step": len(log.rows) - 1, "time_us": 0, "kind": code, **absent, name: 7}
            assert dict(zip(events.COLUMNS, row, strict=True)) == expected
            assert all(type(value) is int for value in row)
            event = events.readable(row)
            assert event._asdict() == {**expected, "kind": events.KIND_NAMES[code]}
            assert type(event) is events.Event
    with pytest.raises(TypeError, match="flavour"):
        log.emit(1, flavour=3)


def test_a_log_without_columns_emits_nothing() -> None:
    """What is declared without a table says what to do."""
    with pytest.raises(NotImplementedError, match="EventLog has no columns: declare it with kinds=… and event=…"):
        EventLog(Kernel(0)).emit(1)


def test_a_log_over_another_one_drops_what_it_lacks() -> None:
    """Kinds that only the protocol below has, and its columns in the events of both."""
    overs = [made for made in map(log_type, VOCABULARIES) if made.over is not None]
    assert overs
    for made in overs:
        assert made.over is not None
        log, below = made(Kernel(0)), made.over
        for code in below.kind_names:
            log.emit(code, **dict.fromkeys(below.columns, 7))
        assert {row[2] for row in log.rows} == made.kind_names.keys() & below.kind_names.keys() < {*below.kind_names}
        expected = tuple(7 if name in below.columns else -1 for name in made.columns)
        assert {row[3:] for row in log.rows} == {expected}


EMITTING = ("emit", "report")
"""Where there is another protocol below, whose events are emitted, one tells its own."""


def files_of(protocol: str) -> Iterator[Path]:
    """Those that emit its events: the one that declares their kinds, and those that import these."""
    declared = reference(protocol)
    yield Path(declared.__file__)
    for path in sorted((ROOT / "reference_impl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = node.names if isinstance(node, ast.ImportFrom) and node.module == declared.__name__ else []
            if any(alias.name == "Kind" and alias.asname is None for alias in names):
                yield path


def emitted(paths: Iterable[Path]) -> tuple[set[str], list[tuple[Path, int, set[str]]]]:
    """The parameters of the functions that are called so in these files; and the keywords of each call of one."""
    parameters: set[str] = set()
    calls = []
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name in EMITTING:
                parameters |= {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in EMITTING:
                calls.append((path, node.lineno, {k.arg for k in node.keywords if k.arg}))
    return parameters, calls


SPOKEN = {"end-to-end": tuple(simulate.vocabularies({}))}
"""What a whole system tells of is told in the words of its layers too."""


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_what_emits_names_columns(protocol: str) -> None:
    """`emit` is made when the log's class is, so that no type checker sees its parameters: its callers are read."""
    parameters, calls = emitted(files_of(protocol))
    reported = SPOKEN.get(protocol, (protocol,))
    known = {*parameters, *(name for each in reported for name in VOCABULARIES[each].names)}
    over = log_type(protocol).over
    below = next((name for name in VOCABULARIES if log_type(name) is over), None)
    inherited = emitted(files_of(below))[1] if below is not None else []
    assert (over is None) == (below is None)
    assert len(calls) + len(inherited) >= min(21, len(VOCABULARIES[protocol].kinds))
    assert [(path.name, line, sorted(names - known)) for path, line, names in calls if names - known] == []


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_every_kind_says_which_columns_it_fills(protocol: str) -> None:
    """Columns that there are, each once; and each column is filled by some kind."""
    vocabulary = VOCABULARIES[protocol]
    filled = [name for kind in vocabulary.kinds for name in kind.columns]
    assert set(filled) == set(vocabulary.names)
    assert all(kind.columns and len(set(kind.columns)) == len(kind.columns) for kind in vocabulary.kinds)
    assert all(kind.optional | kind.optional_with_error <= set(kind.columns) for kind in vocabulary.kinds)
    assert vocabulary.kinds(1) is next(iter(vocabulary.kinds))


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_what_every_implementation_shows_is_not_all(protocol: str) -> None:
    """The black box is some of the kinds: those that are shown by what is public."""
    vocabulary = VOCABULARIES[protocol]
    assert {kind.name for kind in vocabulary.kinds if kind.observer in vocabulary.public} == vocabulary.black_box
    assert set(vocabulary.public) <= {kind.observer for kind in vocabulary.kinds}
    assert set() < vocabulary.black_box < set(vocabulary.codes)


def lines(protocol: str) -> Iterator[tuple[str, dict[str, int], Lines]]:
    """Each kind with a number in every column that it needs, and what reads its lines."""
    vocabulary = VOCABULARIES[protocol]
    reader = Lines(vocabulary, tuple(vocabulary.codes))
    for kind in vocabulary.kinds:
        needed = [name for name in kind.columns if name not in kind.optional and name != "error"]
        yield kind.name, {"time_us": 5, **{name: 3 + place for place, name in enumerate(needed)}}, reader


@pytest.mark.parametrize("protocol", VOCABULARIES)
def test_every_kind_has_a_record_type(protocol: str) -> None:
    """What is written is read, each column of the kind is needed unless its row says otherwise, and no other fits."""
    for kind, event, reader in lines(protocol):
        row = dict(zip(reader.names, reader.row(reader.text({**event, "kind": kind}).decode()), strict=True))
        codes, absent = VOCABULARIES[protocol].codes, {c.name: c.absent for c in VOCABULARIES[protocol].columns}
        assert row == {**absent, **event, "kind": codes[kind]}
        for name in event:
            lacking = {**event, "kind": kind}
            del lacking[name]
            with pytest.raises((ValueError, KeyError), match=name):
                reader.row(reader.text(lacking).decode())
        other = next(name for name in absent if name not in codes[kind].columns)
        line = reader.text({**event, "kind": kind}).decode().replace('"time_us"', f'"{other}":1,"time_us"')
        with pytest.raises(ValueError, match=f"Object contains unknown field `{other}`; {kind} has time_us, "):
            reader.row(line)
