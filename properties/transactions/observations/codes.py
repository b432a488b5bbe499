"""Error codes: in which states of the model each code that an implementation answers with is right.

A code that may be tried again is right where a pending transition or a fault explains it: 51 while something is on its
way to the log or a transaction is being completed; 14, 15 and 16 (column ``away``) after a failed append or a
fail-over, 14 also where a producer id is needed.
Whoever answers with a code that is in none of these lists is wrong.
"""

from fencepost.model.language import exists, implies
from fencepost.model.transactions.abstract.core import Fate, Outcome, Phase, Txn
from fencepost.model.transactions.detailed.coordinator import Pending

NONE, FAILED = 0, -1
UNKNOWN_PARTITION, NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS = 3, 6, 7, 19
LOADING, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
OUT_OF_ORDER, OLD_EPOCH, INVALID_STATE, INVALID_MAPPING, CONCURRENT, COORDINATOR_FENCED = 45, 47, 48, 49, 51, 52
UNSTABLE, FENCED, ABORTABLE = 88, 90, 120
ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE, NO_GROUP, FENCED_INSTANCE, STALE_MEMBER = 22, 25, 27, 69, 82, 113


def _away(e):
    return (e.error == LOADING) | (e.error == NOT_AVAILABLE) | (e.error == NOT_COORDINATOR)


def waits(s, e):
    """Whoever asks now is told to ask again."""
    return (s.pending != Pending.NOTHING) | (s.phase == Phase.PREPARED) | e.busy


def quiet(s):
    """Nothing is pending or being completed, as far as the model knows: requests are judged by their epoch."""
    return (s.pending == Pending.NOTHING) & (s.phase != Phase.PREPARED)


def foreign(s, number):
    """An epoch of another producer id than the present one, or of a transactional id that is forgotten."""
    return (number < s.base) | (s.base + s.last + 1 < number) | s.unknown


def needs_id(s):
    """What comes next needs a producer id, of which the coordinator's broker may have none at hand (KIP-730): the
    transactional id is not known, or the epochs of its producer id are used up, perhaps by a fence."""
    fenced_first = (s.phase == Phase.ONGOING) & (s.live() + 1 >= s.base + s.last)
    return (s.epoch == 0) | s.unknown | (s.live() >= s.base + s.last) | fenced_first


def _retriable(s, e):
    return implies(e.error == CONCURRENT, waits(s, e)) & implies(_away(e), e.away)


def _retriable_with_id(s, e):
    return implies(e.error == CONCURRENT, waits(s, e)) & implies(
        _away(e), e.away | ((e.error == LOADING) & needs_id(s))
    )


def init_code(s, e):
    """InitProducerId."""
    fenced = (e.named != 0) & (e.named != s.live()) & (e.named != s.remembers) & ~s.unknown
    return (
        ((e.error == NONE) | (e.error == FENCED) | (e.error == FAILED) | (e.error == CONCURRENT) | _away(e))
        & _retriable_with_id(s, e)
        & implies((e.error == FENCED) | (e.error == FAILED), quiet(s) & (e.named != 0) & ~s.unknown)
        & implies(e.error == FAILED, s.fails_naming(e.named) & (s.phase == Phase.IDLE))
        & implies(e.error == FENCED, ~(s.fails_naming(e.named) & (s.phase == Phase.IDLE)))
        & implies(e.error == FENCED, fenced & ((s.phase == Phase.IDLE) | foreign(s, e.named)))
        & implies(e.error == NONE, s.phase == Phase.IDLE)
        & implies(e.error == NONE, s.epoch == e.number)
        & implies((e.error == NONE) & (e.named != 0), s.remembers == e.named)
        & implies(e.error == NONE, ~s.unknown)
    )


def _pair_code(s, e):
    """Who may add: the exact pair."""
    return (
        _retriable(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING), quiet(s))
        & implies(e.error == FENCED, ~foreign(s, e.number) & (e.number != s.live()))
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
    )


def add_code(s, e):
    """AddPartitionsToTxn and AddOffsetsToTxn of a client; v2: a leader's question."""
    known = (e.error == NONE) | (e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == CONCURRENT) | _away(e)
    return known & _pair_code(s, e)


def verify_code(s, e):
    """A leader's question (v1-verified).  What is pending is not looked at; a fence is in memory before it is
    pending."""
    right = (e.number == s.live()) & (s.pending != Pending.FENCE) & ~s.unknown
    known = (e.error == NONE) | (e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == CONCURRENT) | _away(e)
    return (
        (known | (e.error == ABORTABLE))
        & implies(_away(e), e.away)
        & implies(e.error == NONE, right)
        & implies(e.error == CONCURRENT, right & (s.phase == Phase.PREPARED))
        & implies(e.error == FENCED, ~foreign(s, e.number) & ~right)
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
        & implies(e.error == ABORTABLE, right & (s.phase != Phase.PREPARED) & ~s.parts[e.partition])
    )


def _end_known(e):
    known = (e.error == NONE) | (e.error == INVALID_STATE) | (e.error == INVALID_MAPPING) | (e.error == FENCED)
    return known | (e.error == CONCURRENT) | _away(e)


def end_code_v1(s, e):
    """EndTxn with the exact pair, or nothing."""
    mine = s.number[e.txn] == s.live()
    return (
        _end_known(e)
        & _retriable(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == INVALID_STATE), quiet(s))
        & implies(e.error == FENCED, ~foreign(s, s.number[e.txn]) & ~mine)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]))
        & implies(e.error == INVALID_STATE, mine & (s.phase == Phase.IDLE) & (s.outcome != s.choice[e.txn]))
        & _end_answer(s, e)
    )


def end_code_v1_over_the_wire(s, e):
    """EndTxn below version 5 as Kafka answers it: id and epoch are looked at before what is being completed, so that a
    fenced producer hears it while the markers are due, and another outcome than the one prepared is refused (48)."""
    mine = s.number[e.txn] == s.live()
    ended = (s.phase == Phase.IDLE) | (s.phase == Phase.PREPARED)
    return (
        _end_known(e)
        & _retriable(s, e)
        & implies(e.error == FENCED, ~foreign(s, s.number[e.txn]) & ~mine)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]))
        & implies(e.error == INVALID_STATE, mine & ended & (s.outcome != s.choice[e.txn]))
        & _end_answer(s, e)
    )


def end_code_v2(s, e):
    """EndTxn with the exact pair, or the one before it in a retry."""
    mine = s.number[e.txn] == s.live()
    again = s.is_retry(e.txn) & s.is_next_to_present(e.txn) & (s.outcome != Outcome.NONE) & (s.phase == Phase.IDLE)
    other = again & (s.outcome != s.choice[e.txn])
    nothing = mine & (s.phase == Phase.IDLE) & (s.choice[e.txn] == Outcome.COMMIT)
    before = s.number[e.txn] + 2 == s.base  # of the producer id before, if it was its last epoch
    return (
        _end_known(e)
        & _retriable_with_id(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == INVALID_STATE), quiet(s))
        & implies(e.error == FENCED, (before | ~foreign(s, s.number[e.txn])) & ~mine & ~again)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]) & ~again)
        & implies(e.error == INVALID_STATE, other | nothing)
        & _end_answer(s, e)
    )


def _end_answer(s, e):
    """A success says what the log says: this transaction, or one taken for it, has just ended so, or had."""
    return (
        implies(e.error == NONE, s.phase != Phase.ONGOING)
        & implies(e.error == NONE, s.outcome == s.choice[e.txn])
        & implies((e.error == NONE) & (e.number != 0), s.epoch == e.number)
    )


def produce_code_v1(s, e):
    """Produce, where leaders ask nobody; or an offset commit.  Sequence numbers are not in the model."""
    of_leaders = (e.error == OUT_OF_ORDER) | (e.error == UNKNOWN_PARTITION) | (e.error == NOT_LEADER)
    return (of_leaders | (e.error == OLD_EPOCH) | _by_the_group(e) | _away(e)) & implies(
        e.error == OLD_EPOCH, e.number < s.known[e.partition]
    )


def _asked_code(s, e):
    """Produce, where the leader passes on what the coordinator told it, perhaps some time ago."""
    old = (e.number < s.known[e.partition]) | (e.number != s.live()) | (s.pending == Pending.FENCE) | e.away
    return (
        implies(e.error == OLD_EPOCH, old)
        & implies(e.error == INVALID_STATE, s.fate[e.txn, e.partition] != Fate.OPEN)
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
    )


def _by_the_group(e):
    """What a group's coordinator says to an offset commit of who is not its member as it is now (KIP-447).  The model
    has no group; nothing is written, as after any other refusal."""
    member = (e.error == UNKNOWN_MEMBER) | (e.error == FENCED_INSTANCE) | (e.error == STALE_MEMBER)
    return member | (e.error == ILLEGAL_GENERATION) | (e.error == REBALANCE) | (e.error == NO_GROUP)


def _asked_known(e):
    known = (e.error == OUT_OF_ORDER) | (e.error == OLD_EPOCH) | (e.error == INVALID_STATE)
    told = (e.error == INVALID_MAPPING) | (e.error == CONCURRENT) | (e.error == NOT_ENOUGH_REPLICAS) | _away(e)
    return known | told | _by_the_group(e) | (e.error == UNKNOWN_PARTITION) | (e.error == NOT_LEADER)


def produce_code_verified(s, e):
    return (_asked_known(e) | (e.error == ABORTABLE)) & _asked_code(s, e)


def produce_code_v2(s, e):
    return _asked_known(e) & _asked_code(s, e)


def _of_older_id(s, e):
    """The partition knows a later producer id; for this one it has a memory of its own, which the model has not."""
    return e.next_base <= s.known[e.partition]


def _old_term(s, e):
    return e.term < s.known_term[e.partition]


def marker_code_v1(s, e):
    """WriteTxnMarkers."""
    old = e.number < s.known[e.partition]
    return ((e.error == OLD_EPOCH) | (e.error == COORDINATOR_FENCED)) & (
        _of_older_id(s, e)
        | (implies(e.error == OLD_EPOCH, old) & implies(e.error == COORDINATOR_FENCED, _old_term(s, e)))
    )


def marker_code_v2(s, e):
    """An equal epoch is a retry, unless something is open."""
    opened = exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)
    old = (e.number < s.known[e.partition]) | ((e.number == s.known[e.partition]) & opened)
    return ((e.error == OLD_EPOCH) | (e.error == COORDINATOR_FENCED)) & (
        _of_older_id(s, e)
        | (implies(e.error == OLD_EPOCH, old) & implies(e.error == COORDINATOR_FENCED, _old_term(s, e)))
    )
