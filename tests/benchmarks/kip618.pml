/* The KIP-618 yardstick for SPIN: the protocol of model/kip618_yardstick.py, state for state.
 *
 * Two processes would interleave the same steps; one process with a choice keeps the stored state to the protocol's variables.
 * Worker w is written w + 1 where "nobody" is possible.  A record r of the topic is a set of r tasks for 1 <= r <= TASKS, and a
 * count of r - TASKS tasks above; 0 is no record.  Compile with -DTOPIC=4, and pan.c with -DSAFETY.
 */
#ifndef TOPIC
#define TOPIC 4
#endif
#define TASKS 2
#define NOBODY 0

/* Stages of a task and of a leader's round. */
#define NONE 0
#define ASSIGNED 1
#define CHECKED 2
#define PRODUCER 3
#define RUNNING 4
#define FENCING 1
#define AGREED 2

bool leads[2];
byte round[2];
byte target[2];          /* the generation that a round is for */
byte left[2];            /* ids still to fence */
byte read[2];            /* how far a worker has read */
byte stage[4];           /* of worker w and task i: stage[2 * w + i] */
byte generation[4];
byte topic[TOPIC];
byte end;
byte writer;             /* whose producer may write to the topic */
byte holder[TASKS];      /* whose producer holds a task's transactional id */

/* The newest set among the first k records, and the newest count: 1 … 4, or 0. */
#define is_set(k) (topic[(k) - 1] >= 1 && topic[(k) - 1] <= TASKS)
#define is_count(k) (topic[(k) - 1] > TASKS)
#if TOPIC == 4
#define set_among(n) ((n) >= 4 && is_set(4) -> 4 : ((n) >= 3 && is_set(3) -> 3 : ((n) >= 2 && is_set(2) -> 2 : ((n) >= 1 && is_set(1) -> 1 : 0))))
#define newest_count (is_count(4) -> 4 : (is_count(3) -> 3 : (is_count(2) -> 2 : (is_count(1) -> 1 : 0))))
#define counts_match (matches(1) && matches(2) && matches(3) && matches(4))
#else
#define set_among(n) ((n) >= 3 && is_set(3) -> 3 : ((n) >= 2 && is_set(2) -> 2 : ((n) >= 1 && is_set(1) -> 1 : 0)))
#define newest_count (is_count(3) -> 3 : (is_count(2) -> 2 : (is_count(1) -> 1 : 0)))
#define counts_match (matches(1) && matches(2) && matches(3))
#endif
#define newest_set set_among(end)
#define matches(k) (!is_count(k) || (set_among(k) > 0 && topic[set_among(k) - 1] == topic[(k) - 1] - TASKS))

/* Ids to fence: as many as the newest count says, none where one task follows one. */
#define counted (newest_count == 0 -> 0 : topic[newest_count - 1] - TASKS)
#define to_fence (counted == 0 || (counted == 1 && topic[newest_set - 1] == 1) -> 0 : counted)

/* Who can commit are of one generation. */
#define commits(w, i) (stage[2 * (w) + i] == RUNNING && holder[i] == (w) + 1)
#define agree(v, i, w, j) (!commits(v, i) || !commits(w, j) || generation[2 * (v) + i] == generation[2 * (w) + j])
#define no_zombie (agree(0, 0, 0, 1) && agree(0, 0, 1, 0) && agree(0, 0, 1, 1) && agree(0, 1, 1, 0) && agree(0, 1, 1, 1) && agree(1, 0, 1, 1))

inline promises() { assert(no_zombie && counts_match) }
inline put(w, record) { topic[end] = record; end++; read[w] = end }
inline no_round(w) { round[w] = NONE; target[w] = 0 }
inline drop(w, i) { stage[2 * w + i] = NONE; generation[2 * w + i] = 0 }
inline release(w, i) { if :: holder[i] == w + 1 -> holder[i] = NOBODY :: else -> skip fi }

#define LEADER(w) \
  :: d_step { writer != w + 1 && round[w] != AGREED -> \
       writer = w + 1; leads[w] = true; promises() } \
  :: d_step { leads[w] && writer != w + 1 -> \
       leads[w] = false; left[w] = 0; no_round(w); promises() } \
  :: d_step { read[w] < end -> read[w]++; promises() } \
  :: d_step { leads[w] && writer == w + 1 && round[w] != AGREED && end < TOPIC -> put(w, 1); promises() } \
  :: d_step { leads[w] && writer == w + 1 && round[w] != AGREED && end < TOPIC -> put(w, 2); promises() } \
  :: d_step { leads[w] && round[w] == NONE && newest_set > newest_count -> \
       read[w] = end; target[w] = newest_set; left[w] = to_fence; \
       round[w] = (left[w] == 0 -> AGREED : FENCING); promises() } \
  :: d_step { round[w] == FENCING && left[w] > 0 -> \
       left[w]--; holder[left[w]] = NOBODY; promises() } \
  :: d_step { round[w] == FENCING && left[w] == 0 -> \
       read[w] = end; \
       if :: newest_set == target[w] -> round[w] = AGREED :: else -> no_round(w) fi; promises() } \
  :: d_step { round[w] == AGREED && writer == w + 1 && end < TOPIC -> \
       put(w, TASKS + topic[target[w] - 1]); no_round(w); promises() } \
  :: d_step { round[w] == AGREED && writer != w + 1 -> no_round(w); promises() }

#define TASK(w, i) \
  :: d_step { stage[2 * w + i] == NONE && set_among(read[w]) > 0 && i < topic[set_among(read[w]) - 1] -> \
       generation[2 * w + i] = set_among(read[w]); stage[2 * w + i] = ASSIGNED; promises() } \
  :: d_step { stage[2 * w + i] == ASSIGNED && newest_count > generation[2 * w + i] -> \
       read[w] = end; \
       if :: newest_set == generation[2 * w + i] -> stage[2 * w + i] = CHECKED :: else -> drop(w, i) fi; promises() } \
  :: d_step { stage[2 * w + i] == CHECKED -> \
       stage[2 * w + i] = PRODUCER; holder[i] = w + 1; promises() } \
  :: d_step { stage[2 * w + i] == PRODUCER -> \
       read[w] = end; \
       if :: newest_set == generation[2 * w + i] -> stage[2 * w + i] = RUNNING \
          :: else -> drop(w, i); release(w, i) fi; promises() } \
  :: d_step { stage[2 * w + i] != NONE -> drop(w, i); release(w, i); promises() }

active proctype cluster() {
end_of_steps:
  do
  LEADER(0)
  LEADER(1)
  TASK(0, 0)
  TASK(0, 1)
  TASK(1, 0)
  TASK(1, 1)
  od
}
