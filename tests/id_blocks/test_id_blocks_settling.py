"""730.P3: When faults are over, driven clients of every broker get ids as long as there are any."""

from typing import Any

import pytest
from block_bench import fetch_block
from broken_lines import lines, reached
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Run
from fencepost.properties.id_blocks import scenarios
from fencepost.properties.id_blocks.interface import CONTROLLER, Call, settle
from fencepost.properties.monitoring import Broken
from fencepost.properties.roles import Named
from fencepost.reference_impl.defects.id_blocks import REGISTRY, AdvancedOneTooLittle, OverlapByOneAccepted
from fencepost.reference_impl.kafka.producer_ids.broker import ProducerIds
from fencepost.reference_impl.systems.id_blocks import Parts, build, reference

ID_BLOCKS = driven("id-blocks")
CONFIG: dict[str, Any] = {
    "seed": 0, "brokers": 2, "controllers": 3, "block_size": 2, "max_id": 1_001, "mode": "kraft", "prefetch": 0.0,
}  # fmt: skip
ASK, END = Call("init_producer_id", 0), Call.within(CONFIG, "settle")
REFUSED = (
    Call("set_cluster_action", 0, False),
    ASK,
    Call("deliver", Named(("request", 0))),
    Call("deliver", Named(("response", 0))),
)
LOST = (ASK, Call("drop", Named(("request", 0))))


def found(factory: Any, calls: Any, **config: Any) -> Broken | None:
    """Return the broken promise that a run of these calls ends with once faults are over, or None."""
    whole = {**CONFIG, **config}
    monitor = ID_BLOCKS.monitoring(whole, frozenset())
    monitor.observed = ID_BLOCKS.black_box
    run = Run(factory, whole, monitor)
    for call in (*calls, Call.within(whole, "settle")):
        run.call(call)
    return monitor.found


@pytest.mark.parametrize("mode", ["kraft", "zookeeper", "bridge"])
def test_every_broker_is_served(mode: str) -> None:
    for ids in (1_001, 9):
        settled = settle(reference({**CONFIG, "mode": mode, "max_id": ids}), 2, ids, mode != "kraft")
        assert settled.quiet
        assert settled.asked_for > 0
        assert settled.starving == () or ids == 9
    assert found(reference, (*REFUSED, *LOST)) is None


@pytest.mark.parametrize(
    ("name", "calls"),
    [("in_flight_kept_on_error", REFUSED), ("backoff_never_over", REFUSED), ("in_flight_kept_on_timeout", LOST)],
)
def test_broker_that_never_asks_again(name: str, calls: Any) -> None:
    """730.P3: The promise is broken when a broker asks for nothing any more after a fault that is over."""
    broken = found(REGISTRY[name], calls)
    assert broken is not None
    assert (broken.rule, broken.check) == ("730.P3", "0 not in result.starving")
    assert found(reference, calls) is None


def test_nothing_is_promised_where_ids_may_be_used_up() -> None:
    """730.16: Lost blocks use up ids too, so that a broker may get none though few were handed out."""
    assert found(REGISTRY["in_flight_kept_on_error"], REFUSED, max_id=9) is None


def test_broker_that_terminates_is_asked_for_nothing() -> None:
    """730.5: According to the KIP, CLUSTER_AUTHORIZATION_FAILED is fatal, so that the stopped broker owes nothing."""
    assert found(reference, REFUSED, authorization_error="fatal") is None


class Double:
    """`Double` wraps the reference, whose behaviour its subclasses change."""

    def __init__(self, config: Any) -> None:
        self.system, self.config = reference(config), config

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)


class PastTheEnd(Double):
    """This cluster hands out an id beyond the last one (730.16)."""

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        return 0, self.config["max_id"]


class Restless(Double):
    """This cluster delivers messages without ever removing them."""

    def deliver(self, number: int, keep: bool = False) -> None:
        self.system.deliver(number, True)


def test_every_line_that_finds_something_has_a_witness() -> None:
    with reached(scenarios) as bitten:
        found(Restless, ())
        found(REGISTRY["in_flight_kept_on_error"], REFUSED)
        found(PastTheEnd, (ASK,), max_id=9)
    assert bitten == lines(scenarios)


def test_what_goes_on_and_on_is_found() -> None:
    """730.P3: A run whose messages have no end violates the promise."""
    broken = found(Restless, ())
    assert broken is not None
    assert (broken.rule, broken.check) == ("730.P3", "result.quiet")


def test_copy_of_an_answer() -> None:
    """730.19: A second copy of an answer gives nothing, in whatever life of the broker it arrives."""
    fetch = (ASK, Call("deliver", Named(("request", 0))), Call("commit"), Call("deliver", Named(("response", 0)), True))
    used = (ASK, ASK, ASK)
    copy = (Call("deliver", Named(("response", 0))), ASK, ASK)
    for name, between in (
        ("duplicate_answer_installed", ()),
        ("stale_answer_installed", (Call("restart_broker", 0),)),
        ("numbers_begin_again", (Call("restart_broker", 0), ASK)),
    ):
        calls = (*fetch, *used, *between, *copy)
        broken = found(REGISTRY[name], calls)
        assert broken is not None and broken.rule == "730.P1", name
        assert found(reference, calls) is None


def test_ids_begin_again_at_the_end() -> None:
    """730.16: With few ids all of them are used up, and none is handed out twice."""
    broken = found(REGISTRY["begins_again_at_the_end"], (), mode="bridge", max_id=9)
    assert broken is not None and broken.rule == "730.P1"
    assert found(reference, (Call("zk_step", CONTROLLER),), mode="bridge", max_id=10) is None


@pytest.mark.parametrize(("broker", "twice"), [(OverlapByOneAccepted, True), (ProducerIds, False)])
def test_an_overlap_by_one(broker: type[ProducerIds], twice: bool) -> None:
    """KAFKA-20031: The start of a new block was compared with `<`, so that one equal to the last id passed. The correct
    broker refuses [9, 18] after [0, 9] from a controller that counts one id too few."""
    system = build({"block_size": 10, "max_id": 1000, "prefetch": 0}, Parts(broker, AdvancedOneTooLittle))
    ids = []
    for _ in range(2):
        fetch_block(system, 0)
        answers = [system.init_producer_id(0) for _ in range(10)]
        ids += [producer_id for error, producer_id in answers if not error]
    assert (len(set(ids)) < len(ids)) == twice
