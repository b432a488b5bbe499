"""The mistakes that are refused while a protocol is made, with file, line and remedy.

Read `errors` (the message of a mistake), `lint` (Python's own control flow in a rule), `refusals` (operations that
symbols refuse), `rule_references` (rule numbers).
"""
