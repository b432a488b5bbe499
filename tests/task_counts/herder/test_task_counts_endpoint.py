"""The internal endpoint has session keys, signatures, statuses and forwarding."""

from random import Random

import pytest
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.config_records import SessionKey, key_in, needs_new_key, new_key, parse, sign
from fencepost.reference_impl.connect.requests import (
    BODY,
    REASONS,
    Decision,
    FenceEndpoint,
    FenceRequest,
    Receiver,
    Verdict,
    trace,
)

KEY = new_key(Random(1), 0)
OTHER_KEY = new_key(Random(2), 0)
SIGNED = sign(KEY, BODY)
LEADER = Receiver(True, KEY, 0, 0, frozenset({"c", "sink"}), frozenset({"c"}))
FOLLOWER = LEADER._replace(worker=1)
ENDPOINT = FenceEndpoint()


def answer(status):
    return Decision(Verdict.ANSWER, status)


def test_path_is_as_shipped():
    """618.10: The path is `PUT /connectors/<c>/fence`, to which each hop adds a parameter."""
    assert FenceRequest("my-c", None).path == "/connectors/my-c/fence"
    assert FenceRequest("c", None, True).path == "/connectors/c/fence?forward=true"
    assert FenceRequest("c", None, False).path == "/connectors/c/fence?forward=false"


def test_a_signed_request_at_the_leader_gets_its_round():
    """618.10: A request gets its round over no, one or two hops."""
    for forward in (None, True, False):
        assert ENDPOINT.decide(FenceRequest("c", SIGNED, forward), LEADER) == Decision(Verdict.ROUND)


@pytest.mark.parametrize(
    ("signature", "key", "status"),
    [
        (None, KEY, 400),
        (None, None, 400),
        (sign(KEY, BODY, "HmacSHA1"), KEY, 400),
        (SIGNED, None, 503),
        (sign(OTHER_KEY, BODY), KEY, 403),
        (sign(KEY, b"another body"), KEY, 403),
        (SIGNED, KEY, 200),
    ],
)
def test_signature_is_checked_first(signature, key, status):
    """618.10: The status is 400 for no signature or algorithm, 503 for no key, and 403 for a wrong signature."""
    assert config_records.signature_status(signature, BODY, key) == status
    if status != 200:
        for receiver in (LEADER, FOLLOWER):
            assert ENDPOINT.decide(FenceRequest("nobody", signature), receiver._replace(key=key)) == answer(status)


def test_a_follower_forwards_over_two_hops_at_most():
    """618.10: As shipped, the signature is forwarded, and a third hop or an unknown leader is answered with 409."""
    first = ENDPOINT.decide(FenceRequest("c", SIGNED), FOLLOWER)
    assert first == Decision(Verdict.FORWARD, target=0, request=FenceRequest("c", SIGNED, True))
    second = ENDPOINT.decide(first.request, FOLLOWER._replace(worker=2, leader=1))
    assert (second.target, second.request.forward) == (1, False)
    assert ENDPOINT.decide(second.request, FOLLOWER) == answer(409)
    assert ENDPOINT.decide(FenceRequest("c", SIGNED), FOLLOWER._replace(leader=-1)) == answer(409)


def test_the_leader_knows_its_connectors():
    """The leader answers 404 for an unknown connector and 400 for a sink, which a follower does not check."""
    assert ENDPOINT.decide(FenceRequest("gone", SIGNED), LEADER) == answer(404)
    assert ENDPOINT.decide(FenceRequest("sink", SIGNED), LEADER) == answer(400)
    assert ENDPOINT.decide(FenceRequest("gone", SIGNED), FOLLOWER).verdict is Verdict.FORWARD


def test_a_version_without_the_feature_has_no_such_endpoint():
    """618.35: During the first rolling upgrade the leader may lack the endpoint, and answers 404."""
    assert ENDPOINT.decide(FenceRequest("c", SIGNED), LEADER._replace(serves=False)) == answer(404)


def test_every_refusal_has_a_reason_for_the_trace():
    """618.11: The trace of a FAILED task has status, reason and cause."""
    assert sorted(REASONS) == [400, 403, 404, 409, 500, 503]
    assert trace(500, "c", "TimeoutException").startswith(
        "ConnectRestException: 500: The round of zombie fencing failed"
    )
    assert trace(500, "c", "TimeoutException").endswith("connector c: TimeoutException")


# Session keys


def test_a_key_comes_back_from_the_config_topic():
    """618.10: A follower learns the leader's session key from the record."""
    value = parse(KEY.record()).value
    assert key_in(value) == KEY
    assert key_in(None) is None
    assert (len(KEY.secret), KEY.algorithm) == (32, "HmacSHA256")


def test_a_key_lives_for_an_hour():
    """KIP-507: The leader replaces a key that is missing, expired, or of another kind."""
    key = new_key(Random(3), 1000)
    assert needs_new_key(None, 0)
    assert not needs_new_key(key, 1000 + 3_600_000 - 1)
    assert needs_new_key(key, 1000 + 3_600_000)
    assert needs_new_key(SessionKey(b"short", "HmacSHA256", 1000), 1000)
    assert needs_new_key(key._replace(algorithm="HmacSHA512"), 1000)
    assert not needs_new_key(key, 10**12, ttl_ms=0)


def test_the_headers_carry_algorithm_and_mac():
    """KIP-507: The header has the MAC in base64, and a request without a key is unsigned."""
    headers = SIGNED.headers()
    assert headers["X-Connect-Request-Signature-Algorithm"] == "HmacSHA256"
    assert len(headers["X-Connect-Authorization"]) == 44
    assert sign(None, BODY) is None


def test_seeds_make_different_keys():
    chance = Random(5)
    first, second = new_key(chance, 0), new_key(chance, 0)
    assert first != second
    assert new_key(Random(5), 0) == first
