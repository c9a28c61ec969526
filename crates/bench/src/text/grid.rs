//! Tables of text in columns.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// Between two columns.
pub(super) const GAP: &str = "  ";

/// Least width that a column is cut to.
const LEAST: usize = 8;

/// A column with its cells.
pub(super) struct Column {
    header: String,
    alignment: Alignment,
    cells: Vec<String>,
    width: usize,
}

impl Column {
    /// A column of words.
    pub(super) fn left(header: &str, cells: Vec<String>) -> Self {
        Self::new(header, Alignment::Left, cells)
    }

    /// A column of numbers.
    pub(super) fn right(header: &str, cells: Vec<String>) -> Self {
        Self::new(header, Alignment::Right, cells)
    }

    fn new(header: &str, alignment: Alignment, cells: Vec<String>) -> Self {
        let header = in_one_line(header);
        let cells: Vec<String> = cells.iter().map(|cell| in_one_line(cell)).collect();
        let widths = cells.iter().map(|cell| measure_text_width(cell));
        let width = widths.chain([measure_text_width(&header)]).max().unwrap_or(0);
        Self { header, alignment, cells, width }
    }

    /// The column, cut to a width.
    pub(super) fn at_most(mut self, width: usize) -> Self {
        self.width = self.width.min(width);
        self
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether every cell is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    fn line(&self, row: Option<usize>) -> String {
        let text = row.map_or(&self.header, |row| &self.cells[row]);
        let text = truncate_str(text, self.width, "…");
        pad_str(&text, self.width, self.alignment, None).into_owned()
    }
}

/// Width of columns beside each other.
pub(super) fn total(columns: &[Column]) -> usize {
    let widths = columns.iter().map(Column::width).sum::<usize>();
    widths + GAP.len() * columns.len().saturating_sub(1)
}

/// Cuts the widest columns until all of them fit into `width`, or none is wider than [`LEAST`].
pub(super) fn cut(columns: &mut [Column], width: usize) {
    while width < total(columns) {
        let Some(widest) = columns.iter_mut().max_by_key(|column| column.width) else { return };
        if widest.width <= LEAST {
            return;
        }
        widest.width -= 1;
    }
}

/// Returns the columns beside each other, without a line end.
pub(super) fn render(columns: &[&Column]) -> String {
    let n_rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |row: Option<usize>| {
        let cells: Vec<String> = columns.iter().map(|column| column.line(row)).collect();
        cells.join(GAP).trim_end().to_owned()
    };
    let lines: Vec<String> = [None].into_iter().chain((0..n_rows).map(Some)).map(line).collect();
    lines.join("\n")
}

/// Breaks a line between words; what follows is indented.
pub(super) fn wrap(line: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut used = 0;
    for word in line.split(' ') {
        let length = measure_text_width(word);
        if 0 < used && width < used + 1 + length {
            wrapped.push_str("\n  ");
            used = 2;
        } else if 0 < used {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += length;
    }
    wrapped
}

/// Text in one line: what would move a terminal's cursor or turn the direction of text is shown.
pub(super) fn in_one_line(text: &str) -> String {
    let shown = |c: char| match c {
        '\0'..' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c),
        '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => c,
    };
    text.chars().map(shown).collect()
}
