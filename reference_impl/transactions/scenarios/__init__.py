"""Known bugs of transactions as short scripts, each once with the defect and once without it.

Read `script` (how a script drives the plug), `playing` (what scripts share), `known` (the list, and bugs of fencing and
ending), then `fail_over`, `markers`, `reading`, `sending`.
"""
