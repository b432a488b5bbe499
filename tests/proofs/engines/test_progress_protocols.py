"""Progress on tiny protocols: seeded livelocks and dead ends are found, and what fairness forbids is not reported."""

import pytest
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Protocol
from fencepost.proofs.engines.explore import TooManySteps, explore
from fencepost.proofs.engines.progress import ProgressResult, check_progress
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Trace
from progress_protocols import (
    Abandoning,
    Counter,
    CounterProperties,
    Crashing,
    CrashingProperties,
    DeadCounter,
    IdleSwitch,
    LimitedCounter,
    ServedSwitch,
    StrongSwitch,
    Switch,
    SwitchProperties,
)  # fmt: skip


def decide(protocol: type[Protocol], properties: dict[str, Property], **bounds: int) -> ProgressResult:
    (result,) = check_progress(explore(protocol.spec, properties, bounds)).values()
    if result.trace is not None:
        (prop,) = properties.values()
        check_lasso(protocol, prop, result.trace, bounds, result.parameters)
    return result


def check_lasso(
    protocol: type[Protocol], prop: Property, trace: Trace, bounds: dict[str, int], parameters: dict[str, int]
) -> None:
    """The trace is a behaviour that waits from somewhere on to the end of its loop, and its loop is fair."""
    plain = Plain(protocol.spec, {}, bounds)
    assert trace.states[0] == plain.initial()
    for before, event, after in zip(trace.states, trace.events, trace.states[1:], strict=False):
        assert plain.enabled(before, event)
        assert plain.step(before, event) == after
    assert trace.loop is not None
    assert trace.states[trace.loop] == trace.states[-1]
    first, then = ([plain.holds(t, s, **parameters) for s in trace.states] for t in prop.terms)
    assert any(first[i] and not any(then[i:]) for i in range(trace.loop + 1))
    loop = trace.states[trace.loop :]
    for name, action in protocol.spec.actions.items():
        for event in plain.events(name):
            allowed = [plain.enabled(s, event) for s in loop]
            taken = event in trace.events[trace.loop :]
            assert taken or not (action.fair == "weak" and all(allowed))
            assert taken or not (action.fair == "strong" and any(allowed))


def test_what_stops_in_the_end_is_neither_owed_nor_repeated() -> None:
    """Flipping for ever is no excuse any more, and being flipped back is none either: the switch may be left up."""
    asked = {n: p for n, p in ServedSwitch.properties.items() if p.serves}
    results = check_progress(explore(Switch.spec, asked, {}))
    assert {n: r.verdict for n, r in results.items()} == {"served": "violated", "served_or_up": "holds"}
    trace = results["served"].trace
    assert trace is not None
    assert ([e.action for e in trace.events], trace.loop) == (["flip"], 1)
    owed = decide(Switch, {"finished": SwitchProperties.properties["finished"]})
    assert owed.trace is not None and len(owed.trace) == 2, "without that, only flipping for ever is left"


def test_weak_fairness_leaves_a_cycle() -> None:
    """What is possible now and then only is not owed weakly: the switch goes up and down for ever."""
    result = decide(Switch, SwitchProperties.properties)
    assert result.verdict == "violated"
    assert result.trace is not None
    assert [e.action for e in result.trace.events] == ["flip", "flip"]
    assert result.trace.loop == 0


def test_strong_fairness_forbids_the_cycle() -> None:
    """What is possible again and again is owed strongly: the work is finished."""
    assert decide(StrongSwitch, SwitchProperties.properties).verdict == "holds"


def test_without_fairness_nothing_need_happen() -> None:
    """Where nothing is owed the initial state is where it all may end."""
    result = decide(IdleSwitch, SwitchProperties.properties)
    assert result.verdict == "violated"
    assert result.trace is not None
    assert (len(result.trace.events), result.trace.loop) == (0, 0)


@pytest.mark.parametrize("protocol", [Counter, LimitedCounter])
def test_bounds_make_no_livelock(protocol: type[Protocol]) -> None:
    """A step that only a bound or a limit stops counts as taken, and the result says so."""
    result = decide(protocol, CounterProperties.properties, most=3)
    assert result.verdict == "holds"
    assert result.note is not None
    assert "grow" in result.note


def test_a_dead_end_is_found() -> None:
    """The same counter, stopped by a rule, rests where nothing is owed."""
    result = decide(DeadCounter, CounterProperties.properties, most=3)
    assert result.verdict == "violated"
    assert result.trace is not None
    assert result.trace.states[-1] == {"n": 2}
    assert result.trace.loop == 2


def test_faults_end_with_their_budget() -> None:
    """Crashes throw work away, but not for ever."""
    assert decide(Crashing, CrashingProperties.properties, workers=2, crashes=2).verdict == "holds"


def test_a_livelock_of_one_worker_is_found() -> None:
    """A worker that gives up again and again waits for ever, while the other one's work is done first, as is owed."""
    result = decide(Abandoning, CrashingProperties.properties, workers=2, crashes=0)
    assert result.verdict == "violated"
    assert result.parameters == {"w": 0}
    assert result.trace is not None
    assert {(e.action, e.parameters["w"]) for e in result.trace.events[result.trace.loop :]} >= {
        ("begin", 0), ("give_up", 0),
    }  # fmt: skip


def test_a_stopped_search_decides_only_what_it_saw() -> None:
    """Where the search was stopped, waiting states at its edge count as leaving, and the verdict is unknown."""
    properties = CrashingProperties.properties
    found = explore(Crashing.spec, properties, {"workers": 2, "crashes": 2}, max_states=3)
    assert not found.complete
    (result,) = check_progress(found).values()
    assert result.verdict == "unknown"
    assert result.note is not None


def test_too_large_a_graph_is_refused() -> None:
    """The number of steps is limited, with advice."""
    found = explore(Crashing.spec, CrashingProperties.properties, {"workers": 2, "crashes": 2})
    with pytest.raises(TooManySteps, match="choose smaller bounds"):
        check_progress(found, max_steps=3)
