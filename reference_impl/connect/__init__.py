"""Kafka Connect: workers that decide who may run (here), source tasks and their offsets (`offsets`), and how one task
learns of its commits (`commits`).

Read `rounds` and `source_task` first: they are the protocol of KIP-618 about who may run; then `herder`, the one thread
that a worker decides in, and `group`, which says also what differs between the texts. `config_topic` and
`config_records` are the config topic, `requests` what herders are asked for, `threads` how anything takes its time,
`brokers` the Kafka below, `environment` and `config` what all share.
"""
