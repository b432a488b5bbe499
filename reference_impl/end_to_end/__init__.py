"""The whole system in one simulation: Connect's exactly-once source tasks, one Kafka whose producer ids come from
blocks, and a group that copies what the tasks write to a sink, which an auditor reads with read_committed.

Read `source.py` first (a task of a Connect worker, which runs the source task runtime), then `kafka.py` (the one Kafka,
as the group and as Connect's workers have it) and `generator.py` (two clocks, everybody's faults, and how a history
ends). `environment.py` is what all share on Kafka's side, `producer_ids.py` and `inputs.py` are the joints to the
controllers and between the topics; `parts.py` puts the layers together, and `defects` has each layer's defects in it.

Everything else is that of the layers, `reference_impl.{task_counts,source_offsets,transactions,group_fencing,
id_blocks}`, whose events are told as they are in histories of each alone; `events.py` has those from end to end.

Left out: fetching by messages, throughout (a reader reads at once what a log has); replication of partitions; a broker
that crashes as a whole (its logs' leaders, its coordinator and its ids change one by one); users that alter offsets;
the events of source offsets.
"""
