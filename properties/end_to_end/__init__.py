"""These properties cover the whole system, from the sources of Connect's tasks, through one Kafka and a group that
copies, to a committed sink."""
