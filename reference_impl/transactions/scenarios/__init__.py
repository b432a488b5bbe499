"""Known bugs of transactions as short scripts, each once with the defect and once without it.

Read `script` (the verbs), then `known` (the list, and bugs of fencing and ending), `fail_over`, `markers`, `reading`,
`sending`; `everything` is a history in which about everything happens once.
"""
