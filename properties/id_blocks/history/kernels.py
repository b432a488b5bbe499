"""The kernels of the id block properties: which rows of a piece violate what, in a few NumPy passes each.

A block comes into being by a committed record (KRaft) or a conditional write that won (ZooKeeper); the wording of the
rules is in the table of `id_blocks`.
"""

import numpy as np
from fencepost.properties.history.checking import Rows
from fencepost.properties.history.packing import BITS, bits_for, gathered, narrowed, packed, sorted_stably
from fencepost.properties.id_blocks.history.events import Kind
from fencepost.properties.id_blocks.history.view import NEVER, Blocks, IdBlockView


def ids_unique(view: IdBlockView) -> Rows:
    """A second hand-out of an id is the next row of equal key."""
    rows, key = view.ids_in_order
    again = np.flatnonzero(key[1:] == key[:-1]) + 1
    return Rows(len(rows), rows[again], rows[again - 1])


def blocks_disjoint(view: IdBlockView) -> Rows:
    """Blocks that came into being."""
    return _overlaps(view.granted)


def answers_disjoint(view: IdBlockView) -> Rows:
    """Blocks as the brokers were told of them: all that a recording from outside can show."""
    return _overlaps(view.answered)


def _overlaps(blocks: Blocks) -> Rows:
    """A block that starts at or below the greatest last id of those before it; the key keeps histories apart."""
    reach = np.maximum.accumulate(blocks.last)
    late = np.flatnonzero(blocks.first[1:] <= reach[:-1]) + 1
    other = blocks.rows[np.searchsorted(reach, reach[late - 1])]  # where the running maximum was first reached
    return Rows(len(blocks.rows), blocks.rows[late], other)


def answered_after_commit(view: IdBlockView) -> Rows:
    """Answers that carry a record's ordinal, against the commit of that record."""
    grant = view.columns["grant"]
    answers = view.answers[grant[view.answers] >= 0]
    commits = view.rows_of(Kind.block_committed)
    (asked, done), bits = narrowed([grant[answers], grant[commits]], BITS - 2 * bits_for(len(grant)))
    order, key = sorted_stably(packed(view.place[commits], done, bits))
    wanted = packed(view.place[answers], asked, bits)
    found = np.searchsorted(key, wanted)
    at = np.append(commits[order], NEVER)[np.where(np.append(key, -1)[found] == wanted, found, len(key))]
    early = at > answers
    return Rows(len(answers), answers[early], np.where(at == NEVER, -1, at)[early])


def handed_out_after_grant(view: IdBlockView) -> Rows:
    """Ids that some block holds, but only from later on."""
    rows, _ = view.ids_in_order
    early = (view.granted_since > rows) & (view.granted_since != NEVER)
    return Rows(len(rows), rows[early], view.granted_since[early])


def ids_within_blocks(view: IdBlockView) -> Rows:
    """Ids that no block ever holds."""
    rows, _ = view.ids_in_order
    outside = view.granted_since == NEVER
    return Rows(len(rows), rows[outside], np.full(int(outside.sum()), -1))


def ids_increase(view: IdBlockView) -> Rows:
    """Ids of one broker in order of rows, compared with the one before it in the same lifetime."""
    rows = view.rows_of(Kind.id_handed_out, Kind.broker_started)
    (broker,), _ = narrowed([view.columns["broker"][rows]], BITS)
    rows = rows[gathered(broker)]
    starts = view.columns["kind"][rows] == Kind.broker_started
    life = np.cumsum(starts)[~starts]
    rows = rows[~starts]
    ids, broker = view.columns["producer_id"][rows], view.columns["broker"][rows]
    back = np.flatnonzero(ids[1:] <= ids[:-1]) + 1  # few, so that only these need a closer look
    one, other = rows[back], rows[back - 1]
    same = (broker[back] == broker[back - 1]) & (life[back] == life[back - 1]) & (view.place[one] == view.place[other])
    return Rows(len(rows), one[same], other[same])


def blocks_contiguous(view: IdBlockView) -> Rows:
    """Each block starts where the one granted before it ends, or where KRaft said it takes over."""
    rows = view.rows_of(Kind.block_committed, Kind.zk_written, Kind.migrated)
    taken_over = view.columns["kind"][rows] == Kind.migrated
    usable = taken_over | view.is_well_formed(rows)
    rows, taken_over = rows[usable], taken_over[usable]
    first = view.columns["first"][rows]
    end = first + np.where(taken_over, 0, view.columns["length"][rows])
    same = view.place[rows[1:]] == view.place[rows[:-1]]
    apart = np.flatnonzero((first[1:] != end[:-1]) & same & ~taken_over[1:]) + 1
    return Rows(int((~taken_over).sum()), rows[apart], rows[apart - 1])


def blocks_well_formed(view: IdBlockView) -> Rows:
    """Blocks that are empty, negative, or reach beyond the last id."""
    bad = view.grants[~view.is_well_formed(view.grants)]
    return Rows(len(view.grants), bad, np.full(len(bad), -1))
