"""A proxy between real clients and brokers on 127.0.0.1, and what passes through it as events.

Read `proxy`, `rules`, `links`, `frames`, `addresses`, `batches`; `sniffing` and `sniffed_events`.
"""
