"""Transactions on real brokers: the reference implementation's clients over TCP, and real clients through the proxy.

Read `over_tcp` (the plug), `remote` (what clients know of brokers), `requests`, `fetching`, `names`, `pool`,
`timed_log`, `config`; `prompt` (the reference, seen from as far away as a broker) and `beside` with `sides` (both side
by side); `kafka_python` and `librdkafka`, with `clients` for what they share.
"""
