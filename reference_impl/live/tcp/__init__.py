"""This package implements Kafka's protocol over TCP, as far as clients and recorders need it.

Read `connection`, `security`, `decoding`, `reading`, `brokers` and `versions` in this order.
"""
