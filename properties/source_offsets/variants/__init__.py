"""The variants of exactly-once source tasks (KIP-618) that are judged: what is expected of each, bounds, reasons."""
