"""Producer id blocks (KIP-730), written from the proposal and from what Apache Kafka ships.

Read `broker` and `controller` first: they are the protocol. `zookeeper` is what came before it, and the bridge between
the two.
"""
