//! The plot of growth, in SVG: processor time per request over products, both on logarithmic axes. A cost that does
//! not grow is flat; one that is proportional to the number of products would rise by 45 degrees.

use std::fmt::Write as _;

use super::question::Question;
use super::report::Report;
use crate::report::Spread;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 530.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 350.0;

/// The least distance between two labels.
const LINE: f64 = 16.0;

/// One for each question, distinguishable with red-green color blindness.
const COLOURS: [&str; 5] = ["#0072b2", "#e69f00", "#cc79a7", "#009e73", "#d55e00"];

/// The axes of the plot.
struct Axes {
    /// The decimal logarithms of the least and the greatest number of products.
    products: [f64; 2],
    /// Round processor times, from one below all figures to one above all.
    microseconds: Vec<f64>,
}

impl Axes {
    fn new(report: &Report) -> Self {
        let products = report
            .sizes
            .iter()
            .map(|size| (size.products as f64).log10());
        let costs = Question::ALL
            .iter()
            .flat_map(|question| report.costs(*question));
        let costs = costs.flat_map(|cost| [cost.least, cost.most]);
        Self {
            products: range(products),
            microseconds: round_around(range(costs)),
        }
    }

    fn x(&self, products: f64) -> f64 {
        let [least, most] = self.products;
        // A single size is drawn in the middle.
        let part = match most - least {
            0.0 => 0.5,
            width => (products.log10() - least) / width,
        };
        LEFT + (RIGHT - LEFT) * part
    }

    fn y(&self, microseconds: f64) -> f64 {
        let (least, most) = (
            self.microseconds[0],
            self.microseconds[self.microseconds.len() - 1],
        );
        let part = (microseconds / least).ln() / (most / least).ln();
        BOTTOM - (BOTTOM - TOP) * part
    }
}

fn range(figures: impl Iterator<Item = f64>) -> [f64; 2] {
    let start = [f64::INFINITY, f64::NEG_INFINITY];
    figures.fold(start, |[least, most], figure| {
        [least.min(figure), most.max(figure)]
    })
}

/// Powers of ten, and 2 and 5 times these, from one below the figures to one above them.
fn round_around([least, most]: [f64; 2]) -> Vec<f64> {
    let powers = (-1..=6).map(|power| 10_f64.powi(power));
    let mut all: Vec<_> = powers
        .flat_map(|power| [power, 2.0 * power, 5.0 * power])
        .collect();
    all.truncate(all.partition_point(|round| *round <= most) + 1);
    let below = all.partition_point(|round| *round < least);
    all.split_off(below.saturating_sub(1))
}

/// Draws the plot.
pub fn svg(report: &Report) -> String {
    let axes = Axes::new(report);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    text(
        &mut out,
        LEFT,
        22.0,
        "start",
        "Server CPU a request, in microseconds, by products (and teams)",
    );
    grid(&mut out, &axes, report);
    let mut labels = Vec::new();
    for (question, colour) in Question::ALL.into_iter().zip(COLOURS) {
        let costs = report.costs(question);
        series(&mut out, &axes, report, &costs, colour);
        let end = costs.last().map_or(BOTTOM, |cost| axes.y(cost.median));
        let label = format!(
            "{} ({:.2} x)",
            question.name(),
            report.growth(question).median
        );
        labels.push((end, label, colour));
    }
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut above = f64::NEG_INFINITY;
    for (end, label, colour) in labels {
        above = end.max(above + LINE);
        // Writing to a string cannot fail, here and below.
        let _ = write!(out, "<g fill=\"{colour}\">");
        text(&mut out, RIGHT + 14.0, above + 4.0, "start", &label);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Lines at round processor times, and at each size.
fn grid(out: &mut String, axes: &Axes, report: &Report) {
    for round in &axes.microseconds {
        let y = axes.y(*round);
        line(out, [LEFT, y], [RIGHT, y], "#cccccc");
        text(out, LEFT - 8.0, y + 4.0, "end", &round.to_string());
    }
    for size in &report.sizes {
        let x = axes.x(size.products as f64);
        line(out, [x, TOP], [x, BOTTOM], "#eeeeee");
        let (products, teams) = (size.products, format!("({})", size.teams));
        text(out, x, BOTTOM + 20.0, "middle", &products.to_string());
        text(out, x, BOTTOM + 36.0, "middle", &teams);
    }
}

/// Medians, joined, each with its least and greatest round.
fn series(out: &mut String, axes: &Axes, report: &Report, costs: &[Spread], colour: &str) {
    let mut points = String::new();
    for (size, cost) in report.sizes.iter().zip(costs) {
        let (x, y) = (axes.x(size.products as f64), axes.y(cost.median));
        let _ = write!(points, "{x:.1},{y:.1} ");
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        );
        line(out, [x, axes.y(cost.least)], [x, axes.y(cost.most)], colour);
    }
    let points = points.trim_end();
    let _ = writeln!(
        out,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
    );
}

fn line(out: &mut String, from: [f64; 2], to: [f64; 2], colour: &str) {
    let ([x1, y1], [x2, y2]) = (from, to);
    let _ = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_reaches_from_a_round_figure_below_to_one_above() {
        assert_eq!(round_around([24.0, 133.0]), [20.0, 50.0, 100.0, 200.0]);
    }
}
