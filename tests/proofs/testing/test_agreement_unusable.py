"""An implementation that hangs, leaves, is not deterministic, or returns what cannot be read is told as such, with the
call: exit code 2, and never a verdict; what it does by raising is its answer."""

import time
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.pasting import regressions
from fencepost.properties.conformance_spec import driven
from fencepost.properties.transactions.interface import Call, message

KRAFT = "id-blocks/kraft"


@pytest.mark.parametrize(
    ("factory", "code", "text"),
    [
        ("hanging", 2, "hangs: system.advance("),
        ("spinning", 2, "hangs: system.advance("),
        ("hanging_factory", 2, "hangs: the factory has not returned after 1 s, so nothing is judged"),
        ("leaving_factory", 2, "makes no cluster from {"),
        ("no_events", 2, "drain_events() returned None (NoneType); it returns a list of events"),
        ("strange_events", 2, "drain_events() returned 7 (int) among the events; an event has a kind, by name"),
        ("strange_messages", 2, "messages() returned 7 (int); it returns a list of tuples"),
        ("chancy", 2, "is not deterministic: the same calls on the same configuration gave something else, call "),
    ],
)
def test_nothing_is_judged(factory: str, code: int, text: str) -> None:
    """One line, soon."""
    began = time.monotonic()
    words = ("--implementation", f"agreement_doubles:{factory}", "--examples", 10, "--config", "call_limit=1")
    ran = fencepost("agree", KRAFT, *words)
    assert (ran.code, text in ran.err) == (code, True), ran
    assert len(ran.err.splitlines()) == 1
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("factory", ["leaving", "strange_results"])
def test_never_a_0(factory: str) -> None:
    """What ends in `sys.exit(0)`, or answers in another type, disagrees with the model, or cannot be read: the call is
    named."""
    ran = fencepost("agree", KRAFT, "--implementation", f"agreement_doubles:{factory}", "--examples", 10)
    assert ran.code in (1, 2), ran
    reported = ran.out + ran.err
    assert ("SystemExit(0)" in reported) if factory == "leaving" else ("init_producer_id" in reported), ran


@pytest.mark.parametrize(("protocol", "turned"), [("id-blocks", 20), ("transactions", 140), ("task-counts", 30)])
def test_most_recorded_runs_become_programs(protocol: str, turned: int) -> None:
    """Every run is a program or is counted by the step for which there is no call; no program is there twice."""
    found = regressions(driven(protocol))
    assert found.turned >= turned
    assert found.turned + sum(found.left.values()) == found.runs
    assert len({repr(program) for program in found.programs}) == len(found.programs) <= found.turned
    assert f"{found.turned} of {found.runs} kept runs" in str(found)


def test_a_run_is_turned_step_by_step() -> None:
    """The owner of a transaction is who began it, and messages are named by what they are."""
    steps = [("start", {"c": 1}), ("initialize", {"c": 1, "to": 1}), ("begin", {"c": 1, "t": 0, "e": 1}),
             ("send", {"t": 0, "p": 1}), ("append", {"t": 0, "p": 1})]  # fmt: skip
    config, calls, lacking = driven("transactions").turned(steps)
    assert (config["clients"], config["partitions"], lacking) == (2, 2, "")
    assert calls[0] == Call("init", 1)
    assert calls[-3:] == [
        Call("send", 1, 1), Call("deliver", message("produce", "client-1", "partition-1")),
        Call("deliver", message("check_answer", "coordinator", "partition-1")),
    ]  # fmt: skip
    assert driven("transactions").turned([("replicate", {"p": 0})]) == ({}, [], "replicate")


@pytest.mark.parametrize(
    ("protocol", "variant", "name"),
    [
        ("id-blocks", "kraft", "answers_before_commit"),
        ("transactions", "v2", "end_keeps_epoch"),
        ("task-counts", "A", "no_check_before"),
    ],
)
def test_who_gets_a_rule_wrong_is_found(protocol: str, variant: str, name: str) -> None:
    """With a short program, though nothing is drawn; and the reference goes through all of them."""
    package, module = "fencepost.reference_impl", protocol.replace("-", "_")
    kept = regressions(driven(protocol))
    report = agree(f"{package}.defects.{module}:{name}", protocol=protocol, variant=variant, saved=kept)
    assert report.verdict == "violated"
    assert report.failure is not None
    with pytest.raises(AssertionError):
        exec(report.program, {})
    right = agree(
        f"{package}.systems.{module}:reference", protocol=protocol, variant=variant, saved=kept, verdict_only=True
    )
    assert right.verdict == "holds", str(right.failure)
    assert right.examples == len(kept.programs) * len(driven(protocol).ways)


def test_the_command_says_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In text, and in JSON; without it nothing is said."""
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "report.json"
    ran = fencepost("agree", "id-blocks/kraft", "--from", "model", "--json", file)
    assert ran.code == 0
    assert "kept runs are turned into" in ran.out
    reported = read_json(file)
    assert reported["regressions"]["programs"] * len(driven("id-blocks").ways) == reported["examples"]
    assert (
        reported["regressions"]["turned"] + sum(reported["regressions"]["left"].values())
        == reported["regressions"]["runs"]
    )
    fencepost("agree", "id-blocks/kraft", "--examples", 2, "--json", file)
    assert read_json(file)["regressions"] is None
