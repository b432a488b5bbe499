"""A system in which two protocols are at work, the example of histories in several vocabularies: the lock of
`tests.lock`, and an auditor who reads the store from time to time.  There is no model of the audit: what is promised of
it is what its events must satisfy.
"""
