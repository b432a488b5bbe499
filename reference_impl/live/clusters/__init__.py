"""This package starts Apache Kafka from Maven's jars on 127.0.0.1: brokers in processes that end with the one that
started them.

Read `kafka`, `jars`, `properties` and `ending` in this order.
"""
