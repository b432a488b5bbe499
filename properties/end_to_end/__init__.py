"""End to end: from the sources of Connect's tasks, through one Kafka and a group that copies, to a committed sink."""
