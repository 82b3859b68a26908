//! The goals that this bench can measure, as ratios of the rounds of one run.
//!
//! A ratio is taken round by round, since the two samples of a round are close together in time: a machine that is
//! busy for a while then affects both. The median of the rounds counts, and the least and the greatest are shown
//! beside it.

use std::fmt;

use crate::contender::Contender;
use crate::load::Sample;
use crate::operation::Operation;
use crate::report::{Measured, Part, Spread, counted, verdict};

/// The figures to compare. "We" are the contender of the goal.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// Our processor time for a request, in microseconds.
    Cpu,
    /// Our processor time for a request, as a multiple of the other's; the less the better.
    CpuTimes(Contender),
    /// Our requests a second, as a multiple of the other's; the more the better.
    RateTimes(Contender),
    /// Our 99th percentile, in milliseconds.
    P99,
    /// Our peak memory, without pages of mapped files, in MiB.
    Memory,
    /// The rate of our readers beside as many writers, as a part of their rate alone; the more the better.
    KeptByReaders,
}

/// A goal.
#[derive(Clone, Copy, Debug)]
struct Goal {
    /// The contender of the goal: the service, on either of its databases.
    whose: Contender,
    operation: Operation,
    connections: usize,
    figure: Figure,
    bound: f64,
}

const GOALS: [Goal; 16] = {
    use Contender::{ByHand, Connexion, Dropshot, Fastify};
    use Figure::{CpuTimes, KeptByReaders, Memory, P99, RateTimes};
    use Operation::{Create, Get, List20, Mixed};
    [
        Goal::new(Get, 64, CpuTimes(Dropshot), 1.8),
        Goal::new(Get, 64, RateTimes(ByHand), 2.0),
        Goal::new(List20, 64, CpuTimes(Dropshot), 4.0),
        Goal::new(List20, 64, RateTimes(ByHand), 3.0),
        Goal::new(Create, 64, RateTimes(ByHand), 6.0),
        Goal::new(Create, 64, P99, 15.0),
        Goal::new(Create, 1, RateTimes(ByHand), 1.0),
        Goal::new(Get, 64, RateTimes(Fastify), 3.5),
        Goal::new(List20, 64, RateTimes(Fastify), 6.0),
        Goal::new(Create, 64, RateTimes(Fastify), 8.0),
        Goal::new(Get, 64, RateTimes(Connexion), 45.0),
        Goal::new(List20, 64, RateTimes(Connexion), 40.0),
        Goal::new(Create, 64, RateTimes(Connexion), 25.0),
        Goal::new(Get, 64, Memory, 200.0),
        Goal::new(Create, 64, Memory, 200.0),
        Goal::new(Mixed, 64, KeptByReaders, 0.5),
    ]
};

/// The goals of the service on PostgreSQL. All of its figures include the processor time of the database.
const ON_POSTGRES: [Goal; 10] = {
    use Contender::ByHandPostgres;
    use Figure::{Cpu, KeptByReaders, P99, RateTimes};
    use Operation::{Create, Get, List20, Mixed, Patch, Refresh};
    [
        Goal::on_postgres(Get, 64, Cpu, 45.0),
        Goal::on_postgres(Get, 64, RateTimes(ByHandPostgres), 1.6),
        Goal::on_postgres(List20, 64, Cpu, 90.0),
        Goal::on_postgres(Create, 64, Cpu, 130.0),
        Goal::on_postgres(Create, 64, RateTimes(ByHandPostgres), 4.0),
        Goal::on_postgres(Create, 64, P99, 25.0),
        Goal::on_postgres(Create, 1, RateTimes(ByHandPostgres), 1.0),
        Goal::on_postgres(Patch, 64, RateTimes(ByHandPostgres), 3.0),
        Goal::on_postgres(Refresh, 64, RateTimes(ByHandPostgres), 3.0),
        Goal::on_postgres(Mixed, 64, KeptByReaders, 0.4),
    ]
};

/// The least rate at 1,000 connections, as a part of the greatest rate at any number of connections.
const KEPT_AT_1000: f64 = 0.85;

/// The measured figures of a goal, over the rounds.
struct Outcome {
    figures: Spread,
    /// For a rate, the same rounds by processor time: the steadier figure, but one without waiting times.
    by_cpu: Option<Spread>,
    is_met: bool,
}

/// The goals, one per line: the measured figure, and whether it is enough. Those on PostgreSQL are only shown for a
/// run that has measured it.
pub fn report(all: &[Measured]) -> String {
    let mut lines: Vec<_> = GOALS
        .iter()
        .map(|goal| line(&goal.to_string(), goal.outcome(all)))
        .collect();
    let goal = format!("get, 1000 connections: rate at least {KEPT_AT_1000} x our own peak");
    lines.push(line(&goal, at_1000(all)));
    let has_postgres = all
        .iter()
        .any(|measured| measured.contender == Contender::Postgres);
    let on_postgres = ON_POSTGRES.iter().filter(|_| has_postgres);
    lines.extend(on_postgres.map(|goal| line(&goal.to_string(), goal.outcome(all))));
    lines.join("\n")
}

fn line(goal: &str, outcome: Option<Outcome>) -> String {
    match outcome {
        Some(outcome) => {
            let by_cpu = outcome.by_cpu.map(|by_cpu| format!(" (by CPU {by_cpu})"));
            let (figures, verdict) = (outcome.figures, verdict(outcome.is_met));
            format!(
                "{goal:<74} {figures} {verdict}{}",
                by_cpu.unwrap_or_default()
            )
        }
        None => format!("{goal:<74} not measured in this run"),
    }
}

impl Goal {
    const fn new(operation: Operation, connections: usize, figure: Figure, bound: f64) -> Self {
        Self {
            whose: Contender::Invoicing,
            operation,
            connections,
            figure,
            bound,
        }
    }

    const fn on_postgres(
        operation: Operation,
        connections: usize,
        figure: Figure,
        bound: f64,
    ) -> Self {
        Self {
            whose: Contender::Postgres,
            ..Self::new(operation, connections, figure, bound)
        }
    }

    /// `None` unless the run has measured both sides.
    fn outcome(&self, all: &[Measured]) -> Option<Outcome> {
        let part = match self.figure {
            Figure::KeptByReaders => Part::Readers,
            _ => Part::All,
        };
        let find = |contender, part| find(all, self.operation, self.connections, contender, part);
        let ours = find(self.whose, part)?;
        let against = |others: &Measured, figure: fn(&Sample) -> f64| {
            let rounds = ours.samples.iter().zip(&others.samples);
            rounds
                .map(|(ours, others)| figure(ours) / figure(others))
                .collect::<Vec<_>>()
        };
        let times = |other, figure| Some(against(find(other, part)?, figure));
        let each = |figure: fn(&Sample) -> f64| Some(ours.samples.iter().map(figure).collect());
        let rounds = match self.figure {
            Figure::Cpu => each(|sample| sample.cpu),
            Figure::CpuTimes(other) => times(other, |sample| sample.cpu),
            Figure::RateTimes(other) => times(other, |sample| sample.rate),
            Figure::P99 => each(|sample| sample.p99),
            Figure::Memory => each(|sample| sample.memory.anonymous as f64 / 1024.0),
            Figure::KeptByReaders => {
                find(self.whose, Part::Alone).map(|alone| against(alone, |sample| sample.rate))
            }
        };
        let by_cpu = match self.figure {
            Figure::RateTimes(other) => times(other, |sample| 1.0 / sample.cpu).map(Spread::new),
            _ => None,
        };
        let outcome = Outcome::new(rounds?, |median| match self.figure {
            Figure::RateTimes(_) | Figure::KeptByReaders => median >= self.bound,
            Figure::Cpu | Figure::CpuTimes(_) | Figure::P99 | Figure::Memory => {
                median <= self.bound
            }
        });
        Some(Outcome { by_cpu, ..outcome })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, bound) = (self.operation.name(), self.bound);
        if self.whose != Contender::Invoicing {
            write!(formatter, "{}: ", self.whose.name())?;
        }
        write!(formatter, "{operation}, {}: ", counted(self.connections))?;
        match self.figure {
            Figure::Cpu => write!(formatter, "CPU at most {bound} us"),
            Figure::CpuTimes(other) => write!(formatter, "CPU at most {bound} x {}", other.name()),
            Figure::RateTimes(other) => {
                write!(formatter, "rate at least {bound} x {}", other.name())
            }
            Figure::P99 => write!(formatter, "p99 at most {bound} ms"),
            Figure::Memory => write!(formatter, "memory at most {bound} MiB"),
            Figure::KeptByReaders => {
                write!(formatter, "readers beside writers keep at least {bound}")
            }
        }
    }
}

impl Outcome {
    fn new(rounds: Vec<f64>, is_enough: impl FnOnce(f64) -> bool) -> Self {
        let figures = Spread::new(rounds);
        Self {
            is_met: is_enough(figures.median),
            by_cpu: None,
            figures,
        }
    }
}

/// The rate with 1,000 connections as a part of the peak. Other numbers of connections are measured at other times, so
/// rounds do not correspond: each is compared with the greatest median.
fn at_1000(all: &[Measured]) -> Option<Outcome> {
    let rate = |sample: &Sample| sample.rate;
    let crowd = find(all, Operation::Get, 1000, Contender::Invoicing, Part::All)?;
    let ours = all.iter().filter(|measured| {
        measured.contender == Contender::Invoicing && measured.operation == Operation::Get
    });
    // On its own, it would be its own peak.
    let peak = ours
        .filter(|measured| measured.connections != 1000)
        .map(|measured| measured.median(rate))
        .max_by(f64::total_cmp)?;
    let rounds = crowd.samples.iter().map(|sample| sample.rate / peak);
    Some(Outcome::new(rounds.collect(), |median| {
        median >= KEPT_AT_1000
    }))
}

fn find(
    all: &[Measured],
    operation: Operation,
    connections: usize,
    contender: Contender,
    part: Part,
) -> Option<&Measured> {
    all.iter().find(|measured| {
        measured.operation == operation
            && measured.connections == connections
            && measured.contender == contender
            && measured.part == part
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    fn measured(contender: Contender, connections: usize, rates: &[f64]) -> Measured {
        let sample = |rate: &f64| Sample {
            rate: *rate,
            cpu: 1e6 / rate,
            p50: 1.0,
            p99: 1.0,
            p999: 1.0,
            refused: 0.0,
            sleeps: 0.0,
            memory: process::Memory::default(),
        };
        Measured {
            operation: Operation::Get,
            connections,
            contender,
            part: Part::All,
            samples: rates.iter().map(sample).collect(),
        }
    }

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let all = [
            measured(Contender::ByHand, 64, &[100.0, 10.0, 50.0]),
            measured(Contender::Invoicing, 64, &[300.0, 25.0, 50.0]),
        ];
        let outcome = GOALS[1].outcome(&all).expect("both are measured");
        assert_eq!(
            (
                outcome.figures.least,
                outcome.figures.median,
                outcome.figures.most
            ),
            (1.0, 2.5, 3.0)
        );
        assert!(outcome.is_met);
    }

    #[test]
    fn more_processor_time_than_allowed_misses_a_goal() {
        let all = [
            measured(Contender::Dropshot, 64, &[200.0]),
            measured(Contender::Invoicing, 64, &[100.0]),
        ];
        let outcome = GOALS[0].outcome(&all).expect("both are measured");
        assert!(
            !outcome.is_met,
            "{} is more than 1.8",
            outcome.figures.median
        );
    }

    #[test]
    fn a_goal_without_its_contender_is_not_measured() {
        let all = [measured(Contender::Invoicing, 64, &[100.0])];
        assert!(GOALS[0].outcome(&all).is_none());
        assert!(report(&all).contains("not measured in this run"));
    }

    #[test]
    fn a_goal_on_postgres_is_about_the_service_on_postgres() {
        let all = [
            measured(Contender::ByHandPostgres, 64, &[10_000.0]),
            measured(Contender::Invoicing, 64, &[60_000.0]),
            measured(Contender::Postgres, 64, &[20_000.0]),
        ];
        let [cpu, rate] = [&ON_POSTGRES[0], &ON_POSTGRES[1]].map(|goal| {
            let outcome = goal.outcome(&all).expect("both are measured");
            (outcome.figures.median, outcome.is_met)
        });
        assert_eq!((cpu, rate), ((50.0, false), (2.0, true)));
    }

    #[test]
    fn goals_on_postgres_are_shown_of_a_run_that_has_it() {
        let has_one = |contender| {
            let report = report(&[measured(contender, 64, &[100.0])]);
            report.contains("postgres: get, 64 connections: CPU at most 45 us")
        };
        assert!(!has_one(Contender::Invoicing));
        assert!(has_one(Contender::Postgres));
    }

    #[test]
    fn readers_beside_writers_are_held_against_readers_alone() {
        let part = |part, rates| Measured {
            operation: Operation::Mixed,
            part,
            ..measured(Contender::Invoicing, 64, rates)
        };
        let all = [
            part(Part::Alone, &[100.0, 10.0, 10.0]),
            part(Part::Readers, &[60.0, 4.0, 2.0]),
            part(Part::Writers, &[90.0, 9.0, 9.0]),
        ];
        let goal = Goal::new(Operation::Mixed, 64, Figure::KeptByReaders, 0.5);
        let outcome = goal.outcome(&all).expect("it is measured");
        assert_eq!((outcome.figures.median, outcome.is_met), (0.4, false));
    }

    #[test]
    fn a_thousand_connections_are_held_against_the_peak_of_fewer() {
        let all = [
            measured(Contender::Invoicing, 16, &[100.0]),
            measured(Contender::Invoicing, 64, &[200.0]),
            measured(Contender::Invoicing, 1000, &[160.0]),
        ];
        let outcome = at_1000(&all).expect("it is measured");
        assert!(!outcome.is_met, "0.8 of the peak");
    }
}
