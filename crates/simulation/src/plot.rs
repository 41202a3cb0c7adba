//! Line plots as small SVG files.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#66489b", "#555555",
];

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The measured quantity, with its unit.
    pub label: String,
    /// Whether the scale is logarithmic. All values must then be above 0.
    pub is_log: bool,
    /// Start of the axis. `None` means the smallest value.
    pub from: Option<f64>,
}

impl Axis {
    /// A linear axis that starts at 0.
    pub fn linear(label: &str) -> Axis {
        Axis {
            label: label.to_owned(),
            is_log: false,
            from: Some(0.0),
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Axis {
        Axis {
            label: label.to_owned(),
            is_log: true,
            from: None,
        }
    }

    fn scale(&self, value: f64) -> f64 {
        if self.is_log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        }
    }

    /// Start and end of the axis, after scaling.
    fn range(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| self.scale(value)) {
            range = (range.0.min(value), range.1.max(value));
        }
        if let Some(from) = self.from {
            range.0 = self.scale(from).min(range.0);
        }
        if self.is_log {
            range = (range.0.floor(), range.1.ceil());
        }
        if range.1 - range.0 < 1e-9 {
            range.1 = range.0 + 1.0;
        }
        range
    }

    fn ticks(&self, (from, to): (f64, f64)) -> Vec<(f64, String)> {
        let rough = (to - from) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0];
        let mut step = power
            * nice
                .into_iter()
                .find(|n| n * power >= rough)
                .unwrap_or(10.0);
        if self.is_log {
            step = step.max(1.0).round();
        }
        let count = ((to - from) / step + 1e-6).floor() as i64;
        let first = (from / step).ceil();
        let positions = (0..=count).map(|tick| (first + tick as f64) * step);
        let inside = positions.filter(|position| *position <= to + 1e-9);
        let label = |position: f64| {
            number(if self.is_log {
                10_f64.powf(position)
            } else {
                position
            })
        };
        inside.map(|position| (position, label(position))).collect()
    }
}

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend; may be empty.
    pub name: String,
    /// The points, in drawing order.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Title above the plot.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

impl Plot {
    /// The plot as the text of an SVG file.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x, y) = (
            self.x.range(points().map(|point| point.0)),
            self.y.range(points().map(|point| point.1)),
        );
        let x_of = |value: f64| LEFT + (value - x.0) / (x.1 - x.0) * (WIDTH - LEFT - RIGHT);
        let y_of =
            |value: f64| HEIGHT - BOTTOM - (value - y.0) / (y.1 - y.0) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        let bottom = HEIGHT - BOTTOM;
        for (tick, label) in self.x.ticks(x) {
            let tick = x_of(tick);
            push(
                &mut svg,
                format_args!(
                    "<path d=\"M{tick:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/><text x=\"{tick:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n",
                    bottom + 16.0
                ),
            );
        }
        for (tick, label) in self.y.ticks(y) {
            let tick = y_of(tick);
            push(
                &mut svg,
                format_args!(
                    "<path d=\"M{LEFT} {tick:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                    WIDTH - RIGHT,
                    LEFT - 6.0,
                    tick + 4.0
                ),
            );
        }
        let middle = WIDTH / 2.0;
        push(
            &mut svg,
            format_args!(
                "<text x=\"{middle}\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">{}</text>\n",
                self.title
            ),
        );
        push(
            &mut svg,
            format_args!(
                "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT - 12.0,
                self.x.label
            ),
        );
        push(
            &mut svg,
            format_args!(
                "<text transform=\"translate(16 {:.1})rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT / 2.0,
                self.y.label
            ),
        );
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let mut path = String::new();
            for point in &series.points {
                let letter = if path.is_empty() { 'M' } else { 'L' };
                let (x, y) = (x_of(self.x.scale(point.0)), y_of(self.y.scale(point.1)));
                push(&mut path, format_args!("{letter}{x:.1} {y:.1}"));
            }
            push(
                &mut svg,
                format_args!(
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n"
                ),
            );
            let legend_y = TOP + 16.0 + 16.0 * number as f64;
            push(
                &mut svg,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{legend_y:.1}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>\n",
                    WIDTH - RIGHT - 8.0,
                    series.name
                ),
            );
        }
        svg + "</svg>\n"
    }
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more)
        .expect("writing to a string cannot fail");
}

/// Formats a number with at most three decimals, and with the suffix k or M if it is large.
fn number(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 999_999.5 => (value / 1e6, " M"),
        size if size >= 9_999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        let labels = |axis: &Axis, range| -> Vec<String> {
            axis.ticks(range).into_iter().map(|tick| tick.1).collect()
        };
        let linear = Axis::linear("");
        assert_eq!(
            labels(&linear, (0.0, 10.0)),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(labels(&linear, (0.0, 0.3)).len(), 7);
        let log = Axis::log("");
        assert_eq!(
            labels(&log, (0.0, 6.0)),
            ["1", "10", "100", "1000", "10 k", "100 k", "1 M"]
        );
    }

    #[test]
    fn every_point_is_drawn() {
        let plot = Plot {
            title: "waits".to_owned(),
            x: Axis::log("seconds"),
            y: Axis::linear("share"),
            series: vec![Series {
                name: "all".to_owned(),
                points: vec![(0.5, 0.1), (30.0, 0.9), (7000.0, 1.0)],
            }],
        };
        let svg = plot.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        let path = svg.split("d=\"M").last().expect("the plot has a line");
        assert_eq!(
            path.split('"')
                .next()
                .expect("the path has an end")
                .matches('L')
                .count(),
            2
        );
    }
}
