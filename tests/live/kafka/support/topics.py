"""Topics for tests, made through librdkafka's admin client."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 20.0


def create_topic(bootstrap: str, name: str, partitions: int = 1, replicas: int = 1) -> None:
    """Create a topic and wait until it is there. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})  # its answers end with it
    (created,) = admin.create_topics([NewTopic(name, partitions, replicas)]).values()
    created.result(PATIENCE_S)
