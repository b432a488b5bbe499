"""What is true of a driven group that no property of histories says: what may end an instance once faults are over.

An instance that is started when nothing is under way any more, in a slot whose former instance has ended, has its
transactional id and its place in the group to itself from then on.  What fences it, or has it wait too long, must be
the doing of brokers or of its own, which are not as promised; that it is started once more is no cure for it (447.P4).
The same is true of every instance that is left when everything has had its time, though coordinators change then.

Of any earlier one it can't be said from outside: a request of its predecessor, or an older copy of its own, may come
late and fence it, and its transaction may have timed out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.monitoring import Broken, Concerned

UNRELEASED = 111
"""A static member of the new protocol is refused its instance id until the session of the one before is over, and its
consumer takes that for fatal.  (GroupMetadataManager.throwIfInstanceIdIsUnreleased, ConsumerHeartbeatRequestManager)"""
SHARED = frozenset({"draft-static-members"})
"""Variants whose slots share instance ids, so that no instance has its place to itself."""
OF_BROKERS = frozenset({"fail_over", "move_group", "change_leader", "log_append", "audit"})
"""Calls that leave alone what is said of an instance at rest."""


class Calm(AtRest):
    """The calls after which nothing is left to happen are without faults."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.rests = False  # everything has had its time, and brokers alone have changed since

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """An instance is ended that began in this call, or that rested."""
        rested, self.rests = self.rests, self.is_quiet(made) or (self.rests and made.call.name in OF_BROKERS)
        started = set[int]()
        judged = self.is_quiet(made) and self.config.get("mode") not in SHARED
        for event in events if judged else ():
            kind, client, error = read(event, "kind"), read(event, "client", -1), read(event, "error", 0)
            if kind == "instance_started":
                started.add(client)
            elif kind == "instance_failed" and (client in started or (rested and not started)) and error != UNRELEASED:
                words = f"instance {client} had its place to itself, and was ended by error {error}"
                yield Broken("447.P4", words, event), frozenset({client})
