//! Tables of text, plain or in Markdown.

use console::{Alignment, measure_text_width, pad_str};

use super::Screen;

/// Columns between two columns of a table.
const GAP: &str = "  ";

/// A table with left- and right-aligned columns.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    headers: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
    /// Columns that give way on a narrow screen, the first ones first, with the width that they may be
    /// cut to; 0 leaves them out.
    yielding: Vec<(usize, usize)>,
}

impl TextTable {
    /// Returns an empty table; a header that starts with `>` aligns its column to the right.
    #[must_use]
    pub fn new(headers: &[&str]) -> Self {
        Self {
            headers: headers
                .iter()
                .map(|header| header.trim_start_matches('>').to_owned())
                .collect(),
            right: headers.iter().map(|header| header.starts_with('>')).collect(),
            ..Self::default()
        }
    }

    /// Names the columns that give way on a narrow screen, the first ones first: each with the width that
    /// it may be cut to, or 0 to leave it out. Names that are no column's are passed over.
    #[must_use]
    pub fn yielding(mut self, columns: &[(&str, usize)]) -> Self {
        let place = |(name, least): &(&str, usize)| {
            let at = self.headers.iter().position(|header| header == name)?;
            Some((at, *least))
        };
        self.yielding = columns.iter().filter_map(place).collect();
        self
    }

    /// Adds a row with one cell per column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the table as plain text, without a line end.
    #[must_use]
    pub fn render(&self) -> String {
        self.lines(&self.widths().into_iter().map(Some).collect::<Vec<_>>())
    }

    /// Returns the table as plain text no wider than the screen, without a line end; a line below says
    /// which columns are left out.
    #[must_use]
    pub fn fit(&self, screen: Screen) -> String {
        let Some(width) = screen.width else { return self.render() };
        let widths = self.fitted(width);
        let table = self.lines(&widths);
        let hidden = self.headers.iter().zip(&widths).filter(|(_, width)| width.is_none());
        let hidden: Vec<&str> = hidden.map(|(header, _)| header.as_str()).collect();
        if hidden.is_empty() {
            return table;
        }
        let note = screen.cut(&format!("(--wide also shows: {})", hidden.join(", ")));
        format!("{table}\n{note}")
    }

    /// Returns the table in Markdown, without a line end.
    #[must_use]
    pub fn markdown(&self) -> String {
        let widths = self.widths();
        let rule = |(width, right): (&usize, &bool)| {
            let dashes = "-".repeat((*width).max(3) - 1);
            if *right { format!("{dashes}:") } else { format!("-{dashes}") }
        };
        let rules: Vec<_> = widths.iter().zip(&self.right).map(rule).collect();
        let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let widths: Vec<_> = widths.into_iter().map(Some).collect();
        let mut lines = vec![row(self.line(&self.headers, &widths)), row(rules)];
        for cells in &self.rows {
            let escaped: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            lines.push(row(self.line(&escaped, &widths)));
        }
        lines.join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0);
            longest.max(measure_text_width(&self.headers[column]))
        };
        (0..self.headers.len()).map(width).collect()
    }

    /// Returns the widths of the columns on a screen of that width; `None` for those left out.
    fn fitted(&self, screen: usize) -> Vec<Option<usize>> {
        let mut widths: Vec<_> = self.widths().into_iter().map(Some).collect();
        for &(column, least) in &self.yielding {
            let over = total(&widths).saturating_sub(screen);
            let Some(now) = widths[column].filter(|_| over > 0) else { continue };
            widths[column] = (least > 0).then(|| now.saturating_sub(over).max(least).min(now));
        }
        // Columns that were cut before others were left out have room again, the last one first.
        let full = self.widths();
        for &(column, _) in self.yielding.iter().rev() {
            let room = screen.saturating_sub(total(&widths));
            if let Some(width) = &mut widths[column] {
                *width = full[column].min(*width + room);
            }
        }
        // A table that is still too wide loses the ends of its widest cells.
        while screen < total(&widths) {
            let widest = widths.iter_mut().flatten().max().filter(|width| 1 < **width);
            let Some(widest) = widest else { break };
            *widest -= 1;
        }
        widths
    }

    fn lines(&self, widths: &[Option<usize>]) -> String {
        let lines = std::iter::once(&self.headers).chain(&self.rows);
        let lines: Vec<_> = lines.map(|cells| self.line(cells, widths).join(GAP)).collect();
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>]) -> Vec<String> {
        let pad = |((cell, width), &right): ((&String, &Option<usize>), &bool)| {
            let alignment = if right { Alignment::Right } else { Alignment::Left };
            width.map(|width| {
                // A cell of a narrow column ends in a sign that says so.
                let cell = console::truncate_str(cell, width, "…");
                pad_str(&cell, width, alignment, None).into_owned()
            })
        };
        cells.iter().zip(widths).zip(&self.right).filter_map(pad).collect()
    }
}

/// Returns the width of a line.
fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + GAP.len() * shown.count().saturating_sub(1)
}
