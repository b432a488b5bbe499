"""A live Kafka, held to every corner that the documents leave open or that was only deduced from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from corner import SETTINGS, Bench, Corner, bench, hold
from corners_all import CORNERS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

IN_ORDER = sorted(CORNERS.values(), key=lambda each: each.on)  # one cluster after the other


@pytest.fixture(scope="module")
def at(jars_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bench]]:
    """The cluster of a name; the one before is stopped, so that no two run at once."""
    running: dict[str, Bench] = {}
    with ExitStack() as stack:

        def give(on: str) -> Bench:
            if on not in running:
                stack.close()
                running.clear()
                running[on] = stack.enter_context(
                    bench(on, jars_of(SETTINGS[on].release), tmp_path_factory.mktemp("corners"))
                )
            return running[on]

        yield give


@pytest.mark.parametrize("each", IN_ORDER, ids=lambda each: each.id)
def test_kafka_answers_as_written_down(at: Callable[[str], Bench], each: Corner) -> None:
    """Every request of the corner's program is answered as the corner says."""
    hold(each, at(each.on))
