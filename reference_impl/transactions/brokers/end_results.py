"""Results of EndTxn by the state that it meets: Kafka's tables, before and after KIP-890 part 2."""

from fencepost.reference_impl.transactions.brokers.states import TransactionState
from fencepost.reference_impl.transactions.errors import ErrorCode

PREPARES = -2  # in the tables: no answer yet, the transaction ends now

_S, _E = TransactionState, ErrorCode

# (state, committed) -> answer, for a request with the exact producer id and epoch
V1_RESULT = {
    (_S.EMPTY, True): _E.INVALID_TXN_STATE,
    (_S.EMPTY, False): _E.INVALID_TXN_STATE,
    (_S.ONGOING, True): PREPARES,
    (_S.ONGOING, False): PREPARES,
    (_S.PREPARE_COMMIT, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.PREPARE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, False): _E.CONCURRENT_TRANSACTIONS,
    (_S.COMPLETE_COMMIT, True): _E.NONE,
    (_S.COMPLETE_COMMIT, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, False): _E.NONE,
}

# (state, committed, retry) -> answer; a retry names the pair that the end of the last transaction has replaced.
# The client may not know whether the coordinator ever heard of its transaction, so an abort of nothing ends one too.
V2_RESULT = {
    (_S.EMPTY, True, False): _E.INVALID_TXN_STATE,
    (_S.EMPTY, True, True): _E.PRODUCER_FENCED,
    (_S.EMPTY, False, False): PREPARES,
    (_S.EMPTY, False, True): _E.PRODUCER_FENCED,
    (_S.ONGOING, True, False): PREPARES,
    (_S.ONGOING, True, True): _E.PRODUCER_FENCED,
    (_S.ONGOING, False, False): PREPARES,
    (_S.ONGOING, False, True): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, True, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, True, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.PREPARE_COMMIT, False, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, True, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_S.PREPARE_ABORT, False, False): _E.PRODUCER_FENCED,
    (_S.PREPARE_ABORT, False, True): _E.CONCURRENT_TRANSACTIONS,
    (_S.COMPLETE_COMMIT, True, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_COMMIT, True, True): _E.NONE,
    (_S.COMPLETE_COMMIT, False, False): PREPARES,
    (_S.COMPLETE_COMMIT, False, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True, False): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, True, True): _E.INVALID_TXN_STATE,
    (_S.COMPLETE_ABORT, False, False): PREPARES,
    (_S.COMPLETE_ABORT, False, True): _E.NONE,
}
