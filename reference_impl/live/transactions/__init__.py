"""Transactions on real brokers: the reference implementation's clients over TCP, and real clients through the proxy.

Read `over_tcp` (what a driver moves), `remote` (what clients know of brokers), `requests`, `fetching`, `pool`,
`config`; `clients` for real ones.
"""
