"""What an implementation does not show, filled in from a state of the model: what is pending decides what is written to
the log next, and the requests of clients are known."""

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.properties.agreement import UNKNOWN, Row, State
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.events import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from fencepost.properties.transactions.online import members

CODES = {
    "init_handled": (codes.NONE, codes.CONCURRENT, codes.FENCED),
    "add_handled": (codes.NONE, codes.CONCURRENT, codes.FENCED, codes.INVALID_MAPPING),
    "end_handled": (codes.NONE, codes.CONCURRENT, codes.FENCED, codes.INVALID_MAPPING, codes.INVALID_STATE),
    "partition_checked": (
        codes.NONE, codes.CONCURRENT, codes.FENCED, codes.INVALID_MAPPING, codes.ABORTABLE,
    ),
    "marker_refused": (codes.OLD_EPOCH, codes.COORDINATOR_FENCED),
}  # fmt: skip
"""Codes that no fault explains: faults come with calls."""


def whose(state: State) -> dict[str, Any]:
    """Client, transaction and partition of what is pending."""
    names = (("client", "of_client"), ("txn", "of_txn"), ("partition", "of_partition"))
    return {column: -1 if state[name] is None else state[name] for column, name in names}


def logged(state: State, last: int, bumps: bool) -> Iterator[dict[str, Any]]:
    """The record that is written next, if one is: its state and number, and ``to``."""
    epoch, first = state["epoch"], state["base"]
    reserved = first + last + 1
    outcome = {members.COMMIT: (PREPARE_COMMIT, COMPLETE_COMMIT), members.ABORT: (PREPARE_ABORT, COMPLETE_ABORT)}

    def record(kind: int, number: int) -> dict[str, Any]:
        prepared = bumps and kind in (PREPARE_COMMIT, PREPARE_ABORT) and number == reserved
        return {"logged": kind, "number": number, "to": number + int(prepared), "term": state["term"]}

    match state["pending"]:
        case members.INIT:
            live = epoch + int(state["ahead"])
            yield record(EMPTY, reserved + 1 if live >= first + last else live + 1)
        case members.ADD:
            yield record(ONGOING, epoch)
        case members.END:
            choice = state["choice"].get((state["of_txn"],), members.NO_OUTCOME)
            if choice in outcome:
                yield record(outcome[choice][0], epoch + int(bumps))
        case members.FENCE:
            yield record(PREPARE_ABORT, min(epoch + 1 + int(bumps), reserved))
        case _ if state["phase"] == members.PREPARED:
            yield record(outcome[state["outcome"]][1], epoch)
        case _ if state["phase"] == members.IDLE and state["remembers"]:
            yield record(EMPTY, epoch)


def answer(row: Row, before: State, state: State) -> tuple[int, int]:
    """What whoever asked is told when a record is in the log: error and number."""
    if before["pending"] == members.FENCE:
        return codes.CONCURRENT, 0
    return codes.NONE, state["epoch"]


def markers(state: State, partition: int) -> Iterator[dict[str, Any]]:
    """Every marker that may arrive there."""
    for p, number, commit, term in sorted(state["markers"]):
        if p == partition:
            yield {"number": number, "commit": commit, "term": term}


def unknown(row: Mapping[str, Any], column: str) -> bool:
    return row[column] is UNKNOWN
