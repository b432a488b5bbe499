"""This module makes the only changes that the proxy makes to answers: to the addresses of brokers, and to the versions
that are offered.

Clients learn where brokers are from Metadata, FindCoordinator and DescribeCluster, and from the endpoints that Produce
and Fetch name after a change of leader. All of these addresses are made to lead back through the proxy. ApiVersions
offers no more than what kio can read, so that nothing passes unread, and no more than a test allows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fencepost.reference_impl.live.proxy.frames import Request, api_key, decoded, encoded, known_versions
from kio.static.primitive import i16, i32

PRODUCE, FETCH, METADATA, FIND_COORDINATOR = 0, 1, 3, 10
API_VERSIONS, DESCRIBE_CLUSTER = 18, 60
REWRITTEN = frozenset({PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER})
UNSUPPORTED_VERSION = 35
LISTS = ("brokers", "coordinators", "node_endpoints")

Local = Callable[[str, int], int]
"""This function returns the port of 127.0.0.1 that stands for a broker's host and port."""


class Rewriting:
    """A `Rewriting` changes answers for clients; ``at_most`` is the largest version offered, by API name."""

    def __init__(self, local: Local, at_most: Mapping[str, int]) -> None:
        self._local = local
        self._at_most = {api_key(name): version for name, version in at_most.items()}

    def answer(self, request: Request, frame: bytes) -> bytes:
        if request.api_key not in REWRITTEN:
            return frame
        if request.api_key == API_VERSIONS:
            return self._versions(request, frame)
        response = decoded(request, frame)
        changed = self._addresses(response) if response is not None else response
        return frame if changed is response else encoded(request.correlation_id, changed)

    def refusal(self, request: Request) -> bytes | None:
        """Return the proxy's own answer to an ApiVersions in a version that kio does not know, or None if it knows the
        version.

        It is a broker's answer to such a request: version 0, error 35, and the versions of ApiVersions (KIP-511).
        """
        versions = known_versions(API_VERSIONS)
        if request.api_key != API_VERSIONS or request.version in versions:
            return None
        return struct.pack(
            ">ihihhh", request.correlation_id, UNSUPPORTED_VERSION, 1, API_VERSIONS, versions[0], versions[-1]
        )

    def _addresses(self, response: Any) -> Any:
        changes: dict[str, Any] = {}
        for name in LISTS:
            if entries := getattr(response, name, ()):
                changes[name] = tuple(self._entry(entry) for entry in entries)
        if hasattr(response, "host"):  # FindCoordinator before version 4 names one
            return self._entry(response)
        return replace(response, **changes) if changes else response

    def _entry(self, entry: Any) -> Any:
        if not entry.host or int(entry.port) <= 0:  # an error, or a coordinator that is not known
            return entry
        return replace(entry, host="127.0.0.1", port=i32(self._local(entry.host, int(entry.port))))

    def _versions(self, request: Request, frame: bytes) -> bytes:
        """Offer fewer versions. The answer of a broker that does not know the request's version passes unchanged,
        because it offers nothing yet."""
        response = decoded(request, frame)
        if response is None or response.error_code:
            return frame
        offered = tuple(entry for each in response.api_keys if (entry := self._offered(each)) is not None)
        return encoded(request.correlation_id, replace(response, api_keys=offered))

    def _offered(self, entry: Any) -> Any:
        known = known_versions(int(entry.api_key))
        if not known:
            return None
        high = min(int(entry.max_version), known[-1], self._at_most.get(int(entry.api_key), known[-1]))
        # The smallest version stays: librdkafka takes a large one for the lack of a feature (KAFKA-18659), and asks for
        # the largest anyway.
        return replace(entry, max_version=i16(high)) if int(entry.min_version) <= high >= known[0] else None
