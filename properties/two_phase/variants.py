"""This module has the variants of two-phase commit, with their bounds and the reasons for these: the change that
Kafka's review has open, what other texts and changes do, and each rule got wrong."""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import MISTAKE, TEXT, Of
from fencepost.model.two_phase.mistakes import OnePair, PairForgotten, Unretained
from fencepost.properties.entries import Claim, ProtocolEntry, Variant, wrong
from fencepost.properties.two_phase.claims import AbortWrittenLemmas, Fencing, TwoPhaseLemmas, Waiting

ONE = dict(
    clients=2, transactions=1, partitions=1, epochs=4, fail_overs=0, fences=0, forced=0, changes=0, losses=0,
)  # fmt: skip
TWO = dict(ONE, transactions=2)
REASONS = {
    "clients": "a producer and the one that takes its place; a third one where two restart",
    "transactions": "one that is left open; a second one where an EndTxn comes late, or the store has an older state",
    "partitions": "fates are compared with what was decided, not with one another",
    "epochs": "that of the first producer, of the answer to the second, and after the end",
    "fail_overs": "one coordinator that takes over",
    "fences": "an administrator fences once",
    "forced": "an operator aborts once",
    "changes": "two-phase commit is switched off once",
    "losses": "one answer to EndTxn is lost",
}
RULES = tuple(f"939.{number}" for number in range(1, 19))


def _misread(
    name: str, says: str, rule: str, mutation: str, *breaks: str, bounds: Mapping[str, int] = ONE, of: Of = MISTAKE,
    **more: Any,
) -> Variant:  # fmt: skip
    return wrong(name, TwoPhaseLemmas, says, rule, bounds, *breaks, reading=mutation, of=of, **more)


FEATURES = {
    "two transactions": dict(transactions=2),
    "two partitions": dict(partitions=2),
    "a coordinator takes over": dict(fail_overs=1),
    "an operator aborts": dict(forced=1, transactions=2),  # a late EndTxn meets the next transaction
    "an administrator fences": dict(fences=1),
    "switched off": dict(changes=1),
    "an answer is lost": dict(losses=1),
    "two restart": dict(clients=3),
}
PROGRESS = (dict(ONE, losses=1), dict(TWO, clients=1))
VARIANTS = (
    Variant(
        "retained", TwoPhaseLemmas, "PR 21735: what a producer finds open is retained, over a store that refuses an older writer",
        bounds={"smoke": ONE, "nightly": dict(TWO, fail_overs=1)}, features=FEATURES, progress_bounds=PROGRESS,
        judged=RULES, of=TEXT,
    ),
    Variant(
        "abort-written", AbortWrittenLemmas, "the same over a store that refuses nothing, where who reads it writes its abort",
        bounds={"smoke": ONE}, features=FEATURES, progress_bounds=PROGRESS, judged=(), of=TEXT,
    ),
    wrong("not-retained", TwoPhaseLemmas.asked_of(Unretained),
          "Kafka 4.1 and later: a producer that restarts aborts what was prepared, whatever was decided", "939.26", ONE,
          "aborted_as_decided", "survives_until_decided", "decided_commit_happens", proof=False),
    wrong("one-pair", TwoPhaseLemmas.asked_of(OnePair),
          "PR 22704: all producers that find a transaction are answered with its epoch", "939.25",
          dict(ONE, clients=3), "one_answer",
          "decided_once", "one_owner", "decided_commit_happens", "aborted_as_decided", proof=False, of=TEXT),
    wrong("second-pair-forgotten", TwoPhaseLemmas.asked_of(PairForgotten),
          "a release takes over that does not know the second pair: two producers get the same", "939.3",
          dict(ONE, clients=3, fail_overs=1), "one_answer", "one_owner", proof=False),
    wrong("taken-for-a-fence", Fencing,
          "records of the old epoch are accepted after the answer, and committed", "939.23", ONE,
          "nothing_after_the_answer", proof=False, of=TEXT),
    wrong("no-decision", Waiting, "readers of a partition wait as long as no one decides", "939.24", ONE,
          "stable_offset_moves", proof=False, progress_bounds=(ONE,), of=TEXT),
    _misread("timed-out", "a transaction that was prepared is aborted by a time-out", "939.1", "take_over: guard 1 dropped",
             "only_the_newest_ends_it", "aborted_as_decided", "survives_until_decided", "decided_commit_happens"),
    _misread("answered-alike", "the epoch is not raised for who finds a transaction", "939.3", "retain: guard 1 looser",
             "one_answer", "decided_once", "one_owner", "decided_commit_happens", "aborted_as_decided",
             bounds=dict(ONE, clients=3)),
    _misread("old-epoch-in-markers", "the markers of a retained transaction carry its own epoch, and are refused", "939.4",
             "end_retained: guard 1 looser", "nothing_hangs", "nothing_open_after_a_fence"),
    _misread("owner-ends", "EndTxn of the first producer is taken though another one has found its transaction", "939.5",
             "end: guard 1 dropped", "only_the_newest_ends_it", "one_owner"),
    _misread("older-answer-ends", "EndTxn of a producer is taken though a later one has found the transaction", "939.5",
             "end_retained: guard 1 dropped", "only_the_newest_ends_it", "one_owner", bounds=dict(ONE, clients=3)),
    _misread("not-raised-again", "the end of a retained transaction leaves the clients' epoch as it is, and a late EndTxn "
             "ends the next transaction", "939.6", "end_retained: guard 1 looser", "aborted_as_decided",
             "survives_until_decided", "decided_commit_happens", "nothing_committed_unasked", "committed_as_decided",
             "ends_what_it_found", bounds=TWO),
    _misread("retained-while-prepared", "a producer is answered while markers are on their way", "939.7", "while_prepared",
             "aborted_as_decided", "survives_until_decided", "decided_commit_happens", bounds=TWO),
    _misread("not-flushed", "the prepared state is handed out before every record is acknowledged", "939.11",
             "prepare_transaction: guard 1 dropped", "decided_commit_happens", "nothing_after_the_read"),
    _misread("sends-on", "a producer sends to another partition after it has prepared", "939.12", "send: guard 1 dropped",
             "decided_commit_happens", "nothing_after_the_read", bounds=dict(ONE, partitions=2)),
    _misread("commits-undecided", "the owner commits before the store has the decision", "939.13", "commit: guard 1 dropped",
             "committed_as_decided", "survives_until_decided"),
    _misread("aborts-undecided", "the owner aborts what it has prepared, and the store has the decision to commit", "939.13",
             "abort: guard 1 dropped", "decided_once", "decided_commit_happens", "aborted_as_decided"),
    _misread("older-writer", "the store takes the decision of a producer for whose successor it was read", "939.14",
             "decide_commit: guard 1 dropped", "decided_once", "decided_commit_happens", "aborted_as_decided"),
    _misread("any-state", "a producer commits what it found on the state of an earlier transaction", "939.15", "any_state",
             "nothing_committed_unasked", "committed_as_decided", "survives_until_decided", "nothing_after_the_read",
             bounds=TWO),
    _misread("unpermitted", "any producer that asks gets transactions without time-out", "939.9",
             "initialize_two_phase: guard 1 dropped", "only_with_permission", bounds=dict(ONE, changes=1)),
    _misread("unpermitted-restart", "so does one that restarts and finds nothing", "939.9",
             "find_completed: guard 1 dropped", "only_with_permission", bounds=dict(ONE, changes=1)),
    _misread("unpermitted-heir", "so does one that finds a transaction which has a time-out", "939.9",
             "retain: guard 1 dropped", "only_with_permission", bounds=dict(ONE, changes=1)),
    _misread("nothing-to-find", "a producer that finds nothing open is not answered", "939.17", "find_completed: never",
             "restart_is_answered", progress_bounds=(ONE,)),
)  # fmt: skip

REFERENCE = "fencepost.reference_impl.systems.two_phase"
DRIVEN = ("retained", "older-writer")
SIMULATED = {"events": 200, "quiet_end": True}
_READ_TWICE = (
    "the epoch is raised at each reading: where two read, the store refuses one that a transaction has, and "
    "nothing_after_the_read fails in 22 steps; that takes three clients, two transactions and five epochs, more than "
    "is explored"
)
TWO_PHASE = ProtocolEntry(
    "two-phase",
    "Two-phase commit (KIP-939): transactions that an outside coordinator decides.",
    VARIANTS,
    REASONS,
    implementations=tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN),
    simulators=tuple((mode, f"{REFERENCE}:simulate_with_stats", SIMULATED | {"mode": mode}) for mode in DRIVEN),
    on_request=frozenset({"older-writer"}),
    survivors={("939.14", "complete_transaction: guard one more"): _READ_TWICE},
    claims=(
        Claim("939.27", "retained", ("committed_as_decided", "nothing_committed_unasked", "nothing_lost", "as_told"),
              ("both_in_turn",), "an id that is used with and without two-phase commit in turn keeps every promise"),
        Claim("939.28", "retained", ("decided_commit_happens", "aborted_as_decided"), ("ended_though_forbidden",),
              "what was found before two-phase commit is switched off can still be ended as decided"),
        Claim("939.30", "retained",
              ("decided_commit_happens", "aborted_as_decided", "survives_until_decided", "nothing_committed_unasked"),
              ("found_without",), "a client that does not ask for two-phase commit may find what was prepared"),
        Claim("939.29", "abort-written", ("decided_once", "decided_commit_happens"), ("may_still_be_written",),
              "a store in which the reader writes its abort need not refuse anything"),
    ),
)  # fmt: skip
ENTRIES = (TWO_PHASE,)
