"""This package puts real clients behind the interface of an implementation.

Read `real_client`, `real_client_system`, `real_client_messages` and `real_client_slots`, then `sniffing`, which makes
events of what passes through the proxy. Each library has a file of its own.
"""
