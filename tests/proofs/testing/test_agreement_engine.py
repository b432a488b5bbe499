"""What agreement says, and how it fails when it is the implementation's or the caller's fault."""

import gc
import weakref

import agreement_doubles
import pytest
from fencepost.proofs.results import Event
from fencepost.proofs.testing import ImplementationError, agree, calls_from
from fencepost.proofs.testing.engine import reach
from fencepost.proofs.testing.readings import read_followed
from fencepost.proofs.testing.words import with_values
from fencepost.properties.calls import Named
from fencepost.properties.conformance_spec import driven
from fencepost.properties.id_blocks.interface import Call
from fencepost.reference_impl.systems.id_blocks import reference
from hypothesis.database import InMemoryExampleDatabase

BROKEN = "fencepost.reference_impl.defects.id_blocks"


def test_disagreement_names_event_conjunct_and_rule():
    """The first bad event, the guard that was false with its values, its rule in words, and what comes of going on."""
    failure = agree(f"{BROKEN}:answers_before_commit", max_examples=20).failure
    text = str(failure)
    assert failure.first_bad.startswith("answer_sent(") and "deliver(0)" in failure.first_bad
    assert "answer: first[r] + length_of[r] <= committed" in text
    assert "[730.7: The record of a block is committed before the block is sent" in text
    assert "after a fail-over, 730.P" in text


def test_false_conditions_name_errors():
    """A condition on an answer's error names the errors of both sides, unless the columns are not known for errors."""
    agreeing = driven("id-blocks")
    reading = read_followed(agreeing.follow("kraft", agreeing.small))
    condition = next(
        c for c in reading.observations["answer_sent"].before if c.columns == ("broker", "error", "request")
    )
    given = condition.term, reading.plain, reading.plain.initial(), {"broker": 0, "error": 31, "request": 0}
    assert with_values(*given, reading.followed.errors) == (
        "if error = STALE_BROKER_EPOCH then registered[broker] != asker_epoch[request]"
        "  (broker 0; error CLUSTER_AUTHORIZATION_FAILED (31); request 0)"
    )
    assert with_values(*given).endswith("(broker 0; error 31; request 0)")


def test_program_is_real_calls():
    """The program imports the factory, makes the shortest run of calls on a concrete cluster, and ends with an
    assertion."""
    lines = agree(f"{BROKEN}:answers_before_commit", max_examples=20).program.splitlines()
    assert lines[0] == f"from {BROKEN} import answers_before_commit as factory"
    assert lines[1].startswith("system = factory({'seed': 0, 'brokers': 1,")
    assert lines[2] == "system.init_producer_id(0)"
    assert "system.deliver(0)  # request of broker 0" in lines
    assert lines[-1].startswith("assert ")


def test_missing_event_is_a_disagreement():
    """A broker that refuses an id and asks none for a block disagrees at the end of the call, where an event is
    missing."""
    failure = agree(f"{BROKEN}:in_flight_kept_on_timeout", max_examples=20).failure
    assert "without request_sent" in failure.first_bad
    assert failure.rules == ("730.P3",)
    assert "assert kinds & {'request_sent'}" in failure.program


def test_search_leaves_nothing_in_memory():
    """Campaigns are thousands of searches in one process: the systems of one that is over are gone."""
    made: list[weakref.ref[object]] = []

    def remembered(config: dict[str, object]) -> object:
        system = reference(config)
        made.append(weakref.ref(system))
        return system

    assert agree(remembered, protocol="id-blocks", max_examples=5).verdict == "holds"
    gc.collect()
    assert len(made) >= 5 and not [each for each in made if each() is not None]


def test_result_that_the_events_contradict():
    """The id that the client got counts too: an event that speaks of another one gives the implementation away."""
    failure = agree(agreement_doubles.lying, max_examples=20).failure
    assert "returned (0, " in failure.first_bad
    with pytest.raises(AssertionError):
        exec(failure.program, {})


def test_call_that_raises():
    """An implementation that breaks down disagrees, and its program raises what it raised."""
    report = agree(agreement_doubles.crashing, max_examples=20)
    assert "raised ZeroDivisionError('nobody is left')" in report.failure.first_bad
    with pytest.raises(ZeroDivisionError):
        exec(report.program, {})


def test_implementation_that_is_not_deterministic():
    """A failure that does not happen again is the implementation's fault, and it is told what to do about it."""
    with pytest.raises(ImplementationError, match=r"is not deterministic.*take all randomness from config\['seed'\]"):
        agree(agreement_doubles.moody, max_examples=20)


@pytest.mark.parametrize("name", ["no_such_module:factory", f"{BROKEN}:no_such_factory", "no_colon"])
def test_implementation_that_is_not_there(name):
    """A name that leads nowhere is refused with the form that is meant."""
    with pytest.raises(ImplementationError, match="give a factory as module:factory"):
        agree(name)


def test_unknown_variant():
    """A variant that the model does not have is refused with those that there are."""
    with pytest.raises(ValueError, match="there are kraft, zookeeper, bridge"):
        agree(f"{BROKEN}:double_prefetch", variant="raft")


def test_factory_that_cannot_be_imported_has_no_name():
    """A local function has no name to import, and its program takes `factory` from where it is pasted."""
    assert reach(lambda config: None)[1] == ""
    assert reach(agreement_doubles.crashing)[1] == "agreement_doubles:crashing"


def test_database_keeps_the_failure():
    """With a database the failing example is tried first the next time."""
    database = InMemoryExampleDatabase()
    first = agree(f"{BROKEN}:backoff_never_over", max_examples=40, database=database)
    again = agree(f"{BROKEN}:backoff_never_over", max_examples=40, database=database, seed=99)
    assert first.examples > 1
    assert again.examples == 1


def test_prefix_leads_to_a_deep_bug_at_once():
    """A run of the model, turned into calls, starts every other example next to the mistake."""
    run = [
        Event("ask", {"b": 0, "r": 0}), Event("allocate", {"b": 0, "r": 0}), Event("commit", {}),
        Event("take_snapshot", {}), Event("forget", {"r": 0}), Event("fail_over", {}), Event("restart", {"b": 0}),
        Event("ask", {"b": 0, "r": 0}), Event("allocate", {"b": 0, "r": 0}),
    ]  # fmt: skip
    prefix = calls_from(run, "id-blocks")
    assert prefix[:3] == [Call("init_producer_id", 0), Call("deliver", Named(("request", 0))), Call("commit")]
    assert len(prefix) == 8
    report = agree(f"{BROKEN}:snapshot_omits_next_id", max_examples=5, steps=1, prefixes=[prefix])
    assert report.verdict == "violated"
    assert report.examples == 1
