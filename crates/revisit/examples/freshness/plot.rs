//! The plot: four panels of lines over weeks, as an SVG file.

use std::fmt::Write as _;

use crate::crawl::Measurements;

const WIDTH: f64 = 860.0;
const PANEL: f64 = 210.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
/// Colours that colour-blind readers can tell apart and that are dark enough on white.
const COLOURS: [&str; 7] = [
    "#777777", "#000000", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00",
];
const TITLES: [&str; 4] = [
    "freshness (share of pages up to date)",
    "age (mean days since the first unseen change)",
    "importance-weighted staleness",
    "requests per day",
];

/// Draws all crawls; `warm_up` is in days.
pub(crate) fn draw(crawls: &[(String, Measurements)], warm_up: f64) -> String {
    let height = PANEL * TITLES.len() as f64 + 20.0;
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' \
         font-family='sans-serif' font-size='12'>\n<rect width='{WIDTH}' height='{height}' fill='white'/>\n"
    );
    for (panel, title) in TITLES.iter().enumerate() {
        draw_panel(&mut svg, crawls, panel, title, warm_up);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_panel(
    svg: &mut String,
    crawls: &[(String, Measurements)],
    panel: usize,
    title: &str,
    warm_up: f64,
) {
    let top = PANEL * panel as f64 + 24.0;
    let bottom = top + PANEL - 50.0;
    let weeks = crawls[0].1.weeks.len();
    let x = |week: f64| LEFT + (WIDTH - LEFT - RIGHT) * week / weeks as f64;
    let max = scale(crawls, panel);
    let y = |value: f64| bottom - (bottom - top) * (value / max).min(1.0);
    let _ = writeln!(
        svg,
        "<text x='{LEFT}' y='{}' font-weight='bold'>{title}</text>\n\
         <rect x='{LEFT}' y='{top}' width='{:.1}' height='{:.1}' fill='#f2f2f2'/>",
        top - 6.0,
        x(warm_up / 7.0) - LEFT,
        bottom - top
    );
    for step in 0..=4 {
        let value = max * f64::from(step) / 4.0;
        let _ = writeln!(
            svg,
            "<line x1='{LEFT}' x2='{:.1}' y1='{y:.1}' y2='{y:.1}' stroke='#dddddd'/>\
             <text x='{:.1}' y='{:.1}' text-anchor='end'>{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(value) + 4.0,
            label(value),
            y = y(value)
        );
    }
    for week in (0..weeks).step_by(4) {
        let _ = writeln!(
            svg,
            "<text x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            x(week as f64),
            bottom + 16.0,
            if week == 0 {
                "week 0".to_owned()
            } else {
                week.to_string()
            }
        );
    }
    for (number, (name, crawl)) in crawls.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let mut points = String::new();
        for (week, values) in crawl.weeks.iter().enumerate() {
            let _ = write!(
                points,
                "{:.1},{:.1} ",
                x(week as f64 + 0.5),
                y(values[panel])
            );
        }
        let _ = writeln!(
            svg,
            "<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='1.6'/>\
             <text x='{:.1}' y='{:.1}' fill='{colour}'>{name}</text>",
            WIDTH - RIGHT + 10.0,
            top + 12.0 + 18.0 * number as f64
        );
    }
}

/// The top of a panel: 1.25 times the 90th percentile of all values, rounded up. The large values of the first weeks
/// are cut off.
fn scale(crawls: &[(String, Measurements)], panel: usize) -> f64 {
    if panel == 0 {
        return 1.0;
    }
    let mut values: Vec<f64> = crawls
        .iter()
        .flat_map(|(_, crawl)| crawl.weeks.iter().map(|week| week[panel]))
        .collect();
    values.sort_by(f64::total_cmp);
    let high = values[values.len() * 9 / 10] * 1.25;
    let unit = 10f64.powf(high.log10().floor());
    [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]
        .iter()
        .map(|step| step * unit)
        .find(|step| *step >= high)
        .unwrap_or(high)
}

fn label(value: f64) -> String {
    if value >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
