"""Each layer's defects in the whole system: it runs with all of them, and notices those that break a promise."""

from dataclasses import replace

import pytest
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import VOCABULARIES, Manifest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.transactions.events.kinds import Kind as TransactionKind
from fencepost.reference_impl.defects.end_to_end import FOLDERS, OF_WHAT_IS_LATE, REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.systems.end_to_end import simulate
from fencepost.reference_impl.systems.end_to_end_parts import Parts
from whole_batches import batch
from whole_defects import (
    STATED_AS,
    Sought,
    also_broken,
    code_of,
    is_named,
    made,
    named,
    of_rule,
    promises,
    size,
    violated,
)

NOTICED = {
    "task-counts:fence_new_count": "task-counts: producers_covered",
    "transactions:stable_offset_inclusive": "transactions: aborts_unread",
    "transactions:reader_skips_for_ever": "transactions: commits_kept",
    "group-fencing:offsets_outside": "group-fencing: nothing_twice",
    "id-blocks:ids_shifted_on_even_brokers": "id-blocks: ids_unique",
    "source-offsets:offsets_in_another_transaction": "end-to-end: once_in_the_sink",
    "whole:commits_what_is_left": "end-to-end: given_up_stays_out",
    "whole:output_of_the_task": "end-to-end: none_left_out_of_the_sink",
}
"""Some that show soon, and by what."""
UNKNOWN_MEMBER_ID = 25
CONTROLS = tuple(name for name, defect in REGISTRY.items() if defect.breaks is Breaks.NOTHING)


@pytest.mark.parametrize("layer", FOLDERS)
def test_a_system_with_any_defect_runs(layer: str) -> None:
    """For a while at least: where no client gets an answer any more the history ends."""
    for name in REGISTRY:
        if not name.startswith(f"{layer}:"):
            continue
        config = {"broken": name, "events": 200, "quiet_end": False}
        histories, raised = made(range(1), config)
        assert raised == [], name
        assert size(histories) > 0
        assert set(simulate.vocabularies(config)) == set(simulate.vocabularies({}))


@pytest.mark.parametrize(("name", "by"), NOTICED.items())
def test_what_a_defect_breaks_is_noticed(name: str, by: str) -> None:
    """By a promise, and where the rule's necessity is searched, by one that it names."""
    defect = REGISTRY.find(name)
    config = {"broken": name}
    found: dict[str, tuple[str, int, str]] = {}
    for first in range(0, 100, 10):
        found = violated(made(range(first, first + 10), config)[0], config)
        if by in found:
            break
    assert by in found, found.keys()
    assert defect.rule not in named() or is_named(defect.rule, {}, by, found[by][0])


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_raise_no_alarm(name: str) -> None:
    """What breaks no promise is not noticed as if it did."""
    config = {"broken": name}
    assert violated(made(range(5), config)[0], config) == {}


def _needs(name: str) -> str:
    defect = REGISTRY.find(name)
    return repr(
        (defect.needs, sorted((layer, sorted(keys.items())) for layer, keys in defect.parts.needs.items() if keys))
    )


ONE_OF_EACH = {
    _needs(name): name for name in REGISTRY if REGISTRY.find(name).parts != Parts(needs=REGISTRY[name].parts.needs)
}
IN_THE_CONFIG = ("listener", "max_id")
"""Keys that are what is wrong, or its condition: a group without a listener, ids that run out."""


RIGHT = [n for key, n in ONE_OF_EACH.items() if not any(word in key for word in IN_THE_CONFIG)]
EVERY_RUN = {name.partition(":")[0]: name for name in reversed(RIGHT)}
"""Of each layer the first: a system that is right with what one defect needs. The others are of some nights."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in EVERY_RUN.values() else pytest.mark.nightly(nights=12)) for n in RIGHT]
)
def test_what_a_defect_needs_does_no_harm_by_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the defect would not be what is noticed."""
    needs = REGISTRY.find(name)
    monkeypatch.setitem(REGISTRY, "none", replace(needs, name="none", parts=Parts(needs=needs.parts.needs)))
    config = {"broken": "none"}
    assert violated(made(range(6, 8), config)[0], config) == {}


def test_before_the_second_part_of_kip_890_the_whole_system_fits_its_model() -> None:
    """With late copies, and a group's coordinator that refuses offsets of who is not its member: nothing is violated
    that a late copy does not explain."""
    name = "transactions:zombie_init_renewed"
    defect = REGISTRY.find(name)
    assert defect.reported_in == ("transactions",)
    right = replace(defect, name="right", parts=Parts(needs=defect.parts.needs), reported_in=())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REGISTRY, "right", right)
        histories, _ = made(range(25, 28), {"broken": "right"})
        reported = simulate.vocabularies({"broken": "right"})["transactions"]
    columns = columns_of(VOCABULARIES["transactions"], [(n, rows["transactions"]) for n, rows in histories])
    assert ((columns["kind"] == TransactionKind.batch_refused) & (columns["error"] == UNKNOWN_MEMBER_ID)).any()
    manifest = Manifest("transactions", tuple(VOCABULARIES["transactions"].codes), (), **reported)
    assert not conformance_of(manifest)(columns).violations


def test_what_is_said_of_defects_is_of_some_that_there_are() -> None:
    """And of promises and history properties that there are."""
    assert {f"transactions:{name}" for name in OF_WHAT_IS_LATE} <= REGISTRY.keys()
    known = {promise for of_rule in promises().values() for promise in of_rule}
    assert STATED_AS.keys() <= known
    for stated in STATED_AS.values():
        for protocol, _, name in (one.partition(": ") for one in stated):
            assert name in properties_of(protocol).names


def test_a_result_is_void_when_what_it_depends_on_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect's own needs, and not those of another."""
    one, other = "transactions:init_keeps_epoch", "transactions:end_takes_older_epoch"
    before = code_of(one), code_of(other)
    code_of.cache_clear()
    monkeypatch.setitem(REGISTRY, one, replace(REGISTRY.find(one), needs=(("drop", 0.5),)))
    assert code_of(one) != before[0]
    assert code_of(other) == before[1]
    code_of.cache_clear()


def test_a_search_goes_on_where_it_was() -> None:
    """Few events first, then more: the same as all at once, seconds aside. None is tried after one that is found."""
    name = "task-counts:fence_new_count"
    sought = Sought(REGISTRY.find(name).rule, (name, "transactions:no_such_defect"))
    few = of_rule(replace(sought, defects=(name,)), 1, {}, None)["defects"]
    assert not few[name]["named"]
    parts, whole = (of_rule(sought, 1_500_000, before, {})["defects"] for before in (few, {}))
    assert parts.keys() == whole.keys() == {name}
    ended, at_once = (dict(one[name], seconds=0) for one in (parts, whole))
    assert ended == at_once
    assert ended["named"]["property"].startswith("task-counts: ")


def test_what_else_is_broken_without_a_rule() -> None:
    """The kept verdict has what breaks soonest; others take more steps."""
    soonest, further = promises()["618.16"], also_broken("618.16")
    assert soonest and not soonest.keys() & further.keys()
    assert {name: one["number"] for name, one in further.items()} == {"no_zombie": "618.P1"}
    assert further["no_zombie"]["steps"] > 1


def test_a_batch_of_the_campaign() -> None:
    """It has been judged in all words, and nothing is violated."""
    reported = batch(seed=77, histories=8)
    assert reported["violations"] == {}
    assert set(reported["events"]) == set(simulate.vocabularies({}))
    assert all(any(counts.values()) for counts in reported["judged"].values())


def test_what_cannot_be_made_is_refused() -> None:
    """A defect or a key that there is none of."""
    with pytest.raises(KeyError, match="no broken implementation is called 'transactions:nothing'"):
        simulate(1, {"broken": "transactions:nothing"})
    with pytest.raises(ValueError, match="unknown keys"):
        simulate(1, {"partitions": 3})
