//! The table of growth, and its goals.

use std::fmt;

use super::Size;
use super::question::Question;
use crate::load::Sample;
use crate::process::Memory;
use crate::report::{Spread, verdict};

/// The sizes between which the goals are set, in products.
const GOAL_SIZES: [u64; 2] = [10_000, 10_000_000];

/// How long the service may take from its start to its first answer, in milliseconds.
const START: f64 = 1_000.0;

/// How much memory it may use, in MiB, whatever the size, without pages of mapped files.
const MEMORY: f64 = 200.0;

/// All measurements, from the smallest catalogue to the largest.
pub struct Report {
    pub sizes: Vec<Size>,
}

impl Report {
    /// A report on at least one size.
    pub fn new(sizes: Vec<Size>) -> Self {
        Self { sizes }
    }

    /// Processor time per request at each size, in microseconds.
    pub fn costs(&self, question: Question) -> Vec<Spread> {
        let sizes = self.sizes.iter();
        sizes
            .map(|size| Spread::new(size.samples(question).map(|sample| sample.cpu)))
            .collect()
    }

    /// The processor time at the largest size as a multiple of that at the smallest, round by
    /// round.
    pub fn growth(&self, question: Question) -> Spread {
        let (first, last) = (&self.sizes[0], &self.sizes[self.sizes.len() - 1]);
        let rounds = first.samples(question).zip(last.samples(question));
        Spread::new(rounds.map(|(first, last)| last.cpu / first.cpu))
    }

    fn table(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |size: &Size| format!("{:>14}", size.products);
        let heads: String = self.sizes.iter().map(column).collect();
        writeln!(formatter, "{:<36}{heads}", "products")?;
        let row = |label: &str, cell: &dyn Fn(&Size) -> String| {
            let cells: String = self
                .sizes
                .iter()
                .map(|size| format!("{:>14}", cell(size)))
                .collect();
            format!("{label:<36}{cells}\n")
        };
        write!(
            formatter,
            "{}",
            row("teams", &|size| size.teams.to_string())
        )?;
        for question in Question::ALL {
            let label = format!("{}, CPU us (+- %)", question.name());
            let cell = |size: &Size| {
                let spread = Spread::new(size.samples(question).map(|sample| sample.cpu));
                format!("{:.1} ({:.0})", spread.median, spread.percent())
            };
            write!(formatter, "{}", row(&label, &cell))?;
        }
        let start = |size: &Size| format!("{:.0}", size.start().median);
        write!(formatter, "{}", row("first answer after ms", &start))?;
        let memory = |size: &Size| format!("{:.0}", size.memory(|memory| memory.anonymous));
        write!(formatter, "{}", row("memory MiB, no file", &memory))?;
        let peak = |size: &Size| format!("{:.0}", size.memory(|memory| memory.peak));
        write!(formatter, "{}", row("with pages of files MiB", &peak))?;
        let file = |size: &Size| format!("{:.0}", size.file as f64 / f64::from(1 << 20));
        write!(formatter, "{}", row("database MiB", &file))
    }

    fn goals(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (&self.sizes[0], &self.sizes[self.sizes.len() - 1]);
        let has_goals = [first.products, last.products] == GOAL_SIZES;
        writeln!(
            formatter,
            "\nCPU at {} products against {}, round by round",
            last.products, first.products
        )?;
        for question in Question::ALL {
            let growth = self.growth(question);
            let goal = question.goal().filter(|_| has_goals);
            let goal =
                goal.map(|most| format!("at most {most}: {}", verdict(growth.median <= most)));
            let label = question.name();
            writeln!(
                formatter,
                "{label:<36}{growth} {}",
                goal.unwrap_or_default()
            )?;
        }
        if has_goals {
            let (start, memory) = (last.start(), last.memory(|memory| memory.anonymous));
            let met = verdict(start.median <= START);
            writeln!(
                formatter,
                "{:<36}{start} at most {START}: {met}",
                "first answer after ms"
            )?;
            let met = verdict(memory <= MEMORY);
            write!(
                formatter,
                "{:<36}{memory:.2} at most {MEMORY}: {met}",
                "memory MiB, no file"
            )?;
        }
        Ok(())
    }
}

impl Size {
    fn samples(&self, question: Question) -> impl Iterator<Item = &Sample> {
        let measured = self.measured.iter();
        let measured = measured.filter(move |(asked, _)| *asked == question);
        measured.flat_map(|(_, samples)| samples)
    }

    fn start(&self) -> Spread {
        Spread::new(self.starts.iter().copied())
    }

    /// The peak memory over all samples, in MiB; `kibibytes` selects the kind.
    fn memory(&self, kibibytes: impl Fn(&Memory) -> u64) -> f64 {
        let samples = self.measured.iter().flat_map(|(_, samples)| samples);
        let most = samples.map(|sample| kibibytes(&sample.memory)).max();
        most.unwrap_or(0) as f64 / 1024.0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(formatter)?;
        self.goals(formatter)
    }
}
