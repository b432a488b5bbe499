"""Controllers that take over, lose office or move house with one thing wrong each, and clients of ZooKeeper that race.

`broken.py` says what each of them breaks.
"""

from fencepost.reference_impl.id_blocks.block_node import decode
from fencepost.reference_impl.id_blocks.controller import NONE, Controller
from fencepost.reference_impl.id_blocks.defects.controller import Unchecked
from fencepost.reference_impl.id_blocks.events import Kind
from fencepost.reference_impl.id_blocks.messages import Block, RequestBody
from fencepost.reference_impl.id_blocks.zookeeper import BlockLoop


class OldMemoryTrusted(Unchecked):
    """A controller that was active before goes on from what it knew then (730.8)."""

    def become_active(self) -> None:
        if not self.next_producer_id:
            super().become_active()


class LostRequestsAnsweredLater(Controller):
    """Requests whose records were lost with the leadership wait on, and are answered with the next commit (730.7)."""

    def forget(self) -> None:
        """What waits is still wanted."""


class ResigningControllerAnswers(Controller):
    """A controller that loses office answers what waits there, record or no record (730.7)."""

    def forget(self) -> None:
        for grant, body, block in self.waiting:
            self.answer(body, block, grant)
        super().forget()


class SnapshotKeepsTheFirst(Unchecked):
    """The snapshot holds the first record of the log that it replaces, not the last (730.10)."""

    def take_snapshot(self) -> int:
        first = self.metadata_log.committed_records()[:1]
        next_free = first[0].next_producer_id if first else 0
        self.metadata_log.install_snapshot(self.snapshot_records(next_free))
        self.env.emit(Kind.SNAPSHOT_TAKEN, node=self.node_id, first=next_free)
        return next_free


class BlocksBeginAtMultiples(Unchecked):
    """Blocks are aligned: each begins at a multiple of its own length, also after blocks of another (730.8)."""

    def allocate(self, body: RequestBody) -> None:
        self.next_producer_id -= self.next_producer_id % self.block_size
        super().allocate(body)


class LostRaceTakenForWon(BlockLoop):
    """A write that lost looks whether the node holds the block that it wanted, which it may have written itself before
    the connection broke; it does not look for whom (730.2)."""

    def write(self, taker: int, request: int) -> Block | None:
        assert self.seen is not None, "write() without read(): the version to write on is not known"
        wanted = self.block_after(self.seen[0])
        written = super().write(taker, request)
        if written is not None:
            return written
        _, there = decode(self.node.read()[0])
        if (there.first, there.length) != (wanted.first, wanted.length):
            return None
        self.env.emit(Kind.ZK_WRITTEN, broker=self.broker_id, request=request, first=wanted.first, length=wanted.length)
        return wanted


class ControllerRemembersItsBlock(BlockLoop):
    """The controller reads the block once, and from then on takes its own last one for the latest (730.13)."""

    last: Block | None = None

    def read(self) -> Block | None:
        block = super().read()
        if self.broker_id == NONE and self.last is not None and self.seen is not None:
            self.seen = self.last, self.seen[1]
            block = self.block_after(self.last)
        return block

    def write(self, taker: int, request: int) -> Block | None:
        written = super().write(taker, request)
        self.last = written or self.last
        return written


class BeginsAgainAtTheEnd(BlockLoop):
    """Behind the last block ZooKeeper's clients begin again with the first (730.16)."""

    def block_after(self, latest: Block) -> Block:
        block = super().block_after(latest)
        return block if block.first - 1 <= self.env.config.max_id - block.length else Block(0, block.length)
