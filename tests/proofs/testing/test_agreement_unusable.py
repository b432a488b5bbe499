"""An implementation that hangs, leaves, is not deterministic, or returns what cannot be read is told as such, with the
call: exit code 2, and never a verdict; what it does by raising is its answer."""

import time

import pytest
from command_line import fencepost

KRAFT = "id-blocks/kraft"


@pytest.mark.parametrize(
    ("factory", "code", "told"),
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
def test_nothing_is_judged(factory: str, code: int, told: str) -> None:
    """One line, soon."""
    began = time.monotonic()
    words = ("--implementation", f"unusable_doubles:{factory}", "--examples", 10, "--config", "call_limit=1")
    ran = fencepost("agree", KRAFT, *words)
    assert (ran.code, told in ran.err) == (code, True), ran
    assert len(ran.err.splitlines()) == 1
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("factory", ["leaving", "strange_results"])
def test_never_a_0(factory: str) -> None:
    """What ends in `sys.exit(0)`, or answers in another type, disagrees with the model, or cannot be read: the call is
    named."""
    ran = fencepost("agree", KRAFT, "--implementation", f"unusable_doubles:{factory}", "--examples", 10)
    assert ran.code in (1, 2), ran
    told = ran.out + ran.err
    assert ("SystemExit(0)" in told) if factory == "leaving" else ("init_producer_id" in told), ran
