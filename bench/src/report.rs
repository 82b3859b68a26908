//! The table: for each operation and number of connections, the contenders side by side.

use std::fmt;

use crate::contender::Contender;
use crate::load::Sample;
use crate::operation::Operation;

/// The connections of a contender that a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// All of them.
    All,
    /// Those that read, with no others.
    Alone,
    /// Those that read, beside as many that write.
    Readers,
    /// Those that write, beside as many that read.
    Writers,
}

impl Part {
    fn suffix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Alone => ", alone",
            Self::Readers => ", readers",
            Self::Writers => ", writers",
        }
    }
}

/// All rounds of one contender.
#[derive(Debug, serde::Serialize)]
pub struct Measured {
    /// The operation.
    pub operation: Operation,
    /// The number of connections.
    pub connections: usize,
    /// The contender.
    pub contender: Contender,
    /// Which of the connections.
    pub part: Part,
    /// One sample per round.
    pub samples: Vec<Sample>,
}

impl Measured {
    /// The median of a figure over the rounds.
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        self.spread(figure).median
    }

    fn spread(&self, figure: impl Fn(&Sample) -> f64) -> Spread {
        Spread::new(self.samples.iter().map(figure))
    }
}

/// A figure over the rounds.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Spread {
    /// Of at least one figure.
    pub fn new(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        Self {
            least: sorted[0],
            median: f64::midpoint(sorted[low], sorted[high]),
            most: sorted[sorted.len() - 1],
        }
    }

    /// Half of the distance between the least and the greatest, in percent of the median.
    pub fn percent(&self) -> f64 {
        50.0 * (self.most - self.least) / self.median
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            least,
            median,
            most,
        } = self;
        write!(formatter, "{median:.2} [{least:.2}, {most:.2}]")
    }
}

/// Whether a goal is met, in a word.
pub fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// The number of connections, in words.
pub fn counted(connections: usize) -> String {
    match connections {
        1 => "1 connection".to_owned(),
        _ => format!("{connections} connections"),
    }
}

/// The head of a table.
pub fn head(operation: Operation, connections: usize) -> String {
    let what = format!("{}, {}", operation.name(), counted(connections));
    format!(
        "\n{what:<26} {:>9} {:>6} {:>9} {:>6} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "requests", "+-", "CPU us a", "+-", "p50", "p99", "p99.9", "peak", "anon."
    ) + &format!(
        "\n{:<26} {:>9} {:>6} {:>9} {:>6} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "", "a second", "%", "request", "%", "ms", "ms", "ms", "MiB", "MiB"
    )
}

/// The line of a contender.
pub fn line(measured: &Measured) -> String {
    let mebibytes = |kibibytes: u64| kibibytes as f64 / 1024.0;
    let refused = match measured.spread(|sample| sample.refused).most {
        0.0 => String::new(),
        refused => format!("  up to {refused:.0} a second were told to try later"),
    };
    format!(
        "{:<26} {:>9.0} {:>6.0} {:>9.1} {:>6.0} {:>9.2} {:>9.2} {:>9.2} {:>7.0} {:>7.0}{refused}",
        format!("{}{}", measured.contender.name(), measured.part.suffix()),
        measured.median(|sample| sample.rate),
        measured.spread(|sample| sample.rate).percent(),
        measured.median(|sample| sample.cpu),
        measured.spread(|sample| sample.cpu).percent(),
        measured.median(|sample| sample.p50),
        measured.median(|sample| sample.p99),
        measured.median(|sample| sample.p999),
        measured.median(|sample| mebibytes(sample.memory.peak)),
        measured.median(|sample| mebibytes(sample.memory.anonymous)),
    )
}
