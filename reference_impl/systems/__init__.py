"""What each protocol's interface is made of: a cluster behind the few operations by which a driver moves it, its
replaceable parts, and histories that run free with a seed, with their clients and faults.

A protocol's file is called as the protocol: `reference` there is the implementation, `simulate` makes a history.
"""
