"""This package implements Kafka Connect: the workers that decide which tasks may run (in this folder), source tasks and
their offsets (`offsets`), and how one task learns of its commits (`commits`).

CONNECT.md lists what released Kafka does by keys of the configuration, or beyond what is written here.

Read `rounds` and `source_task` first: they are the part of KIP-618 that decides which tasks may run. Then read
`herder`, the one thread in which a worker decides, and `group`, which also has the differences between the revisions of
the document. `config_topic` and `config_records` are the config topic, `requests` are the requests that herders get,
`threads` runs threads step by step, `incremental` is Kafka's assignor, `brokers` is the Kafka cluster below, and
`environment` and `config` are what all of them share.
"""
