//! Lines of CSV.

/// Returns a line of CSV with its end, cells quoted as RFC 4180 says.
#[must_use]
pub fn line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(cell.as_ref())).collect();
    cells.join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn cells_that_hold_a_comma_a_quote_or_a_line_end_are_quoted() {
        let cells = ["plain", "", "a,b", "the \"best\"", "two\nlines", "cr\r", "[1; 2] µs"];
        let expected = "plain,,\"a,b\",\"the \"\"best\"\"\",\"two\nlines\",\"cr\r\",[1; 2] µs\n";
        assert_eq!(line(cells), expected);
        assert_eq!(line(["one"]), "one\n");
    }
}
