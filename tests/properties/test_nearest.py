"""What may have been meant by a name that there is none of."""

import pytest
from fencepost.properties.nearest import (
    error_name,
    error_text,
    in_words,
    instead,
    nearest,
    quantity,
    times,
    underscored,
)
from fencepost.reference_impl.kafka.errors import ErrorCode, GroupErrorCode, IdErrorCode
from fencepost.reference_impl.kafka.errors import error_text as in_reference

KNOWN = ("no_id_twice", "disjoint_blocks", "used_up_for_ever", "two_blocks_held", "a_gap", "run_out", "nothing_left")


def test_names_as_they_are_printed() -> None:
    """Back and forth."""
    assert [underscored(in_words(name)) for name in KNOWN] == list(KNOWN)
    assert underscored("  no  id twice ") == "no_id_twice"


def test_the_nearest_come_first() -> None:
    """What begins with the word or has it in it, then what is spelt like it; case, blanks and hyphens do not count."""
    assert nearest("Blocks", KNOWN) == ["disjoint_blocks", "two_blocks_held"]
    assert nearest("disjoint-block", KNOWN) == ["disjoint_blocks"]
    assert nearest("nothing letf", KNOWN) == ["nothing_left"]
    assert nearest("core", ("kraft", "core-v2", "loose-core-v1", "core-v1", "core-v1-verified")) == [
        "core-v1", "core-v2", "core-v1-verified"
    ]  # fmt: skip
    assert nearest("zzz", KNOWN) == nearest("", KNOWN) == []


def test_what_to_write_instead() -> None:
    """The nearest and where all are; all of them where they are few and none is near; else where they are."""
    assert instead("a gapp", KNOWN, "fencepost list") == "did you mean a_gap? fencepost list names all 7"
    assert instead("kraft", ("core v1", "core v2"), "list") == "there are core v1, core v2"
    assert instead("kraft", ("core",), "list") == "there is core"
    assert instead("kraft", (), "list") == "there are none"
    assert instead("zzz", KNOWN, "list") == "list names all 7"
    assert instead("core", ("core-v1", "core-v2", "core-v3", "core-v4"), "list").startswith(
        "did you mean core-v1, core-v2 or core-v3? "
    )


@pytest.mark.parametrize(
    ("noun", "several"),
    [("lemma", "2 lemmas"), ("property", "2 properties"), ("history", "2 histories"), ("day", "2 days")],
)
def test_one_and_several(noun: str, several: str) -> None:
    assert (quantity(1, noun), quantity(2, noun), quantity(0, noun)) == (f"1 {noun}", several, f"0 {several[2:]}")


def test_thousands_and_once() -> None:
    assert (quantity(1466, "event"), times(1), times(2000)) == ("1,466 events", "once", "2,000 times")


def test_errors_are_named_as_kafka_names_them() -> None:
    """Each code of the reference, which writes Kafka's names by hand, but those of a draft; and what Kafka has not."""
    draft = {"CONCURRENT_PRODUCER_COMMIT", "PENDING_TRANSACTION"}
    known = vars(GroupErrorCode) | vars(IdErrorCode) | vars(ErrorCode)
    codes = {name: code for name, code in known.items() if name.isupper() and name not in draft}
    assert len(codes) > 35 and {name: error_name(code) for name, code in codes.items()} == {
        name: name for name in codes
    }
    assert error_text(47) == in_reference(47) == "error INVALID_PRODUCER_EPOCH (47)"
    assert error_text(-1) == in_reference(-1) == "error UNKNOWN_SERVER_ERROR (-1)"
    assert error_text(9999) == in_reference(9999) == "error 9999"
