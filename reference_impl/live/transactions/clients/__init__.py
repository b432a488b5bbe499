"""Real clients behind the interface of an implementation.

Read `real_client`, `real_client_system`, `real_client_messages` and `real_client_slots`; `sniffing` (what passes
through the proxy, as events); one file for each library.
"""
