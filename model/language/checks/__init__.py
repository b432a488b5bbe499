"""What is refused while a protocol is made, with file, line and remedy.

Read `errors` (how a mistake is told), `lint` (Python's own control flow in a rule), `refusals` (operations that symbols
refuse), `citing` (rule numbers).
"""
