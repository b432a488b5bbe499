"""A history of a user's own system, as JSON lines, judged by the properties and the model of her protocol."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from command_line import Ran, fencepost, read_json
from fencepost.properties import registry
from own_protocols import taken_back

LOCK = "lock"
PACKAGE = f"tests.{LOCK}"
ORDERLY = (
    {"kind": "granted", "client": 0, "token": 1},
    {"kind": "expired"},
    {"kind": "granted", "client": 1, "token": 2},
    {"kind": "written", "client": 1, "token": 2},
)
LATE = {"kind": "written", "client": 0, "token": 1}
REFUSED = {"kind": "refused", "client": 0, "token": 1}
HEADER = {"variant": "fenced", "config": {"clients": 2}}


@pytest.fixture(autouse=True, scope="module")
def named() -> Iterator[None]:
    """What naming the lock changes is taken back."""
    with taken_back(), mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        yield


def replayed(file: Path, *events: object, options: tuple[object, ...] = ()) -> Ran:
    """The replay of a file of these lines, an event a millisecond."""
    timed = ({"time_us": at * 1000, **each} if isinstance(each, dict) and "kind" in each else each
             for at, each in enumerate(events))  # fmt: skip
    file.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in timed))
    return fencepost("replay", "--protocol", PACKAGE, file, *options)


def test_what_holds_and_what_does_not(tmp_path: Path) -> None:
    """By the history property and by the model, with the step and the event that explains it; and a page."""
    report, page = tmp_path / "report.json", tmp_path / "page.html"
    ran = replayed(tmp_path / "fine.jsonl", *ORDERLY, REFUSED, options=("--require", "all", "--json", report))
    assert ran.code == 0, ran.err
    assert read_json(report)["judged"] == {"conformance": 1, "writes_in_order": 1}
    ran = replayed(tmp_path / "late.jsonl", *ORDERLY, LATE, options=("--json", report, "--html", page))
    assert ran.code == 1
    violations = read_json(report)["violations"]
    assert {name: found["first"]["step"] for name, found in violations.items()} == dict.fromkeys(violations, 4)
    assert violations.keys() == {"conformance", "writes_in_order"}
    assert (
        "write needs stored <= held[client] (lock.3)" in ran.out and "written at step 3 (client 1, token 2)" in ran.out
    )
    assert "an older token than that of" in page.read_text(encoding="utf-8")
    assert f"fencepost replay {tmp_path / 'late.jsonl'} --protocol {PACKAGE} --html RUN.html" in ran.out


def test_a_header_says_what_events_do_not(tmp_path: Path) -> None:
    """The variant, sizes, and of which kinds all events are there: without each refusal the model follows nothing."""
    assert replayed(tmp_path / "a.jsonl", HEADER, *ORDERLY).code == 0
    ran = replayed(
        tmp_path / "b.jsonl", {"observable": ["granted", "expired", "written"]}, *ORDERLY, options=("--verbose",)
    )
    assert ran.code == 0 and "refused" in ran.out
    ran = replayed(tmp_path / "c.jsonl", {"variant": "other"}, *ORDERLY)
    assert (ran.code, "lock has no variant 'other', as the manifest says; " in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"kind": "grantd", "client": 0, "token": 1}], ":1: no event of lock: Invalid value 'grantd' - at `$.kind`;"),
        ([ORDERLY[0], {"kind": "expired", "client": 0}], ":2: no event of lock: Object contains unknown field `clien"),
        ([ORDERLY[0], {"kind": "written", "client": 0}], ":2: no event of lock: Object missing required field `token"),
        ([{"kind": "granted", "client": "me", "token": 1}], ":1: no event of lock: Expected `int`, got `str` - at `$"),
        ([{"kind": "granted", "client": 2**31, "token": 1}], ":1: no event of lock: Expected `int` <= 2147483647 - a"),
        ([*ORDERLY, "{not json"], ":5: no event of lock: JSON is malformed: "),
        ([HEADER, HEADER, *ORDERLY], ":2: no event of lock: Object missing required field `kind`; kind is one of gra"),
        ([{"variants": "fenced"}, *ORDERLY], ":1: no event of lock: Object contains unknown field `variants`; each l"),
        ([{"observable": ["grantd"]}, *ORDERLY], ":1: observable names 'grantd', which is no kind of event; did you"),
        ([HEADER], ": there is no event in it; each line is a JSON object with time_us, kind and the kind's columns; "),
    ],
)  # fmt: skip
def test_a_line_that_is_no_event(lines: list[object], expected: str, tmp_path: Path) -> None:
    """Refused in one line, with the file's line; nothing is left behind."""
    file = tmp_path / "events.jsonl"
    before = {*Path(tempfile.gettempdir()).glob("fencepost-*")}
    ran = replayed(file, *lines)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"{file}{expected}" in ran.err, ran.err
    assert {*Path(tempfile.gettempdir()).glob("fencepost-*")} == before


def test_a_file_needs_one_protocol(tmp_path: Path) -> None:
    """As its lines do not say of which they are."""
    (tmp_path / "events.jsonl").write_text("{}\n")
    ran = fencepost("replay", tmp_path / "events.jsonl")
    assert (ran.code, "is a file: name the one protocol whose events are its lines" in ran.err) == (2, True)
