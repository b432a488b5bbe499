"""KIP-618: who may run. Kafka Connect workers that fence zombie source tasks before they start new ones."""
