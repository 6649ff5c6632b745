//! The summary of a fit as text: aligned, as wide as the terminal, with a scree plot in block characters.

use std::fmt::Write;

use console::{measure_text_width, truncate_str};
use karhunen::pca::{Centring, Scaling};
use karhunen::{Matrix, PcaModel};

use crate::component_names::of_component;
use crate::figures::{count, duration, fixed, loading, percent, significant};
use crate::names::{self, visible};

/// Maximum number of components listed; the JSON has all.
const LISTED: usize = 20;
/// Maximum number of loadings listed for a component.
const LOADINGS: usize = 6;
/// Maximum width of a feature name.
const NAME_WIDTH: usize = 28;
/// Height of the scree plot in lines.
const SCREE_ROWS: usize = 6;

/// The layout of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Columns of the terminal.
    pub(crate) width: usize,
    /// True if block and line characters may be used; otherwise ASCII only.
    pub(crate) unicode: bool,
}

impl Layout {
    /// The mark for the rest of a shortened name.
    fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// The layout for the terminal at `stream`; 80 columns without a terminal.
    pub(crate) fn of(stream: &console::Term) -> Self {
        let width = match stream.size_checked() {
            Some((_, columns)) if stream.is_term() => usize::from(columns).clamp(40, 160),
            _ => 80,
        };
        // As in POSIX, the first that is set and not empty decides; by default, most terminals use UTF-8.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let unicode = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Self { width, unicode }
    }
}

/// Seconds that a fit took.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Seconds {
    /// Reading the data.
    pub(crate) read: f64,
    /// The fit itself.
    pub(crate) fit: f64,
}

/// A model, as text.
pub(crate) struct ModelReport<'a> {
    /// The model.
    pub(crate) model: &'a PcaModel,
    /// Names of the features.
    pub(crate) features: Option<&'a [String]>,
    /// Describes the input and the automatic choices: one line each.
    pub(crate) data: &'a [String],
    /// Seconds of reading and fitting, if the model was just fitted.
    pub(crate) seconds: Option<Seconds>,
    /// Files written.
    pub(crate) written: &'a [String],
}

impl ModelReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut out = String::new();
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        out.push('\n');
        let table = Components {
            what: "variance",
            values: self.model.explained_variance(),
            ratios: self.model.explained_variance_ratio(),
            loadings: Some(&self.model.loadings()),
            features: self.features,
            name: of_component,
        };
        components(&mut out, &table, layout);
        scree(&mut out, self.model.explained_variance_ratio(), layout);
        out.push('\n');
        self.how(&mut out, layout);
        out
    }

    fn how(&self, out: &mut String, layout: Layout) {
        let convergence = self.model.convergence();
        let solver = convergence.solver.name();
        wrapped(out, "solver", &format!("{solver}: {}", convergence.reason), layout.width);
        let worst = convergence.worst_residual();
        let passes = match convergence.n_passes {
            1 => "1 pass over the data".to_owned(),
            n => format!("{n} passes over the data"),
        };
        let residual = format!("worst residual {worst:.1e} (tolerance {:.0e}); {passes}", convergence.tol);
        wrapped(out, "accuracy", &residual, layout.width);
        if let Some(Seconds { read, fit }) = self.seconds {
            wrapped(out, "time", &format!("read {}, fit {}", duration(read), duration(fit)), layout.width);
        }
        if !self.written.is_empty() {
            wrapped(out, "written", &self.written.join(", "), layout.width);
        }
    }
}

/// The numbers that divide the columns.
pub(crate) fn divisors(scaling: &Scaling) -> &'static str {
    match scaling {
        Scaling::Deviation => "their standard deviations",
        Scaling::Pareto => "the square roots of their standard deviations",
        Scaling::Range => "their ranges",
        Scaling::Binomial => "sqrt(2 f (1 - f))",
        // A stream keeps the scales of the model that it continues.
        Scaling::None | Scaling::Given(_) => "given numbers",
    }
}

/// Describes the centring and scaling, and the number of components kept; `hint` follows if some are dropped.
pub(crate) fn treatment(model: &PcaModel, hint: &str) -> String {
    let options = model.options();
    let by = match &options.scale {
        Scaling::None => None,
        Scaling::Deviation => Some("scaled".to_owned()),
        other => Some(format!("scaled by {}", divisors(other))),
    };
    let done = match (&options.center, by) {
        (Centring::Mean, Some(by)) => format!("centred and {by}"),
        (Centring::Mean, None) => "centred, not scaled".to_owned(),
        (Centring::None, Some(by)) => format!("{by}, not centred"),
        (Centring::None, None) => "neither centred nor scaled".to_owned(),
        (Centring::Given(_), Some(by)) => format!("centred at given numbers and {by}"),
        (Centring::Given(_), None) => "centred at given numbers, not scaled".to_owned(),
    };
    let all = model.n_samples().min(model.n_features());
    let kept = if model.new_rows().is_some() { "; with limits for new rows" } else { "" };
    match model.n_components() {
        1 if all == 1 => format!("{done}; the only component{kept}"),
        k if k == all => format!("{done}; all {k} components{kept}"),
        k => format!("{done}; {k} of {} components{hint}{kept}", count(all)),
    }
}

/// The table of components.
pub(crate) struct Components<'a> {
    /// The header of the values: `variance`.
    pub(crate) what: &'static str,
    /// One value for each component.
    pub(crate) values: &'a [f64],
    /// The values as shares of the total.
    pub(crate) ratios: &'a [f64],
    /// Shape (n_features, n_components), if there are loadings.
    pub(crate) loadings: Option<&'a Matrix>,
    /// Names of the features.
    pub(crate) features: Option<&'a [String]>,
    /// The name of a component.
    pub(crate) name: fn(usize) -> String,
}

/// Writes the table of components: variance, ratio, cumulative ratio and, if any, the largest loadings by name.
pub(crate) fn components(out: &mut String, table: &Components<'_>, layout: Layout) {
    let &Components { what, values, ratios, loadings, features, name } = table;
    let n_components = ratios.len();
    let n_listed = n_components.min(LISTED);
    let names: Vec<String> = (0..n_listed).map(name).collect();
    let values = fixed(&values[..n_listed]);
    let mut cumulated = 0.0;
    let cumulated: Vec<f64> = ratios
        .iter()
        .map(|ratio| {
            cumulated += ratio;
            cumulated
        })
        .collect();
    let name_width = names.last().map_or(0, String::len);
    let value_width = values.iter().map(String::len).chain([what.len()]).max().unwrap_or(0);
    let rest = layout.width.saturating_sub(name_width + 2 + value_width + 2 + 7 + 2 + 9 + 2);
    let header = if loadings.is_some() { "largest loadings" } else { "" };
    let line =
        format!("{:name_width$}  {what:>value_width$}  {:>7}  {:>9}  {header}", "", "ratio", "cumulated");
    let _ = writeln!(out, "{}", line.trim_end());
    for c in 0..n_listed {
        let line = format!(
            "{:name_width$}  {:>value_width$}  {:>7}  {:>9}  {}",
            names[c],
            values[c],
            percent(ratios[c]),
            percent(cumulated[c]),
            loadings.map_or_else(String::new, |loadings| largest_loadings(
                loadings,
                c,
                features,
                Layout { width: rest, ..layout }
            ))
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if n_listed < n_components {
        let _ = writeln!(
            out,
            "and {} more, up to {} (all are in --json)",
            n_components - n_listed,
            percent(cumulated.last().copied().unwrap_or(0.0))
        );
    }
}

/// Writes the table of the columns of a data file: name, mean, standard deviation and, if any, missing values.
pub(crate) fn columns(
    out: &mut String,
    names: Option<&[String]>,
    (means, deviations, n_missing): (&[f64], &[f64], Option<&[usize]>),
    layout: Layout,
) {
    let n_listed = means.len().min(LISTED);
    let names = names::of_features(names.map(|names| &names[..n_listed]), n_listed);
    let n_figures = if n_missing.is_some() { 3 } else { 2 };
    let room = layout.width.saturating_sub(n_figures * 14);
    let shown: Vec<_> = names.iter().map(|name| shortened(name, room.min(48), layout)).collect();
    let name_width = shown.iter().map(|name| measure_text_width(name)).max().unwrap_or(0);
    let last = |text: &dyn Fn() -> String| match n_missing {
        Some(_) => format!("  {:>12}", text()),
        None => String::new(),
    };
    let header = last(&|| "missing".to_owned());
    let _ = writeln!(out, "\n{:name_width$}  {:>12}  {:>12}{header}", "", "mean", "deviation");
    let figure = |x: f64| if x.is_nan() { "none".to_owned() } else { significant(x) };
    for (j, name) in shown.iter().enumerate() {
        let gap = " ".repeat(name_width - measure_text_width(name));
        let missing = last(&|| n_missing.map_or_else(String::new, |n_missing| count(n_missing[j])));
        let _ =
            writeln!(out, "{name}{gap}  {:>12}  {:>12}{missing}", figure(means[j]), figure(deviations[j]));
    }
    if n_listed < means.len() {
        let _ = writeln!(out, "and {} more (all are in --json)", count(means.len() - n_listed));
    }
}

/// A name in printable form, filled up with blanks to `width`, or shortened to it.
pub(crate) fn cell(name: &str, width: usize, layout: Layout) -> String {
    let name = shortened(name, width, layout);
    let gap = " ".repeat(width.saturating_sub(measure_text_width(&name)));
    name + &gap
}

/// A name in printable form, no wider than `width`.
fn shortened(name: &str, width: usize, layout: Layout) -> String {
    truncate_str(&visible(name), width, layout.ellipsis()).into_owned()
}

/// The largest loadings of component `c` that fit into the layout, at least one.
fn largest_loadings(loadings: &Matrix, c: usize, features: Option<&[String]>, layout: Layout) -> String {
    let mut order: Vec<usize> = (0..loadings.n_rows()).collect();
    let size = |j: usize| loadings[(j, c)].abs();
    let listed = LOADINGS.min(order.len());
    if listed < order.len() {
        order.select_nth_unstable_by(listed, |&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        order.truncate(listed);
    }
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
    let mut text = String::new();
    for j in order.into_iter().filter(|&j| loadings[(j, c)] != 0.0) {
        let name = features.map_or_else(|| format!("x{}", j + 1), |names| names[j].clone());
        let entry = format!("{} {}", loading(loadings[(j, c)]), shortened(&name, NAME_WIDTH, layout));
        if text.is_empty() {
            text = entry;
        } else if measure_text_width(&text) + 2 + measure_text_width(&entry) <= layout.width {
            text = format!("{text}  {entry}");
        } else {
            break;
        }
    }
    text
}

/// Draws the shares of the variance as vertical bars; the first has the full height.
pub(crate) fn scree(out: &mut String, ratios: &[f64], layout: Layout) {
    const GUTTER: usize = 9;
    let largest = ratios.first().copied().unwrap_or(0.0);
    // Shares of kernels may be unknown.
    if ratios.len() < 2 || largest.is_nan() || largest <= 0.0 {
        return;
    }
    let room = layout.width.saturating_sub(GUTTER);
    let shown = ratios.len().min(room);
    let pitch = (room / shown).clamp(1, 6);
    let bar = if pitch > 1 { pitch - 1 } else { 1 };
    let (tick, side, corner, floor) =
        if layout.unicode { ('┤', '│', '└', '─') } else { ('+', '|', '+', '-') };
    out.push('\n');
    for row in (0..SCREE_ROWS).rev() {
        let mut line = if row + 1 == SCREE_ROWS {
            format!("{:>7} {tick}", percent(largest))
        } else {
            format!("{:>7} {side}", "")
        };
        for ratio in &ratios[..shown] {
            let height = ratio / largest * SCREE_ROWS as f64 - row as f64;
            let sign = block(height, row == 0 && *ratio > 0.0, layout.unicode);
            line.extend(std::iter::repeat_n(sign, bar));
            line.extend(std::iter::repeat_n(' ', pitch - bar));
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let _ = writeln!(out, "{:>7} {corner}{}", "0%", floor.to_string().repeat(shown * pitch));
    let _ = writeln!(out, "{:>7}  {}", "", ticks(shown, pitch).trim_end());
}

/// The character for a cell filled up to `height` (1 is full); `visible` if a trace must be drawn.
fn block(height: f64, visible: bool, unicode: bool) -> char {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if unicode {
        let eighths = (height.clamp(0.0, 1.0) * 8.0).round() as usize;
        EIGHTHS[eighths.max(usize::from(visible))]
    } else if height >= 0.5 {
        '#'
    } else if visible {
        '_'
    } else {
        ' '
    }
}

/// Numbers below the bars, spaced by a gap.
fn ticks(shown: usize, pitch: usize) -> String {
    let digits = shown.to_string().len();
    let step = [1, 2, 5, 10, 20, 50, 100].into_iter().find(|step| step * pitch > digits).unwrap_or(1000);
    let mut line = String::new();
    for c in (1..=shown).filter(|c| *c == 1 || c % step == 0) {
        let at = (c - 1) * pitch;
        if line.is_empty() || at > line.len() {
            line.push_str(&" ".repeat(at - line.len()));
            line.push_str(&c.to_string());
        }
    }
    line
}

/// Writes `text` after a label of fixed width, broken between words; an empty label takes no space.
pub(crate) fn wrapped(out: &mut String, label: &str, text: &str, width: usize) {
    let indent = if label.is_empty() { 0 } else { 10 };
    let mut line = format!("{label:indent$}");
    let mut empty = true;
    for word in visible(text).split(' ') {
        if !empty && measure_text_width(&line) + 1 + measure_text_width(word) > width {
            let _ = writeln!(out, "{}", line.trim_end());
            // Continuation lines are indented, also without a label.
            line = " ".repeat(indent.max(2));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(ratios: &[f64], width: usize, unicode: bool) -> Vec<String> {
        let mut out = String::new();
        scree(&mut out, ratios, Layout { width, unicode });
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_first_bar_is_as_high_as_the_drawing_and_the_others_in_proportion() {
        let lines = drawn(&[0.6, 0.3, 0.05, 1e-9, 0.0], 80, true);
        let expected = [
            "",
            " 60.00% ┤█████",
            "        │█████",
            "        │█████",
            "        │█████ █████",
            "        │█████ █████",
            "        │█████ █████ ▄▄▄▄▄ ▁▁▁▁▁",
            "     0% └──────────────────────────────",
            "         1     2     3     4     5",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn ascii_draws_with_ascii() {
        let lines = drawn(&[0.6, 0.3, 0.02], 80, false);
        assert!(lines.iter().all(|line| line.is_ascii()), "{lines:?}");
        assert_eq!(lines[1], " 60.00% +#####");
        assert_eq!(lines[6], "        |##### ##### _____");
    }

    #[test]
    fn a_scree_is_as_wide_as_the_terminal_at_most() {
        for (k, width) in [(2, 40), (31, 40), (32, 40), (200, 80), (71, 80), (20, 160)] {
            let ratios: Vec<f64> = (0..k).map(|c| 0.5 / f64::from(c + 1)).collect();
            for line in drawn(&ratios, width, true) {
                assert!(measure_text_width(&line) <= width, "{k} components in {width}: {line}");
            }
        }
        assert!(drawn(&[1.0], 80, true).is_empty());
        assert!(drawn(&[0.0, 0.0], 80, true).is_empty());
    }

    #[test]
    fn lines_break_between_words_and_are_set_in() {
        let mut out = String::new();
        wrapped(&mut out, "solver", "one two three four five", 22);
        wrapped(&mut out, "", "alpha beta gamma delta", 14);
        assert_eq!(
            out,
            "solver    one two\n          three four\n          five\nalpha beta\n  gamma delta\n"
        );
    }

    #[test]
    fn loadings_are_cut_to_the_width_but_one_is_always_there() {
        let loadings = Matrix::from_vec(4, 1, vec![0.5, -2.0, 1e-3, 0.0]).unwrap();
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let text = |width| largest_loadings(&loadings, 0, Some(&names), Layout { width, unicode: true });
        assert_eq!(text(80), "-2.00 b  +0.500 a  +0.001 c");
        assert_eq!(text(18), "-2.00 b  +0.500 a");
        assert_eq!(text(3), "-2.00 b");
    }
}
