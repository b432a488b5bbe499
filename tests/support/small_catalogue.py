"""A catalogue in which `verify` takes seconds: every stage, on the smallest variants of producer id blocks.

Run as a script it is the command line over this catalogue, for tests in processes of their own.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest import mock

from fencepost.proofs import replays, verify
from fencepost.properties.catalogue import ProtocolEntry, Variant
from fencepost.properties.id_blocks.variants import ID_BLOCKS

NAMES = ("zookeeper", "by-broker-id", "by-broker-id-repaired")


def _same(variant: Variant) -> Variant:
    return variant


def small_entry(change: Callable[[Variant], Variant] = _same) -> ProtocolEntry:
    """Producer id blocks with a main variant, two others, one implementation, a simulator and the recordings."""
    chosen = [change(ID_BLOCKS.variant(name)) for name in NAMES]
    # Histories are of kraft, a large variant that is left to other tests: another stands here under its name.
    name = replace(ID_BLOCKS.variant("by-broker-id-repaired"), name="kraft", asks=())
    return replace(
        ID_BLOCKS,
        variants=(*chosen, name),
        implementations=tuple(i for i in ID_BLOCKS.implementations if i[1] == "zookeeper"),
        simulators=tuple(s for s in ID_BLOCKS.simulators if s[0] in ("kraft", "zookeeper")),
        claims=(),
        scenarios=(),
    )


@contextmanager
def small_catalogue(change: Callable[[Variant], Variant] = _same) -> Iterator[None]:
    """Puts the small catalogue in place of the real one, with few examples and histories; ``change`` edits variants."""
    entry = small_entry(change)
    with ExitStack() as stack:
        for where in ("fencepost.properties.catalogue", "fencepost.proofs.cli.verify"):
            stack.enter_context(mock.patch(f"{where}.protocols", lambda: {entry.name: entry}))
        stack.enter_context(mock.patch("fencepost.properties.catalogue._entries", lambda _: (entry,)))
        stack.enter_context(mock.patch.dict(verify.EXAMPLES, smoke=5))
        stack.enter_context(mock.patch.dict(replays.HISTORIES, smoke=5))
        yield


if __name__ == "__main__":
    from fencepost.proofs.cli import main

    with small_catalogue():
        main()
