"""The example history of each protocol keeps every promise and is followed by the model to its end; each edit of it
that breaks something is found by exactly the properties that it names, and by the model unless it is listed here."""

import pytest
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.seeded_violations import SEEDED_HISTORIES

UNJUDGED = {
    "transactions": {"lone_client_never_fenced"},
    "group-fencing": {"initialised_when_settled", "lone_client_not_fenced", "no_other_error_ends_it"},
    "source-offsets": {"aborted_as_asked", "tombstones_beside_first", "fills_what_is_empty"},
    "source-commits": {"fails_for_a_reason"},
}  # fmt: skip
"""Properties on which an example has no event to judge: it takes another configuration, or an error."""
FOLLOWED = {"task-counts": "B", "group-fencing": "shipped"}
"""The variant of whose model an example is."""
NOT_FOLLOWED = {
    "group-fencing": {
        # what an auditor reads, what ends an instance, and what only the drafts promise
        "copied twice", "a record left out", "committed and not copied", "copied and not committed",
        "the last one not done", "initialised too early", "fenced by itself", "ended for nothing",
    },
    "task-counts": {
        # what a worker reads, and the group, is not in the core
        "an assignment behind the counts", "writes though it knows", "a follower writes", "a plain producer",
        "claimed in between",
        # nor are epochs, but for who was fenced, what comes of a history that ends, and columns that repeat what is
        # known
        "fenced and commits", "the same epoch", "fails for good", "its worker is gone", "beyond every count",
        "polls without a count", "a round for too many", "another id fenced", "a task without a configuration",
        # steps that nothing else shows are made as late as they can be
        "no look before the count", "no second look", "opened after a refusal",
        # a round that is refused is made again, by whatever error it was refused
        "a round that does not wait",
    },
}  # fmt: skip
"""Edits that the history properties alone report."""
IMPLIED = {
    "task-counts": set(),
    "transactions": {
        "aborts_unread", "open_unread", "reads_as_decided", "fenced_unread", "fenced_never_commit",
        "markers_as_decided", "transactions_share_fate", "markers_agree", "ends_bump_epoch",
    },
}  # fmt: skip
"""Properties that no edit breaks alone."""
EVERY = [(protocol, name) for protocol in SEEDED_HISTORIES for name in SEEDED_HISTORIES[protocol].violations]


def config_of(protocol: str) -> dict[str, object]:
    return {"quiet_end": True, **SEEDED_HISTORIES[protocol].config}


@pytest.mark.parametrize("protocol", list(SEEDED_HISTORIES))
def test_the_example_keeps_every_promise(protocol: str) -> None:
    findings, figures = properties_of(protocol).check(SEEDED_HISTORIES[protocol].edited(""), config=config_of(protocol))
    assert {name for name, found in findings.items() if found.violations} == set()
    unjudged = {name for name, found in findings.items() if not found.judged}
    assert unjudged == UNJUDGED.get(protocol, set())
    assert any(figures.values())


@pytest.mark.parametrize(("protocol", "name"), EVERY, ids=[" ".join(each) for each in EVERY])
def test_an_edit_is_found_by_what_it_breaks_alone(protocol: str, name: str) -> None:
    """To the last violation, with a first one in one line.  That each property is broken by some edit is tested by
    tests/proofs/necessity/test_killers_kept.py."""
    example = SEEDED_HISTORIES[protocol]
    findings, _ = properties_of(protocol).check(example.edited(name), config=config_of(protocol))
    assert {n: found.violations for n, found in findings.items() if found.violations} == example.violations[name].found
    for broken in example.violations[name].found:
        first = findings[broken].first
        assert first is not None and first.property == broken and "\n" not in first.told


@pytest.mark.parametrize("protocol", IMPLIED)
def test_most_properties_can_be_broken_alone(protocol: str) -> None:
    found = [violation.found for violation in SEEDED_HISTORIES[protocol].violations.values()]
    alone = {name for each in found for name in each if len(each) == 1}
    assert set(properties_of(protocol).names) - alone == IMPLIED[protocol]


@pytest.mark.parametrize("protocol", list(SEEDED_HISTORIES))
def test_what_a_mode_does_not_promise_are_properties(protocol: str) -> None:
    held = properties_of(protocol)
    assert {name for names in held.broken_by_design.values() for name in names} <= {*held.names}


@pytest.mark.parametrize("protocol", FOLLOWED)
def test_the_example_is_followed_to_its_end(protocol: str) -> None:
    columns, example = SEEDED_HISTORIES[protocol].edited(""), SEEDED_HISTORIES[protocol]
    kernel = conformance_kernel(FOLLOWED[protocol], example.config, protocol)
    assert kernel.misfits(columns) == kernel.misfits_plainly(columns) == []
    assert not kernel(columns).undecided


@pytest.mark.parametrize(("protocol", "name"), [each for each in EVERY if each[0] in FOLLOWED])
def test_the_model_finds_what_it_has_a_state_for(protocol: str, name: str) -> None:
    """By both readings."""
    example = SEEDED_HISTORIES[protocol]
    kernel, columns = conformance_kernel(FOLLOWED[protocol], example.config, protocol), example.edited(name)
    found = kernel.misfits(columns)
    assert found == kernel.misfits_plainly(columns)
    assert bool(found) == (name not in NOT_FOLLOWED[protocol])
