"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.transactions.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: one of txn.P1 to txn.P9 fails for clients and readers;
- CONFORMANCE: every promise holds, but there are events that no correct implementation shows;
- PROGRESS: something stays unresolved, or a client never gets on, though faults have stopped (txn.P10, txn.P11);
- NOTHING: a control, harmless as long as everything else is right.
"""

from fencepost.reference_impl.simulation.defects import registry
from fencepost.reference_impl.transactions.defects import client, coordinator, partition, retries, several, successors
from fencepost.reference_impl.transactions.system import Parts, build

REGISTRY = registry(Parts, build, coordinator, partition, client, retries, successors, several)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
