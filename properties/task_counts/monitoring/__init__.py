"""The promises of task counts (KIP-618), held against observable events alone, event by event."""
