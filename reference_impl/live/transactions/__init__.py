"""This package runs transactions on real brokers, with the reference implementation's clients over TCP or with real
clients through the proxy.

Read `over_tcp` (what a driver moves), `remote` (what clients know of brokers), `requests`, `fetching`, `pool` and
`config`, and `clients` for real clients.
"""
