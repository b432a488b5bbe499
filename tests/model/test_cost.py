"""What a protocol costs: each file has one role, few central files name a protocol, and plumbing does not grow."""

from fnmatch import fnmatchcase

import pytest
from cost import PROTOCOLS, ROLES, centre, cost_of, costs, plumbing

PLUMBING = {
    "id_blocks": 573, "transactions": 2990, "task_counts": 486, "group_fencing": 770, "source_commits": 126,
    "source_offsets": 194, "end_to_end": 0,
}  # fmt: skip
"""Lines, as measured, of translators and of what the reference needs to be driven.  They may only shrink."""
OF_A_NEW_PROTOCOL = 1_200
CENTRAL = 8
"""The registry, the two packages whose names users import (real brokers, and recorders), the ledger of findings and
the repairs of one, which name the variants that have them, the language reference, whose examples are of models, and
the desk, whose first questions open a variant each, and which leaves one protocol out."""


def test_every_source_file_has_one_role() -> None:
    """Of a protocol, or general; a role that no file has is a mistake in the table."""
    every = list(costs())
    assert len({cost.path for cost in every}) == len(every)
    for _, _, files in ROLES:
        assert any(fnmatchcase(cost.path, files.format(p=p)) for p in PROTOCOLS for cost in every), files
    with pytest.raises(ValueError, match="has no role"):
        cost_of(f"properties/{PROTOCOLS[0]}/elsewhere/file.py")


def test_few_central_files_name_a_protocol() -> None:
    """A new protocol is a line in the registry, and folders of its own."""
    assert len(centre()) <= CENTRAL, centre()


def test_plumbing_does_not_grow() -> None:
    """Lines that are written for each protocol, and that general code should make superfluous."""
    for protocol, lines in plumbing(costs()).items():
        assert lines <= PLUMBING.get(protocol, OF_A_NEW_PROTOCOL), protocol
