"""Examples do not draw these configs. What unclean elections break is predicted and the rest is judged, and in other
configs the reference breaks no promise."""

import pytest
from fencepost.proofs.testing import agree
from fencepost.reference_impl.defects import transactions
from fencepost.reference_impl.systems.transactions import reference

UNCLEAN = {"unclean_elections": True}
EXPIRING = {"expiration_ms": 20_000, "expiration_check_ms": 5_000}  # an idle client's id is forgotten between two calls
WITHOUT_CLIENT = {"ids": 2, "clients": 1}  # one of the ids has no client


def test_what_an_unclean_election_breaks_is_predicted() -> None:
    """Acknowledged records are lost, a transaction whose marker is lost hangs, and nothing else is found."""
    report = agree(
        reference, protocol="transactions", variant="v2", seed=1, max_examples=15, config=UNCLEAN, promises_only=True,
        verdict_only=True,
    )  # fmt: skip
    assert report.verdict == "holds", report.failure
    assert {"txn.P4", "txn.P10"} <= report.excused.keys()
    assert {why for whys in report.excused.values() for why in whys} == {
        "txn.26 elect_unclean: a replica that lacked the end of its log has led"
    }


def test_a_zombie_is_found_all_the_same() -> None:
    """Leaders that do not verify transactions accept a zombie's record, which is found."""
    report = agree(
        transactions.find("unverified"), protocol="transactions", variant="v1-verified", seed=1, max_examples=10,
        config=UNCLEAN, promises_only=True, promises=["txn.P1"], verdict_only=True,
    )  # fmt: skip
    assert report.verdict == "violated"
    assert report.failure is not None and report.failure.promise.startswith("txn.P1")


def test_no_replica_out_of_sync_leads_by_default() -> None:
    """The default of unclean.leader.election.enable is false, and a log cannot lose what it lacks."""
    with pytest.raises(ValueError, match="unclean_elections is false"):
        reference({"seed": 0}).elect_unclean(0, 1)
    reference({"seed": 0, **UNCLEAN}).elect_unclean(0, 3)


@pytest.mark.parametrize("variant", ["v2", "v1-verified"])
@pytest.mark.parametrize("config", [EXPIRING, WITHOUT_CLIENT], ids=["ids-expire-soon", "more-ids-than-clients"])
def test_no_alarm_on_the_reference(variant: str, config: dict[str, int]) -> None:
    """txn.P8, txn.P10: The promises concern producers whose ids are not forgotten, and ids that have clients."""
    report = agree(
        reference, protocol="transactions", variant=variant, seed=1, max_examples=8, config=config,
        promises_only=True, verdict_only=True,
    )  # fmt: skip
    assert (report.verdict, report.failure) == ("holds", None)


@pytest.mark.parametrize("variant", ["v2", "v1"])
def test_the_model_knows_that_an_id_may_be_expiring(variant: str) -> None:
    """InitProducerId of an expiring id gets CONCURRENT_TRANSACTIONS (51), however soon ids expire. In v1 a fenced
    client is given another producer id after that."""
    report = agree(reference, protocol="transactions", variant=variant, seed=0, max_examples=4, config=EXPIRING)
    assert report.failure is None
