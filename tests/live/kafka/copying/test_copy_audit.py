"""The audit of a copying run, on lists in which each mistake is planted; no cluster is needed."""

from __future__ import annotations

from copy_audit import Audit, Copy, audit
from hypothesis import given
from hypothesis import strategies as st

INPUTS = {0: 3, 1: 2}
ALL = [Copy(partition, offset, "a", 1) for partition, count in INPUTS.items() for offset in range(count)]
CLEAN = Audit({}, (), (), (), ())


def test_each_record_once_and_the_offsets_behind_all_of_them() -> None:
    assert audit(INPUTS, ALL, INPUTS) == CLEAN
    assert CLEAN.clean


def test_nothing_was_done_yet() -> None:
    """Without an output and without an offset nothing is missing."""
    assert audit(INPUTS, [], {}).clean


def test_partitions_come_in_any_order() -> None:
    """Only the order within a partition counts."""
    assert audit(INPUTS, ALL[3:] + ALL[:3], INPUTS).clean


def test_a_record_that_is_there_twice() -> None:
    again = Copy(1, 1, "b", 7)
    found = audit(INPUTS, [*ALL, again], INPUTS)
    assert found == Audit({(1, 1): (ALL[4], again)}, (), (), (), ())
    assert not found.clean


def test_a_batch_that_is_there_twice_goes_backwards() -> None:
    again = [Copy(0, offset, "b", 1) for offset in range(3)]
    found = audit(INPUTS, ALL + again, INPUTS)
    assert set(found.twice) == {(0, 0), (0, 1), (0, 2)}
    assert found.backwards == tuple(again[:2])


def test_a_record_whose_offset_is_committed_and_that_is_not_there() -> None:
    found = audit(INPUTS, [copy for copy in ALL if copy[:2] != (0, 1)], INPUTS)
    assert found == Audit({}, ((0, 1),), (), (), ())
    assert not found.clean


def test_a_record_that_no_offset_claims() -> None:
    """The offset stands before it, so that it is going to be copied again."""
    assert audit(INPUTS, ALL, {0: 3, 1: 1}) == Audit({}, (), ((1, 1),), (), ())
    assert audit(INPUTS, ALL, {0: 3}).unclaimed == ((1, 0), (1, 1))
    assert not audit(INPUTS, ALL, {0: 3}).clean


def test_records_out_of_order() -> None:
    late = Copy(0, 0, "a", 2)
    assert audit(INPUTS, [*ALL[1:], late], INPUTS) == Audit({}, (), (), (late,), ())


def test_copies_of_nothing() -> None:
    strangers = (Copy(0, 3, "a", 1), Copy(2, 0, "a", 1), Copy(0, -1, "a", 1))
    found = audit(INPUTS, [*ALL, *strangers], INPUTS)
    assert found == Audit({}, (), (), (), strangers)
    assert not found.clean


def test_an_offset_behind_the_end_of_the_input_claims_what_is_not_there() -> None:
    assert audit(INPUTS, ALL, {0: 3, 1: 3}).lost == ((1, 2),)


@given(st.lists(st.sampled_from(ALL)), st.fixed_dictionaries({0: st.integers(0, 3), 1: st.integers(0, 2)}))
def test_the_audit_is_clean_if_it_is_exactly_what_the_offsets_claim(
    copies: list[Copy], offsets: dict[int, int]
) -> None:
    """Said otherwise than the audit says it: partition by partition the output is a range from 0 to the offset."""
    outputs = {each: [copy.offset for copy in copies if copy.partition == each] for each in INPUTS}
    exactly = all(outputs[each] == list(range(offsets[each])) for each in INPUTS)
    assert audit(INPUTS, copies, offsets).clean == exactly
