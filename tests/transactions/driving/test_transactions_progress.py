"""txn.P11: These tests check which living clients must make progress, and the report on one that cannot."""

import pytest
from fencepost.properties.driving import make, waiting
from fencepost.properties.monitoring import HistoryMonitor
from fencepost.properties.transactions.interface import BOUND_MS, Call, message
from fencepost.properties.transactions.scenarios.monitoring import TransactionsContext
from fencepost.properties.transactions.scenarios.steps import slots_of
from fencepost.reference_impl.defects.transactions import REGISTRY
from fencepost.reference_impl.systems.transactions import reference

INIT = message("init", "client-0", "coordinator")
INITIALISED = (
    ("init", 0), ("deliver", INIT), ("log_append",), ("deliver", message("init_answer", "coordinator", "client-0")),
)  # fmt: skip
LOST = (("init", 0), ("drop", INIT))
NOT_RECORDED = (("init", 0), ("deliver", INIT), ("log_append", False))
BATCH_LOST = (*INITIALISED, ("begin", 0), ("send", 0, 0), ("drop", message("produce", "client-0", "partition-0")))
NEW_RIVAL = (*INITIALISED, ("init", 1), ("deliver", message("init", "client-1", "coordinator")), ("log_append",))
GAP = "error OUT_OF_ORDER_SEQUENCE_NUMBER (45)"


def played(factory, *calls, **config):
    """Return what became of these calls, and the first promise that they broke."""
    config = {"seed": 0, "mode": "v2", "clients": 2, "partitions": 2, "groups": 1, **config}
    system, monitor = factory(config), HistoryMonitor("transactions", config, frozenset(), TransactionsContext)
    made = []
    for name, *arguments in calls:
        made.append(make(system, Call.within(config, name, *arguments)))
        assert made[-1] is not None, (name, arguments)
        monitor.watch(made[-1], waiting(system))
    return made, monitor.found


@pytest.mark.parametrize("mode", ["v2", "v1", "v1-verified"])
@pytest.mark.parametrize("calls", [INITIALISED, LOST, NOT_RECORDED])
def test_a_right_client_gets_on(mode, calls):
    made, found = played(reference, *calls, ("progress", 0), ("progress", 0), mode=mode)
    assert [each.result.through for each in made[-2:]] == [True, True]
    assert made[-1].result.waited_ms < 10_000 < BOUND_MS
    assert found is None


@pytest.mark.parametrize(
    ("name", "calls", "says"),
    [
        ("numbers_go_on", INITIALISED, f"2 of 8 transactions end as it asks, of 3 that should; {GAP}"),
        ("renumbers_the_latest_partition", INITIALISED, f"{GAP} comes 7 times"),
        ("waits_after_an_abort", INITIALISED, "waits in beginTransaction for more than 156 s"),
        ("latch_opens_once", INITIALISED, "waits in beginTransaction for more than 156 s"),
        ("coordinator_asked_once", LOST, "waits in initTransactions for more than 156 s"),
        ("back_off_not_set", NOT_RECORDED, "waits in initTransactions for more than 156 s"),
        ("lost_batches_stay_lost", (*BATCH_LOST, ("commit", 0)), "waits in commitTransaction for more than 156 s"),
        ("sleeps_while_others_are_added", INITIALISED, "waits in commitTransaction for more than 156 s"),
    ],
)  # fmt: skip
def test_one_that_cannot_is_named(name, calls, says):
    made, found = played(REGISTRY[name], *calls, ("progress", 0), **dict(REGISTRY[name].needs))
    assert not made[-1].result.through
    assert (found.rule, found.check) == ("txn.P11", "result.through")
    assert str(found).startswith("txn.P11: client 0 is alive and not fenced, faults have stopped, and it ")
    assert says in str(found)


def test_nothing_is_promised_to_others():
    for calls, slots in (((), []), (NEW_RIVAL, [1]), ((*INITIALISED, ("restart_client", 0)), [])):
        made, found = played(REGISTRY["latch_opens_once"], *calls, ("progress", 0))
        assert slots_of(made[:-1]) == slots
        assert found is None
    fenced, found = played(reference, *NEW_RIVAL, ("progress", 0))
    assert not fenced[-1].result.through
    assert found is None
