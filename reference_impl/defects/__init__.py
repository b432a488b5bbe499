"""This package has implementations that are wrong in one way each.

Each file is named after its protocol. A defect can be named as `<protocol>:<name>`, which gives a factory like
`reference`, and most can be named by the key `broken` of a simulated history. The defects of the interface cannot be
named by that key.
"""
