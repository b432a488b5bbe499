"""Implementations that break one rule of the interface each: whom `commit` with offsets calls, and of what it speaks.

Tests that are marked with the rule find them. Each is reachable as
`fencepost.reference_impl.defects.source_commits_interface:<name>`.
"""

from fencepost.reference_impl.connect.commits.connector import Connector
from fencepost.reference_impl.connect.commits.records import Offsets
from fencepost.reference_impl.connect.commits.task import WorkerSourceTask
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    defect,
    registry,
)
from fencepost.reference_impl.systems.source_commits import Parts, build


@defect("src.6", CONFORMANCE)
class DefaultDoesNothing(Connector):
    """The default of commit with offsets does not call the one without, so that an existing connector hears nothing."""

    def commit(self, offsets: Offsets | None) -> None:
        if offsets is None:
            super().commit(offsets)


@defect("src.9", CONFORMANCE)
class WhateverIsStored(WorkerSourceTask):
    """The map has all that is stored, whoever has written it."""

    def commit_source_task(self, thread: int, offsets: Offsets, ok: bool) -> None:
        stored = {partition: offset for partition, offset in enumerate(self.env.topics.stored) if offset}
        super().commit_source_task(thread, {**stored, **offsets}, ok)


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
