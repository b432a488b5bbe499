"""This module draws a violation in a history as a page, with the relevant events in the lanes of the processes that
they name.

The violation of a property has those events of its history that could matter, by the property's `key`, and that name
what the violating event or the one that explains it names, such as the same transaction, producer id, request or set. A
violation of conformance has all events. In both cases these are the last `MOST` events up to the violation, and their
total is reported.
"""

from typing import Any

import numpy as np
from fencepost.model.rules import RULES
from fencepost.proofs.pages.stories import Step, Story, event_lanes_of, event_step, in_order, lane_name
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.replay import Kernel
from fencepost.properties.history import HistoryDirectory, HistoryError, read_piece
from fencepost.properties.history.checking import HistoryProperty, Violation
from fencepost.properties.history.grouping import NONE
from fencepost.properties.history.naming import Naming, moment
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.nearest import quantity

Columns = dict[str, np.ndarray]

MOST = 60
"""A page has at most this many events."""
IDENTITIES = ("txn_id", "txn", "producer_id", "record", "request", "grant", "set", "round", "generation", "token")
"""These columns identify what an event is about."""


def page_of_violation(opened: HistoryDirectory, first: Violation, kernel: Kernel | None = None) -> Story:
    """Return the page of a violation of a property, or of what ``kernel`` judges. Errors: HistoryError."""
    properties = properties_of(opened.manifest.protocol)
    columns, place = _history(opened, properties.vocabulary, first.history)
    manifest = opened.manifest
    title = f"{manifest.protocol}/{manifest.variant}: history {first.history}"
    if kernel is None:
        item = properties.properties[first.property]
        other = first.explained_by
        chosen = _related(properties.vocabulary, item, columns, first.step, other)
        says, rule, explained = item.meaning, item.rule, ()
    else:
        other, chosen = NONE, np.arange(first.step + 1)
        says, rule = "Every event is a step of the model, in the state that those before have led to.", ""
        explain = getattr(kernel, "explain", None)
        explained = tuple(explain(columns).splitlines()[1:]) if explain is not None else ()
    observed = chosen[-MOST:]
    if other != NONE and other not in observed:
        observed = np.concatenate([[other], observed[1:]])
    left_out = ""
    if len(chosen) > len(observed):
        left_out = f"; the {len(observed)} shown are the last" + (
            ", and the one that explains it" if other != NONE else ""
        )
    about = (
        first.told,
        f"Of the {quantity(len(columns['kind']), 'event')} of the history {len(chosen):,} "
        f"{'is' if len(chosen) == 1 else 'are'} about it, up to there{left_out}.",
        *([f"It is explained by the event at step {other}."] if other != NONE else []),
        f"In {place} its row is {int(columns['row'][first.step])}, counted from 0.",
        *explained,
    )
    naming = Naming(properties.vocabulary, manifest.config, properties.values)
    lanes = in_order(event_lanes_of(_filled(properties.vocabulary, columns, int(row))) for row in observed)

    def step(row: int) -> Step:
        at = moment(manifest, int(columns["time_us"][row]), int(columns["time_us"][0]))
        says = f"Step {row}, {at}." + " It explains the violation." * (row == other)
        kind = _kind(properties.vocabulary, columns, row)
        return event_step(kind, _filled(properties.vocabulary, columns, row), lanes, naming, says)

    steps = tuple(step(int(row)) for row in observed)
    return Story(
        title, "", name_in_words(first.property), says, f"violated at step {first.step}", False, about, (),
        tuple(lane_name(lane, naming) for lane in lanes), steps, ((),) * (len(steps) + 1), (),
        int(np.flatnonzero(observed == first.step)[0]) + 1,
        {rule: RULES[rule].says} if rule in RULES else {}, None,
    )  # fmt: skip


def is_readable(opened: HistoryDirectory, first: Violation) -> bool:
    """Return whether the violation's history is complete in one row group, as a page needs it."""
    return first.history not in opened.manifest.cut


def _history(opened: HistoryDirectory, vocabulary: Vocabulary, number: int) -> tuple[Columns, str]:
    for piece in opened.pieces:
        if piece.first_history <= number <= piece.last_history:
            columns, _ = read_piece(piece, vocabulary, vocabulary.schema.names)
            mine = columns["history"] == number
            if mine.any():
                columns = {**columns, "row": np.arange(len(mine))}
                place = f"{piece.file}, row group {piece.row_group},"
                return {name: column[mine] for name, column in columns.items()}, place
    raise HistoryError(f"{opened.location}: there is no history {number}")


def _related(vocabulary: Vocabulary, item: HistoryProperty[Any], columns: Columns, at: int, other: int) -> np.ndarray:
    """Return the rows up to the violation that may matter to it and share its subject, and the explaining one."""
    absent = vocabulary.absent
    related = np.arange(len(columns["kind"])) <= at
    for name in item.key:
        value = columns[name][at]
        if name in absent and value != absent[name]:
            related &= (columns[name] == value) | (columns[name] == absent[name])
    both = [at, other] if other != NONE else [at]
    about = np.zeros(len(related), bool)
    for name in IDENTITIES:
        values = [columns[name][row] for row in both if name in absent and columns[name][row] != absent[name]]
        about |= np.isin(columns[name], values) if values else False
    related = related & about if about.any() else related
    related[both] = True
    return np.flatnonzero(related)


def _filled(vocabulary: Vocabulary, columns: Columns, row: int) -> dict[str, int]:
    return vocabulary.filled(_kind(vocabulary, columns, row), lambda name: columns[name][row])


def _kind(vocabulary: Vocabulary, columns: Columns, row: int) -> str:
    return vocabulary.kinds(int(columns["kind"][row])).name
