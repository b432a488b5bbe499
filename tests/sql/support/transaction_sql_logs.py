"""The properties of transactions that speak of logs, in SQL: the second half of `transaction_sql`."""

LOG_PARTS = {
    "log": """
      SELECT history, step, kind, part, producer_id, spot, epoch, sequence, rec, outcome, coordinator_epoch,
        row_number() OVER (PARTITION BY history, part, producer_id ORDER BY spot, step) AS nth
      FROM events WHERE kind IN (40, 43)""",
    "marked": """
      SELECT l.*, lag(l.step) OVER w AS before, lag(l.kind) OVER w AS kind_before, lag(l.epoch) OVER w AS epoch_before,
        max(CASE WHEN l.kind = 43 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_marker,
        max(CASE WHEN l.kind = 40 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_batch,
        min(CASE WHEN l.kind = 43 THEN l.nth END) OVER (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_marker,
        max(l.nth) OVER (PARTITION BY l.history, l.part, l.producer_id) AS length
      FROM log l WINDOW w AS (PARTITION BY l.history, l.part, l.producer_id ORDER BY l.nth)""",
    "batches": """
      SELECT b.history, b.step, b.part, b.producer_id, b.epoch, b.spot, b.rec, m.step AS marker, m.outcome AS fate
      FROM marked b LEFT JOIN log m ON m.history = b.history AND m.part = b.part AND m.producer_id = b.producer_id
        AND m.nth = b.next_marker
      WHERE b.kind = 40""",
    "decisions": """
      SELECT b.history, b.marker, b.fate, o.txn FROM batches b
        LEFT JOIN own o ON o.history = b.history AND o.rec = b.rec
      WHERE b.marker IS NOT NULL""",
    "logged": """
      SELECT history, step, txn_id, state, producer_id, epoch, lag(step) OVER w AS before,
        lag(producer_id) OVER w AS id_before, lag(epoch) OVER w AS epoch_before,
        lead(step) OVER w AS next_step, lead(state) OVER w AS next_state
      FROM events WHERE kind = 23 WINDOW w AS (PARTITION BY history, txn_id ORDER BY step)""",
    "prepared": """
      SELECT history, producer_id, epoch, CASE WHEN state = 2 THEN 1 ELSE 0 END AS outcome, min(step) AS step
      FROM logged WHERE state IN (2, 3) GROUP BY history, producer_id, epoch, CASE WHEN state = 2 THEN 1 ELSE 0 END""",
    "states": """
      SELECT history, step, kind, CASE WHEN kind = 23 THEN state ELSE 6 END AS state,
        lag(CASE WHEN kind = 23 THEN state ELSE 6 END) OVER (PARTITION BY history, txn_id ORDER BY step) AS came_from
      FROM events WHERE kind IN (23, 29)""",
}

LOG_VIOLATIONS = {
    "markers_as_told": """
      SELECT d.history, d.marker AS step FROM decisions d
        JOIN told t ON t.history = d.history AND t.txn = d.txn
          AND t.outcome = CASE WHEN d.fate = 1 THEN 0 ELSE 1 END""",
    "markers_as_decided": """
      SELECT d.history, d.marker AS step FROM decisions d
        LEFT JOIN asked a ON a.history = d.history AND a.txn = d.txn AND a.outcome = 1
      WHERE d.txn IS NOT NULL AND d.fate = 1 AND (a.step IS NULL OR a.step > d.marker)""",
    "transactions_share_fate": """
      SELECT history, marker AS step FROM (
        SELECT history, marker, fate, first_value(fate) OVER (PARTITION BY history, txn ORDER BY marker
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS earliest FROM decisions WHERE txn IS NOT NULL) n
      WHERE fate <> earliest""",
    "markers_as_prepared": """
      SELECT m.history, m.step FROM events m LEFT JOIN prepared p ON p.history = m.history
        AND p.producer_id = m.producer_id AND p.epoch = m.epoch AND p.outcome = m.outcome
      WHERE m.kind = 43 AND p.step IS NULL""",
    "markers_after_prepare": """
      SELECT m.history, m.step FROM events m JOIN prepared p ON p.history = m.history
        AND p.producer_id = m.producer_id AND p.epoch = m.epoch AND p.outcome = m.outcome
      WHERE m.kind = 43 AND p.step > m.step""",
    "stable_below_open": """
      SELECT s.history, s.step FROM events s WHERE s.kind = 47 AND EXISTS (
        SELECT 1 FROM batches b WHERE b.history = s.history AND b.part = s.part AND b.spot < s.upto
          AND (b.marker IS NULL OR b.marker > s.step))""",
    "none_hanging": """
      SELECT m.history, m.step FROM marked m LEFT JOIN (
          SELECT l.history, l.producer_id, l.state FROM logged l
            JOIN (SELECT history, max(step) AS step FROM logged WHERE producer_id >= 0 GROUP BY history, producer_id) f
              ON f.history = l.history AND f.step = l.step) c
        ON c.history = m.history AND c.producer_id = m.producer_id
      WHERE {quiet_end} AND m.nth = m.length AND m.kind = 40 AND (c.state IS NULL OR c.state <> 1)""",
    "states_follow_on": """
      SELECT history, step FROM states WHERE kind = 23 AND came_from IS NOT NULL AND NOT (
        (state = 0 AND came_from IN (0, 4, 5, 6)) OR (state = 1 AND came_from IN (0, 1, 4, 5))
        OR (state IN (2, 3) AND came_from = 1) OR (state = 3 AND came_from IN (0, 4, 5) AND {is_v2})
        OR (state = 4 AND came_from = 2) OR (state = 5 AND came_from = 3))""",
    "prepared_as_asked": """
      SELECT p.history, p.step FROM logged p WHERE p.state IN (2, 3) AND p.before IS NOT NULL
        AND NOT (p.state = 3 AND (p.producer_id <> p.id_before OR p.epoch >= p.epoch_before + {fence_bump}
          OR p.epoch >= {max_epoch}))
        AND NOT EXISTS (SELECT 1 FROM events s WHERE s.kind = 11 AND s.history = p.history AND s.step < p.step
          AND s.producer_id = p.producer_id AND s.epoch = p.epoch - {bump}
          AND s.outcome = CASE WHEN p.state = 2 THEN 1 ELSE 0 END)""",
    "ends_answered_as_logged": """
      SELECT h.history, h.step FROM events h JOIN (
          SELECT e.history, e.request, e.producer_id, e.epoch, e.outcome FROM events e
            JOIN (SELECT history, min(step) AS step FROM events WHERE kind = 11 AND request >= 0
                  GROUP BY history, request) f ON f.history = e.history AND f.step = e.step) s
          ON s.history = h.history AND s.request = h.request
        LEFT JOIN prepared p ON p.history = s.history AND p.producer_id = s.producer_id
          AND p.epoch = s.epoch + {bump} AND p.outcome = s.outcome
      WHERE h.kind = 22 AND h.error = 0 AND (p.step IS NULL OR p.step > h.step)""",
    "completed_after_markers": """
      SELECT p.history, p.next_step AS step FROM (
        SELECT b.history, b.step, b.marker, min(p.step) AS prepare FROM batches b
          JOIN logged p ON p.history = b.history AND p.producer_id = b.producer_id AND p.state IN (2, 3)
            AND p.step > b.step
        WHERE b.producer_id >= 0 GROUP BY b.history, b.step, b.marker) b
        JOIN logged p ON p.history = b.history AND p.step = b.prepare
      WHERE p.next_state >= 4 AND (b.marker IS NULL OR b.marker > p.next_step)""",
}
