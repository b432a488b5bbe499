"""This package has two-phase commit (KIP-939): a Kafka transaction that an outside store decides."""
