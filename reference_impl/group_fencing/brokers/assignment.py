"""How a new-protocol member comes from what it has to what it is meant to have: it revokes before others are assigned.

A member's partitions carry the epoch at which they were added to it: its *assignment epochs* (KIP-1251). `reconciled`
is one step of the member, with what it says it owns. (CurrentAssignmentBuilder.java, ConsumerGroupMember.java)
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

STATIC_LEFT = -2  # the epoch of a static member that has left for a while
LEFT = -1
JOINING = 0


class Reconciliation(Enum):
    """Kafka's names."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it must give up partitions first
    UNRELEASED_PARTITIONS = 2  # others must


class Member(NamedTuple):
    """One member, as it is stored. `assigned` and `revoking`: the assignment epoch of each partition."""

    member: int
    instance: int
    epoch: int = 0
    previous_epoch: int = 0
    state: Reconciliation = Reconciliation.STABLE
    assigned: Mapping[int, int] = {}
    revoking: Mapping[int, int] = {}

    @property
    def held(self) -> set[int]:
        """What nobody else may be assigned."""
        return self.assigned.keys() | self.revoking.keys()

    def at(self, epoch: int) -> "Member":
        """The member at an epoch; the one before is remembered where it is another."""
        return self._replace(epoch=epoch, previous_epoch=self.epoch if epoch != self.epoch else self.previous_epoch)


def reconciled(
    member: Member, target: Collection[int], epoch: int, owned: Collection[int] | None, is_free: Callable[[int], bool]
) -> Member:
    """The member's next step towards the target of this epoch. `owned`: what it says it has, None if it does not say;
    `is_free`: whether no other member holds a partition."""
    if member.state is Reconciliation.STABLE and member.epoch == epoch:
        return member
    if member.state is Reconciliation.UNREVOKED_PARTITIONS and still_owns(owned, member.revoking):
        return member
    kept = {partition: at for partition, at in member.assigned.items() if partition in target}
    revoking = {partition: at for partition, at in member.assigned.items() if partition not in target}
    if revoking and still_owns(owned, revoking):
        state = Reconciliation.UNREVOKED_PARTITIONS
        return member._replace(state=state, assigned=kept, revoking=revoking)
    wanted = sorted(partition for partition in target if partition not in kept)
    free = [partition for partition in wanted if is_free(partition)]
    state = Reconciliation.STABLE if free == wanted else Reconciliation.UNRELEASED_PARTITIONS
    return member.at(epoch)._replace(state=state, assigned={**kept, **dict.fromkeys(free, epoch)}, revoking={})


def still_owns(owned: Collection[int] | None, revoking: Iterable[int]) -> bool:
    """Whether it owns some of what it is to give up; who says nothing may own everything."""
    return owned is None or any(partition in owned for partition in revoking)


def balanced(members: Iterable[int], inputs: int, before: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """A target in which nobody has two partitions more than another, and as many as can stay where they are.
    (UniformAssignor.java)"""
    ids = sorted(members)
    if not ids:
        return {}
    least, more = divmod(inputs, len(ids))
    target: dict[int, set[int]] = {}
    taken: set[int] = set()
    for member in sorted(ids, key=lambda m: (-len(before.get(m, ())), m)):
        room = least + (1 if more else 0)
        kept = [partition for partition in sorted(before.get(member, ())) if partition not in taken][:room]
        more -= len(kept) > least
        target[member] = set(kept)
        taken.update(kept)
    for partition in range(inputs):
        if partition not in taken:
            target[min(ids, key=lambda m: (len(target[m]), m))].add(partition)
    return {member: frozenset(partitions) for member, partitions in target.items()}
