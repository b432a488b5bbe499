//! The KIP-618 yardstick for Stateright: the protocol of kip618.pml beside this folder, state for state.
//!
//! `kip618 TOPIC THREADS` searches breadth first and prints distinct states, generated states, and seconds.
//! Workers and tasks are numbered from 0; a worker w is written w + 1 where "nobody" is possible.  A record r of the
//! topic is a set of r tasks for 1 <= r <= TASKS, and a count of r - TASKS tasks above; 0 is no record.

use stateright::{Checker, Model, Property};
use std::time::Instant;

const WORKERS: usize = 2;
const TASKS: usize = 2;
const MOST: usize = 5;
const NOBODY: u8 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Round {
    None,
    Fencing,
    Agreed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    None,
    Assigned,
    Checked,
    Producer,
    Running,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    leads: [bool; WORKERS],
    round: [Round; WORKERS],
    target: [u8; WORKERS],
    left: [u8; WORKERS],
    read: [u8; WORKERS],
    stage: [[Stage; TASKS]; WORKERS],
    generation: [[u8; TASKS]; WORKERS],
    topic: [u8; MOST],
    end: u8,
    writer: u8,
    holder: [u8; TASKS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Lead(usize),
    Resign(usize),
    Read(usize),
    Configure(usize, u8),
    Begin(usize),
    Fence(usize),
    Agree(usize),
    Count(usize),
    GiveUp(usize),
    Assign(usize, usize),
    Check(usize, usize),
    Produce(usize, usize),
    Run(usize, usize),
    Stop(usize, usize),
}

impl State {
    fn is_set(&self, k: usize) -> bool {
        (1..=TASKS as u8).contains(&self.topic[k - 1])
    }
    fn is_count(&self, k: usize) -> bool {
        self.topic[k - 1] > TASKS as u8
    }
    /// The newest set among the first n records: 1 …, or 0.
    fn set_among(&self, n: usize) -> u8 {
        (1..=n).rev().find(|&k| self.is_set(k)).unwrap_or(0) as u8
    }
    fn newest_set(&self) -> u8 {
        self.set_among(self.end as usize)
    }
    fn newest_count(&self) -> u8 {
        (1..=MOST).rev().find(|&k| self.is_count(k)).unwrap_or(0) as u8
    }
    fn tasks_of(&self, set: u8) -> u8 {
        self.topic[set as usize - 1]
    }
    /// Ids to fence: as many as the newest count says, none where one task follows one.
    fn to_fence(&self) -> u8 {
        match self.newest_count() {
            0 => 0,
            k => match self.topic[k as usize - 1] - TASKS as u8 {
                1 if self.tasks_of(self.newest_set()) == 1 => 0,
                counted => counted,
            },
        }
    }
    fn put(&mut self, w: usize, record: u8) {
        self.topic[self.end as usize] = record;
        self.end += 1;
        self.read[w] = self.end;
    }
    fn no_round(&mut self, w: usize) {
        self.round[w] = Round::None;
        self.target[w] = 0;
    }
    fn drop(&mut self, w: usize, i: usize) {
        self.stage[w][i] = Stage::None;
        self.generation[w][i] = 0;
    }
    fn release(&mut self, w: usize, i: usize) {
        if self.holder[i] == w as u8 + 1 {
            self.holder[i] = NOBODY;
        }
    }
    /// Those who can commit are of one generation.
    fn no_zombie(&self) -> bool {
        let mut seen = 0;
        for w in 0..WORKERS {
            for i in 0..TASKS {
                if self.stage[w][i] == Stage::Running && self.holder[i] == w as u8 + 1 {
                    if seen != 0 && seen != self.generation[w][i] {
                        return false;
                    }
                    seen = self.generation[w][i];
                }
            }
        }
        true
    }
    fn counts_match(&self) -> bool {
        (1..=MOST).filter(|&k| self.is_count(k)).all(|k| {
            let set = self.set_among(k);
            set > 0 && self.tasks_of(set) == self.topic[k - 1] - TASKS as u8
        })
    }
}

struct Cluster {
    topic: u8,
}

impl Model for Cluster {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            leads: [false; WORKERS],
            round: [Round::None; WORKERS],
            target: [0; WORKERS],
            left: [0; WORKERS],
            read: [0; WORKERS],
            stage: [[Stage::None; TASKS]; WORKERS],
            generation: [[0; TASKS]; WORKERS],
            topic: [0; MOST],
            end: 0,
            writer: NOBODY,
            holder: [NOBODY; TASKS],
        }]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        for w in 0..WORKERS {
            let writes = s.writer == w as u8 + 1;
            if !writes && s.round[w] != Round::Agreed {
                steps.push(Step::Lead(w));
            }
            if s.leads[w] && !writes {
                steps.push(Step::Resign(w));
            }
            if s.read[w] < s.end {
                steps.push(Step::Read(w));
            }
            if s.leads[w] && writes && s.round[w] != Round::Agreed && s.end < self.topic {
                steps.extend((1..=TASKS as u8).map(|tasks| Step::Configure(w, tasks)));
            }
            if s.leads[w] && s.round[w] == Round::None && s.newest_set() > s.newest_count() {
                steps.push(Step::Begin(w));
            }
            if s.round[w] == Round::Fencing {
                steps.push(if s.left[w] > 0 { Step::Fence(w) } else { Step::Agree(w) });
            }
            if s.round[w] == Round::Agreed && writes && s.end < self.topic {
                steps.push(Step::Count(w));
            }
            if s.round[w] == Round::Agreed && !writes {
                steps.push(Step::GiveUp(w));
            }
            for i in 0..TASKS {
                match s.stage[w][i] {
                    Stage::None => {
                        let set = s.set_among(s.read[w] as usize);
                        if set > 0 && (i as u8) < s.tasks_of(set) {
                            steps.push(Step::Assign(w, i));
                        }
                        continue;
                    }
                    Stage::Assigned if s.newest_count() > s.generation[w][i] => steps.push(Step::Check(w, i)),
                    Stage::Checked => steps.push(Step::Produce(w, i)),
                    Stage::Producer => steps.push(Step::Run(w, i)),
                    _ => {}
                }
                steps.push(Step::Stop(w, i));
            }
        }
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut s = before.clone();
        match step {
            Step::Lead(w) => {
                s.writer = w as u8 + 1;
                s.leads[w] = true;
            }
            Step::Resign(w) => {
                s.leads[w] = false;
                s.left[w] = 0;
                s.no_round(w);
            }
            Step::Read(w) => s.read[w] += 1,
            Step::Configure(w, tasks) => s.put(w, tasks),
            Step::Begin(w) => {
                s.read[w] = s.end;
                s.target[w] = s.newest_set();
                s.left[w] = s.to_fence();
                s.round[w] = if s.left[w] == 0 { Round::Agreed } else { Round::Fencing };
            }
            Step::Fence(w) => {
                s.left[w] -= 1;
                s.holder[s.left[w] as usize] = NOBODY;
            }
            Step::Agree(w) => {
                s.read[w] = s.end;
                if s.newest_set() == s.target[w] {
                    s.round[w] = Round::Agreed;
                } else {
                    s.no_round(w);
                }
            }
            Step::Count(w) => {
                let record = TASKS as u8 + s.tasks_of(s.target[w]);
                s.put(w, record);
                s.no_round(w);
            }
            Step::GiveUp(w) => s.no_round(w),
            Step::Assign(w, i) => {
                s.generation[w][i] = s.set_among(s.read[w] as usize);
                s.stage[w][i] = Stage::Assigned;
            }
            Step::Check(w, i) => {
                s.read[w] = s.end;
                if s.newest_set() == s.generation[w][i] {
                    s.stage[w][i] = Stage::Checked;
                } else {
                    s.drop(w, i);
                }
            }
            Step::Produce(w, i) => {
                s.stage[w][i] = Stage::Producer;
                s.holder[i] = w as u8 + 1;
            }
            Step::Run(w, i) => {
                s.read[w] = s.end;
                if s.newest_set() == s.generation[w][i] {
                    s.stage[w][i] = Stage::Running;
                } else {
                    s.drop(w, i);
                    s.release(w, i);
                }
            }
            Step::Stop(w, i) => {
                s.drop(w, i);
                s.release(w, i);
            }
        }
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no zombie", |_, s: &State| s.no_zombie()),
            Property::always("counts match", |_, s: &State| s.counts_match()),
        ]
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().expect("kip618 TOPIC THREADS")).collect();
    let [topic, threads] = arguments[..] else { panic!("kip618 TOPIC THREADS") };
    assert!(topic <= MOST, "the topic has at most {MOST} records");
    let begun = Instant::now();
    let checker = Cluster { topic: topic as u8 }.checker().threads(threads).spawn_bfs().join();
    let seconds = begun.elapsed().as_secs_f64();
    checker.assert_properties();
    println!("{} {} {seconds:.3}", checker.unique_state_count(), checker.state_count());
}
