"""These models cover the part of KIP-618 that decides which task may run: task count records, fencing rounds, task
starts and writers of the config topic."""
