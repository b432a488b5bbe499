"""Fixtures of the id blocks' reference tests build clusters and select events."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from fencepost.reference_impl.kafka.producer_ids.environment import Event
from fencepost.reference_impl.systems.id_blocks import System, reference

SMALL: dict[str, Any] = {"seed": 0, "brokers": 2, "controllers": 3, "block_size": 10, "max_id": 1000}


@pytest.fixture
def cluster() -> Callable[..., System]:
    """Return a builder of correct driven clusters with blocks of ten ids, whose keywords override the config."""
    return lambda **config: reference({**SMALL, **config})


@pytest.fixture
def kinds() -> Callable[[Iterable[Event]], list[str]]:
    return lambda events: [event.kind for event in events]


@pytest.fixture
def only() -> Callable[[Iterable[Event], str], list[Event]]:
    return lambda events, kind: [event for event in events if event.kind == kind]
