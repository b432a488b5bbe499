"""A proxy between real clients and brokers on 127.0.0.1.

Read `proxy`, `rules`, `links`, `frames`, `addresses`, `batches`.
"""
