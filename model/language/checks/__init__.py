"""This package finds the mistakes that are refused while a protocol is made, with file, line and remedy.

`errors` has the message of a mistake, `lint` refuses Python's own control flow in a rule, `refusals` lists the
operations that symbols refuse, and `rule_references` checks rule numbers.
"""
