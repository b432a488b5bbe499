"""This package is an application of a consumer group over TCP: its requests and answers, and the system that a driver
moves."""
