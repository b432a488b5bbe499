"""This package has the interface of each protocol: a cluster behind the few operations by which a driver moves it, its
replaceable parts, and free-running histories from a seed, with their clients and faults.

A protocol's file has the protocol's name; in it, `reference` is the implementation, and `simulate` makes a history.
"""
