"""Kafka transactions, written from what Apache Kafka ships: before KIP-890, with its first part, and with its second.

Read `coordinator.py` and `log.py` first: they are the protocol on the brokers. `system.py` is the plug for a driver.
"""
