"""KIP-618, who may run: task count records, fencing rounds, task starts, and who writes the config topic."""
