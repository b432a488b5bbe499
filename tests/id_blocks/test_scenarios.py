"""Bugs that Apache Kafka had, by their public numbers: with the bug a promise fails, mended it holds, in model and
implementation alike."""

import pytest
from block_bench import fetch_block
from command_line import fencepost
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.catalogue import Scenario, Variant, bounds_of
from fencepost.properties.id_blocks.scenarios import KNOWN_BUGS
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.reference_impl.id_blocks.broker import ProducerIds
from fencepost.reference_impl.id_blocks.defects.broker import OverlapByOneAccepted
from fencepost.reference_impl.id_blocks.defects.controller import AdvancedOneTooLittle
from fencepost.reference_impl.id_blocks.system import Parts, build

SCENARIOS = {known.name: known for known in ID_BLOCKS.scenarios}


def test_the_known_bugs() -> None:
    """The three of producer id blocks that broke a promise, or would have if another had not held."""
    assert list(SCENARIOS) == ["KAFKA-15552", "KAFKA-20031", "KAFKA-14694"]


def model(known: Scenario, broken: bool) -> tuple[Variant, dict[str, int]]:
    """The variant with or without the bug, within the bounds that the bug needs."""
    variant = ID_BLOCKS.variant(known.broken if broken else known.fixed)
    return variant, bounds_of(ID_BLOCKS.variant(known.broken), "smoke")


@pytest.mark.parametrize("name", SCENARIOS)
def test_broken_in_the_model(name: str) -> None:
    """An id is handed out twice."""
    variant, bound = model(SCENARIOS[name], broken=True)
    assert first_broken(variant.spec, {"no_id_twice": variant.asked["no_id_twice"]}, bound) is not None


@pytest.mark.parametrize("name", SCENARIOS)
def test_mended_in_the_model(name: str) -> None:
    """Within the same bounds every promise holds, and ids are handed out."""
    variant, bound = model(SCENARIOS[name], broken=False)
    assert first_broken(variant.spec, variant.asked, bound) is None


def test_which_the_implementation_shows() -> None:
    """Those that are played by calls, and one that takes a controller that is wrong as well."""
    assert {known.name for known in SCENARIOS.values() if known.played} == {*SCENARIOS} & {*KNOWN_BUGS, "KAFKA-20031"}


@pytest.mark.parametrize(("broker", "twice"), [(OverlapByOneAccepted, True), (ProducerIds, False)])
def test_an_overlap_by_one(broker: type[ProducerIds], twice: bool) -> None:
    """KAFKA-20031: the start of a new block was compared with `<`, so that one equal to the last id passed.  Of a
    controller that counts one id too few, and answers [9, 18] after [0, 9], a broker that is right refuses that."""
    system = build({"block_size": 10, "max_id": 1000, "prefetch": 0}, Parts(broker, AdvancedOneTooLittle))
    ids = []
    for _ in range(2):
        fetch_block(system, 0)
        answers = [system.init_producer_id(0) for _ in range(10)]
        ids += [producer_id for error, producer_id in answers if not error]
    assert (len(set(ids)) < len(ids)) == twice


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_counterexample_can_be_read(name: str) -> None:
    """`fencepost show` tells the model's run of the bug, as predicted."""
    known = SCENARIOS[name]
    ran = fencepost("show", f"id-blocks/{known.broken}", "no id twice")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1].startswith("It is broken after ")
    assert "given_twice = yes" in ran.out
