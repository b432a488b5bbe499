"""The throttle on AllocateProducerIds (730.6): a token bucket per broker, in virtual time.

As everywhere in Kafka the controller never holds a request back itself: it answers, and says for how many
milliseconds the caller must stay silent. One second's worth of requests may come in a burst.
"""


class Quota:
    """`per_second` requests per broker; 0 means no limit, which is Kafka's default."""

    __slots__ = ("_full_at", "_per_second")

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._full_at: dict[int, float] = {}  # broker -> virtual us at which its bucket will be full again

    def throttle_ms(self, broker_id: int, now_us: int) -> int:
        """Account one request of `broker_id`; the milliseconds it must now wait, 0 while within the quota."""
        if self._per_second <= 0:
            return 0
        full_at = max(self._full_at.get(broker_id, 0.0), float(now_us)) + 1_000_000 / self._per_second
        self._full_at[broker_id] = full_at
        overdrawn_us = full_at - now_us - 1_000_000
        return max(0, -int(-overdrawn_us // 1000))
