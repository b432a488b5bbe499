"""This package has producer id blocks (KIP-730), written from the proposal and from Apache Kafka's code.

Read `broker` and `controller` first, which are the protocol. `zookeeper` is what came before it, and the bridge between
the two.
"""
