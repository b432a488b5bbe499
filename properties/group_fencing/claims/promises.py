"""What KIP-447 promises to a group: each input once in the output, and one producer at a time for each partition."""

from fencepost.model.group_fencing.core import Fate, Member, Partition, Stage
from fencepost.model.language import Properties, exists, forall, implies, leads_to, promise, service, step, witness


class Promises(Properties):
    """The promises of every form."""

    def may_commit(s, m, p):
        """The member's transaction has inputs of the partition, and would be taken and committed if it went on now."""
        taken = (s.stage[m] == Stage.ACCEPTED) | s.takes_of(m, p, s.stamp[m])
        return s.is_in(m, p) & (s.fate[m] == Fate.OPEN) & ~s.fenced[m] & taken

    @promise(rule="447.P1")
    def nothing_twice(s):
        """No input is processed twice in what is committed."""
        return ~s.twice

    @promise(rule="447.P1")
    def nothing_skipped(s):
        """No input is left out of what is committed, and no committed offset is past what is."""
        return ~s.skipped & forall(Partition, lambda p: s.committed[p] <= s.done[p])

    @promise(rule="447.P1")
    def offsets_agree(s):
        """The committed offset is where the committed output ends, or a marker is on its way that says so."""
        return forall(
            Partition,
            lambda p: (s.done[p] == s.committed[p])
            | exists(
                Member,
                lambda m: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.pending[m, p] == s.done[p]),
            ),
        )  # fmt: skip

    @promise(rule="447.P2")
    def one_producer(s):
        """No two members have transactions that could commit inputs of one partition."""
        return forall(
            Member, Member, Partition, lambda m, n, p: implies(m != n, ~(s.may_commit(m, p) & s.may_commit(n, p)))
        )  # fmt: skip

    @step(rule="447.P2")
    def only_owners(old, new):
        """Offsets are taken from the owner of their partition only, though nobody may ask who that is."""
        return forall(
            Member, Partition,
            lambda m, p: implies((old.pending[m, p] == 0) & (0 < new.pending[m, p]), old.owner[p] == m),
        )  # fmt: skip

    @promise(rule="447.2")
    def starts_from_what_counts(s):
        """An owner goes on from an offset that nobody else's transaction will change."""
        return forall(
            Member, Partition,
            lambda m, p: implies(
                s.has[m, p] & (s.owner[p] == m) & ~s.fenced[m] & (s.stage[m] == Stage.POLLING)
                & (s.fate[m] == Fate.NONE),
                (s.next[m, p] == s.committed[p]) & s.is_stable(p),
            ),
        )  # fmt: skip

    @promise(rule="447.P3")
    def owner_is_taken(s):
        """Whoever owns all that its transaction has inputs of, and has since it polled, is not refused."""
        return ~s.owner_refused

    @service(rule="447.P3")
    def fetch_is_answered(s, m: Member, p: Partition):
        """The owner of a partition gets its offset in the end, unless it stops being that, is fenced or crashes."""
        owns = s.assigned[m, p] & (s.owner[p] == m) & s.is_up(m)
        return leads_to(owns & ~s.has[m, p] & (s.stage[m] == Stage.POLLING), s.has[m, p] | ~owns)

    @witness(of="nothing_twice")
    def a_zombie_sends(s):
        """Offsets are under way for inputs that another member has processed and committed since."""
        return exists(
            Member, Partition,
            lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.first[m, p] < s.committed[p]),
        )  # fmt: skip

    @witness(of="nothing_skipped")
    def comes_to_its_end(s):
        """A second transaction has committed inputs of a partition, and its marker is on its way."""
        return exists(
            Member, Partition,
            lambda m, p: (0 < s.committed[p]) & (s.fate[m] == Fate.COMMITTED) & (s.committed[p] < s.pending[m, p]),
        )  # fmt: skip

    @witness(of="offsets_agree")
    def marker_on_its_way(s):
        """Output is committed, and the marker for its offsets has not come."""
        return exists(Member, Partition, lambda m, p: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]))

    @witness(of="one_producer")
    def two_at_work(s):
        """Two members have processed inputs of one partition."""
        return exists(Member, Member, Partition, lambda m, n, p: (m != n) & s.is_in(m, p) & s.is_in(n, p))

    @witness(of="only_owners")
    def sent_by_another(s):
        """Offsets are under way of a member that does not own their partition any more."""
        return exists(Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] != m))

    @witness(of="starts_from_what_counts")
    def waits_for_a_marker(s):
        """An owner is to fetch, while a former one's commit is decided and its marker on its way."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (s.owner[p] == m) & s.assigned[m, p] & ~s.has[m, p] & (s.fate[n] == Fate.COMMITTED)
            & (0 < s.pending[n, p]) & (m != n),
        )  # fmt: skip

    @witness(of="owner_is_taken")
    def sends_in_time(s):
        """An owner has sent offsets, after a rebalance."""
        return exists(Member, Partition, lambda m, p: (s.stage[m] == Stage.SENT) & s.is_in(m, p) & (s.owner[p] == m))

    @witness(of="fetch_is_answered")
    def has_to_wait(s):
        """An owner is to fetch, while a former one's transaction is open and its offsets pending."""
        return exists(
            Member, Member, Partition,
            lambda m, n, p: (s.owner[p] == m) & s.assigned[m, p] & ~s.has[m, p] & (s.fate[n] == Fate.OPEN)
            & (0 < s.pending[n, p]) & (m != n),
        )  # fmt: skip
