"""What the coordinator of groups answers from is what its log says, and its open batch (txn.P9)."""

from fencepost.model.language import Properties, exists, forall, implies, lemma, promise, witness
from fencepost.model.transactions.parts.group_memory import GroupMemory, Write


class GroupMemoryProperties(Properties, of=GroupMemory):
    """The promise about memory, batch and log."""

    @promise(rule="txn.P9")
    def memory_is_what_was_written(s):
        """Between operations memory has what is in the log or in the open batch, and nothing else."""
        return implies(
            s.working == None,  # noqa: E711
            forall(Write, lambda w: s.in_memory[w] == (s.in_log[w] | s.in_batch[w])),
        )

    @witness(of="memory_is_what_was_written")
    def written_after_a_failure(s):
        """A batch was given up, one was written, and one is open."""
        return exists(
            Write, Write, Write, lambda u, v, w: s.given_up[u] & s.in_log[v] & s.in_batch[w] & ~s.in_memory[u]
        )

    @lemma
    def one_at_work(s):
        """An operation that is at work has changed memory, and nothing else of memory is unwritten."""
        return forall(
            Write,
            lambda w: implies(
                s.working != None,  # noqa: E711
                s.in_memory[w] == (s.in_log[w] | s.in_batch[w] | (s.working == w)),
            ),
        )

    @lemma
    def each_in_one_place(s):
        """What is in the batch is not in the log, and what is at work in neither; only what was begun is anywhere."""
        return forall(
            Write,
            lambda w: ~(s.in_batch[w] & s.in_log[w])
            & implies(s.working == w, ~s.in_batch[w] & ~s.in_log[w])
            & implies(s.in_batch[w] | s.in_log[w] | (s.working == w), s.begun[w]),
        )  # fmt: skip
