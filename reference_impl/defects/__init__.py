"""Implementations with one thing wrong each.

A protocol's file is called as the protocol: each defect is reachable as `<protocol>:<name>` there, a factory like
`reference`, and by the key `broken` of a simulated history, which those of the interface are not.
"""
