"""Known bugs as scenarios: each shows its symptom with the defect, and not without."""

import pytest
import txn_symptoms as symptom
from fencepost.reference_impl.transactions.scenarios.known import SCENARIOS, scenario

SYMPTOMS = {
    "KAFKA-17754": symptom.uncommitted_read,
    "KAFKA-17754-verified": symptom.uncommitted_read,
    "KAFKA-14402": symptom.unresolved,
    "KAFKA-14884": symptom.unresolved,
    "KAFKA-14884-ABA": symptom.uncommitted_read,
    "KAFKA-6119": symptom.uncommitted_read,
    "KAFKA-5231": symptom.uncommitted_read,
    "KAFKA-18575": symptom.unresolved,
    "KAFKA-18464": symptom.lone_client_fails,
    "KAFKA-19367": symptom.unresolved,
    "KAFKA-20090": symptom.epoch_out_of_range,
    "KAFKA-19999": symptom.unresolved,
    "KAFKA-18019": symptom.superseded_commits,
    "Redpanda-5026": symptom.committed_lost,
    "KAFKA-14402-second": symptom.unresolved,
    "KAFKA-14402-joins": symptom.uncommitted_read,
    "KAFKA-20357": symptom.lone_client_fails,
    "KAFKA-20310": symptom.lone_client_fails,
    "deposed-coordinator": symptom.uncommitted_read,
    "deposed-coordinator-prompt": symptom.committed_lost,
    "uncovered-Prepare": symptom.torn,
    "late-marker-v1": symptom.uncommitted_read,
    "KIP-1228": symptom.uncommitted_read,
    "KAFKA-19446": symptom.committed_lost,
    "forgotten-fence": symptom.uncommitted_read,
    "KAFKA-20734": symptom.uncommitted_read,
    "KAFKA-20734-v1": symptom.uncommitted_read,
    "KAFKA-20716": symptom.uncommitted_read,
    "Redpanda-3036": symptom.uncommitted_read,
    "AutoMQ-754": symptom.uncommitted_read,
    "librdkafka-3369": symptom.uncommitted_read,
    "KAFKA-9346": symptom.pending_offset_passed_over,
    "KAFKA-13727": symptom.uncommitted_read,
    "KAFKA-14055": symptom.committed_lost,
    "KAFKA-14034": symptom.read_twice,
    "librdkafka-4953": symptom.read_twice,
}


def test_every_scenario_has_its_symptom():
    """The table of symptoms covers the scenarios."""
    assert sorted(SYMPTOMS) == sorted(SCENARIOS)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario_shows_its_symptom_only_when_broken(name):
    """Each known bug breaks what it is known for, and its fix does not."""
    assert SYMPTOMS[name](scenario(name, True))
    assert not SYMPTOMS[name](scenario(name, False))


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_fixed_scenario_breaks_nothing_else(name):
    """txn.P2 to txn.P6: with the fix no reader gets what is not committed, or anything twice."""
    events = scenario(name, False)
    assert not symptom.uncommitted_read(events)
    assert not symptom.read_twice(events)
    assert not symptom.torn(events)


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="KAFKA-17754"):
        scenario("KAFKA-1", True)
