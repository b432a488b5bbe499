"""What holds was tried: no action of the model is left that no run took, and more examples never reach less."""

import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from fencepost.proofs.cli.shared.options import public_name
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.proofs.testing.aiming import untried
from fencepost.proofs.testing.engine import reach
from fencepost.proofs.testing.search import Search
from fencepost.proofs.verify import _agree
from fencepost.properties import registry
from fencepost.properties.catalogue import protocols
from fencepost.properties.conformance_spec import driven
from fencepost.properties.derived import factory
from fencepost.properties.transactions.scenarios.agreement import SMALL
from own_protocols import taken_back

LOCK = "lock"
PACKAGE = f"tests.{LOCK}"


@pytest.fixture(autouse=True, scope="module")
def named() -> Iterator[None]:
    """The lock is a protocol while these tests run."""
    with taken_back(), mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        public_name(PACKAGE)
        yield


def searched(examples: int, seed: int = 1) -> tuple[list[Any], Search]:
    """The programs of a search of so many examples, in order, and the search."""
    search = Search(driven(LOCK), factory(LOCK), "fenced", {}, frozenset(), None, ())
    programs, account = list[Any](), search.account

    def noted() -> None:
        if search.under_way is not None:
            programs.append((search.under_way.config, tuple(search.under_way.tried)))
        account()

    with mock.patch.object(search, "account", noted):
        search.search(seed, examples, search.agreeing.steps, None)
    return programs, search


def test_a_longer_run_begins_as_a_shorter_one() -> None:
    """Its first programs are those of the shorter one, whatever the number, so that it reaches no less."""
    long, search = searched(60)
    for examples in (1, 7, 30):
        short, before = searched(examples)
        assert short == long[: len(short)] and len(short) >= examples
        assert {*untried(search)} <= {*untried(before)}
    assert searched(7, seed=2)[0] != long[:7]


def tried(aimed: int, **further: Any) -> AgreementReport:
    return agree(f"{PACKAGE}.reference:reference", protocol=LOCK, seed=1, max_examples=1, aimed=aimed, **further)


def test_programs_are_aimed_at_what_no_run_took() -> None:
    """One cluster of three calls refuses no write; those that follow go on until one does, and no further."""
    assert tried(0, steps=3).coverage.unreached()
    report = tried(1, steps=3)
    assert (report.verdict, report.untried, report.coverage.unreached()) == ("holds", (), [])
    assert 1 < report.examples <= 101
    again = tried(1, steps=3)
    assert (again.examples, again.coverage.calls) == (report.examples, report.coverage.calls)


class NeverRefuses:
    """A lock whose clients forget a lease that is over before they write, and of which no write is refused."""

    def __new__(cls, config: dict[str, Any]) -> Any:
        system = factory(LOCK)(config)

        def write(client: int) -> bool:
            return bool(system.held[client] >= system.stored and type(system).write(system, client))

        system.write = write
        return system


def test_what_no_run_took_is_inconclusive() -> None:
    """The action is named, nothing holds, and nothing is violated."""
    report = agree(NeverRefuses, protocol=LOCK, seed=1, max_examples=5, aimed=1)
    assert (report.verdict, report.untried, report.failure) == ("unknown", ("refuse",), None)
    assert report.inconclusive == f"no run took refuse of the model, though {report.systems} programs were driven"
    assert report.examples == 105


def test_a_driver_with_scenarios_drives_further_examples() -> None:
    """Twenty at most; what the model declares dead, or no history shows, is not asked for."""
    report = agree(
        driven("id-blocks").reference, protocol="id-blocks", variant="bridge", seed=1, max_examples=2, aimed=1, steps=3
    )
    assert 10 <= report.examples <= 28
    assert report.verdict == "unknown" and "time_out" in report.untried
    assert not {"reject", "write_unseen"} & {*report.untried}
    assert "write_unseen" in report.coverage.unreached() and "reject" not in report.coverage.unreached()


def test_verify_aims_as_agree_does() -> None:
    """It is inconclusive while no run took an action, unless the protocol's entry leaves that out."""
    left, asked = (_agree(NeverRefuses, LOCK, "fenced", 1, 5, left_out) for left_out in (("refuse",), ()))
    assert (left.verdict, left.untried) == ("holds", ()) and left.examples < 20
    assert (asked.verdict, asked.untried, asked.examples) == ("unknown", ("refuse",), 105)


def asked_for(protocol: str, variant: str) -> set[str]:
    """The actions that a run is asked to take, of a variant of which no run took any."""
    agreeing = driven(protocol)
    search = Search(agreeing, reach(agreeing.reference)[0], variant, {}, frozenset(), agreeing.black_box, ())
    search.start({**agreeing.small, "mode": variant})
    return {*untried(search)}


def test_what_no_event_can_be_is_not_asked_for() -> None:
    """An acknowledgement that is lost, or that comes twice at once, is in no event; what ends a message is."""
    hidden, asked = {"mark_unheard", "straggle", "take_out_again"}, asked_for("transactions", "v2")
    assert hidden <= {*driven("transactions").follow("v2", {**SMALL, "mode": "v2"}).spec.actions}
    assert not hidden & asked and {"mark", "start_again", "fail_init"} <= asked
    assert {"lose", "forget"} <= asked_for("id-blocks", "kraft")


LEFT_OUT = [(entry.name, variant) for entry in protocols().values() for variant in entry.left_out]


@pytest.mark.parametrize(("protocol", "variant"), LEFT_OUT)
def test_what_verify_leaves_out_would_be_asked_for(protocol: str, variant: str) -> None:
    """Each is an action of a variant that `verify` drives, and has a reason."""
    entry = protocols()[protocol]
    assert variant in {name for _, name in entry.verified_implementations}
    left_out = entry.left_out[variant]
    assert left_out.keys() <= asked_for(protocol, variant) and all(left_out.values())
