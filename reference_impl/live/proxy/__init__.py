"""This package is a proxy between real clients and brokers on 127.0.0.1.

Read `proxy`, `rules`, `links`, `frames`, `addresses` and `batches` in this order.
"""
