//! Tables of text, plain or in Markdown.

/// A table with left- and right-aligned columns.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    headers: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
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
            rows: Vec::new(),
        }
    }

    /// Adds a row with one cell per column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the table as plain text, without a line end.
    #[must_use]
    pub fn render(&self) -> String {
        let widths = self.widths();
        let lines = std::iter::once(&self.headers).chain(&self.rows);
        let lines: Vec<_> = lines.map(|cells| self.line(cells, &widths).join("  ")).collect();
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }

    /// Returns the table in Markdown, without a line end.
    #[must_use]
    pub fn markdown(&self) -> String {
        let widths = self.widths();
        let headers: Vec<_> = self.headers.iter().map(|header| (*header).to_owned()).collect();
        let rule = |(width, right): (&usize, &bool)| {
            let dashes = "-".repeat((*width).max(3) - 1);
            if *right { format!("{dashes}:") } else { format!("-{dashes}") }
        };
        let rules: Vec<_> = widths.iter().zip(&self.right).map(rule).collect();
        let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let mut lines = vec![row(self.line(&headers, &widths)), row(rules)];
        for cells in &self.rows {
            let escaped: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            lines.push(row(self.line(&escaped, &widths)));
        }
        lines.join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            longest.max(self.headers[column].chars().count())
        };
        (0..self.headers.len()).map(width).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let pad = |((cell, &width), &right): ((&String, &usize), &bool)| {
            if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        cells.iter().zip(widths).zip(&self.right).map(pad).collect()
    }
}
