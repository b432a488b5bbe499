"""Session keys and signatures of requests between workers (KIP-507).

The leader makes a key, writes it to the config topic, and replaces it when it is older than its time to live or of
another algorithm or size than configured; the others learn it from the topic. A request carries the algorithm and the
MAC of its *body* under the sender's key: path and receiver are not covered, as in Kafka. Kafka verifies only under
the cooperative protocol ("sessioned"); here it is always done, since 618.10 says so without that condition.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from fencepost.reference_impl.task_counts.topic.records import ConfigRecord, session_key_record

ALGORITHM = "HmacSHA256"  # inter.worker.key.generation.algorithm, inter.worker.signature.algorithm
ALGORITHMS = {"HmacSHA256": hashlib.sha256, "HmacSHA512": hashlib.sha512, "HmacSHA1": hashlib.sha1}
VERIFIED = (ALGORITHM,)  # inter.worker.verification.algorithms
KEY_BYTES = 32  # inter.worker.key.size
TTL_MS = 3_600_000  # inter.worker.key.ttl.ms

AUTHORIZATION_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

OK, BAD_REQUEST, FORBIDDEN, UNAVAILABLE = 200, 400, 403, 503


class SessionKey(NamedTuple):
    """A key, and when it was made (virtual milliseconds)."""

    secret: bytes
    algorithm: str
    created_ms: int

    def record(self) -> ConfigRecord:
        """The config topic's record of it."""
        return session_key_record(base64.b64encode(self.secret).decode(), self.algorithm, self.created_ms)


class Signature(NamedTuple):
    """The headers that a signed request carries beside its body."""

    algorithm: str
    mac: bytes

    def headers(self) -> dict[str, str]:
        """The HTTP headers that carry it."""
        return {ALGORITHM_HEADER: self.algorithm, AUTHORIZATION_HEADER: base64.b64encode(self.mac).decode()}


def new_key(random: Random, now_ms: int) -> SessionKey:
    """A fresh key."""
    return SessionKey(random.randbytes(KEY_BYTES), ALGORITHM, now_ms)


def key_in(value: Mapping[str, Any] | None) -> SessionKey | None:
    """The key that a `session-key` record holds, None for none."""
    if value is None:
        return None
    return SessionKey(_decoded(value["key"]), value["algorithm"], value["creation-timestamp"])


_decoded = lru_cache(maxsize=64)(base64.b64decode)  # a leader asks before all that it does whether its key is too old


def needs_new_key(key: SessionKey | None, now_ms: int, ttl_ms: int = TTL_MS) -> bool:
    """Whether the leader has to make a key: there is none, it has expired, or it is of another kind."""
    if key is None or key.algorithm != ALGORITHM or len(key.secret) != KEY_BYTES:
        return True
    return ttl_ms > 0 and key.created_ms + ttl_ms <= now_ms


def sign(key: SessionKey | None, body: bytes, algorithm: str = ALGORITHM) -> Signature | None:
    """The signature of a request's body; None (an unsigned request) as long as the sender knows no key."""
    return None if key is None else Signature(algorithm, _mac(key, body, algorithm))


def signature_status(signature: Signature | None, body: bytes, key: SessionKey | None) -> int:
    """How a request is answered for its signature alone.

    400: unsigned, or signed in a way that is not accepted; 503: the receiver knows no key yet; 403: signed under
    another key, or for another body; 200: it may be served.
    """
    if signature is None or signature.algorithm not in VERIFIED:
        return BAD_REQUEST
    if key is None:
        return UNAVAILABLE
    if not hmac.compare_digest(signature.mac, _mac(key, body, signature.algorithm)):
        return FORBIDDEN
    return OK


def _mac(key: SessionKey, body: bytes, algorithm: str) -> bytes:
    return hmac.digest(key.secret, body, ALGORITHMS[algorithm])
