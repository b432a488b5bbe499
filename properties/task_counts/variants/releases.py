"""Of which releases of Kafka the variants of task counts are, and what the variants lack."""

from fencepost.model.releases import ENABLED, Kafka

SHIPPED = Kafka(
    settings=ENABLED,
    lacks="a fencing round that is over answers until another thread takes it away (DistributedHerder."
    "activeZombieFencings), and a worker that was paused past its session starts a task again that the newest set has not",
)
"""What shipped, but for two steps; a variant that is called released has them as well."""
UPGRADING = Kafka(settings={"exactly.once.source.support": "upgrading"})
