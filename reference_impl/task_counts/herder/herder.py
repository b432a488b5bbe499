"""The herder: one thread that does one thing at a time, and what it does next (DistributedHerder.tick).

First the group, then the right to write, then a session key if a new one is due, then what was asked for, in order.
"""

from fencepost.reference_impl.task_counts.herder.rebalancing import Rebalancing
from fencepost.reference_impl.task_counts.herder.session_keys import key_in, needs_new_key, new_key
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script, Wait


class Herder(Rebalancing):
    """One life of one worker, complete."""

    def run(self) -> Script:
        """The thread."""
        while True:
            yield Wait(self.has_work)
            if self.must_rejoin():
                yield from self.rebalance()
            elif self.must_claim():
                yield from self.claim()
            elif self.must_make_key():
                yield from self.make_key()
            else:
                request = self.requests.popleft()
                yield from request.script(request)

    def has_work(self) -> bool:
        """Whether there is something to do now."""
        if self.must_rejoin():
            return True
        if self.must_claim():  # until it is leader in deed too, a leader does nothing else
            return self.env.now_ms >= self.not_before_ms
        if self.must_make_key() and self.env.now_ms >= self.not_before_ms:
            return True
        return bool(self.requests)

    def must_claim(self) -> bool:
        """Whether a leader was fenced, or could not open its producer: it claims again (618.26)."""
        return self.is_leader and self.privilege.fenced

    def must_make_key(self) -> bool:
        """Whether the leader has to write a new session key."""
        if not self.is_leader or not self.env.revision.signs or self.env.now_ms < self.not_before_ms:
            return False
        return needs_new_key(key_in(self.view.state.session_key), self.env.now_ms)

    def make_key(self) -> Script:
        """Write a new session key; if that fails, read to the end before the next try."""
        key = new_key(self.env.kernel.random, self.env.now_ms)
        try:
            yield from self.write([key.record()])
        except OperationError:
            self.not_before_ms = self.env.now_ms + self.env.config.retry_backoff_ms
