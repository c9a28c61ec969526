//! The CSV that Nsight Compute writes.
//!
//! Every field is quoted, and quotes inside of a field are not escaped: a line of source such as
//! `extern "C" void f(` breaks a strict reader. A field therefore ends at a quote that a comma or
//! the end of the line follows, and a record with more fields than its header has the surplus in its
//! source text.

/// Fields of one line.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = line.trim_end_matches('\r');
    loop {
        let (field, tail) = match rest.strip_prefix('"') {
            Some(quoted) => closed(quoted),
            None => match rest.split_once(',') {
                Some((field, tail)) => (field, Some(tail)),
                None => (rest, None),
            },
        };
        fields.push(field.replace("\"\"", "\""));
        match tail {
            Some(tail) => rest = tail,
            None => return fields,
        }
    }
}

/// Splits behind the quote that ends a field; `None` where the line ends with it.
fn closed(quoted: &str) -> (&str, Option<&str>) {
    match quoted.find("\",") {
        Some(end) => (&quoted[..end], Some(&quoted[end + 2..])),
        None => (quoted.strip_suffix('"').unwrap_or(quoted), None),
    }
}

/// Joins the surplus fields of a record into one: those at `wide` and behind it.
pub(crate) fn fit(mut fields: Vec<String>, n_columns: usize, wide: usize) -> Vec<String> {
    let surplus = fields.len().saturating_sub(n_columns);
    if 0 < surplus && wide + surplus < fields.len() {
        let joined = fields.drain(wide..=wide + surplus).collect::<Vec<_>>().join(",");
        fields.insert(wide, joined);
    }
    fields
}

/// A table: its header and the lines below it.
pub(crate) struct Table<'a> {
    columns: Vec<String>,
    lines: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Finds the table whose header begins with `first`, behind whatever a tool or its program
    /// printed before.
    pub(crate) fn find(text: &'a str, first: &str) -> Option<Self> {
        let mut lines = text.lines();
        let header = lines.find(|line| fields(line).first().is_some_and(|field| field == first))?;
        // `==PROF==` and the program's own output may come in between.
        let lines = lines.filter(|line| line.starts_with('"')).collect();
        Some(Self { columns: fields(header), lines })
    }

    /// Returns the records, each as wide as its line is.
    pub(crate) fn records(&self) -> impl Iterator<Item = Vec<String>> {
        self.lines.iter().map(|line| fields(line))
    }

    /// Returns the names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the index of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_inside_a_field_do_not_end_it() {
        assert_eq!(fields(r#""5","extern "C" f(a)","","1""#), ["5", "extern \"C\" f(a)", "", "1"]);
        assert_eq!(fields(r#""1.68","#), ["1.68", ""]);
        assert_eq!(fields(r#""a, b",2,"c"#), ["a, b", "2", "c"]);
        assert_eq!(fields(""), [""]);
        assert_eq!(fields("\""), [""]);
    }

    #[test]
    fn the_surplus_of_a_record_is_source_text() {
        let record = fields(r#""5","f("a","b");","-","22""#);
        assert_eq!(record.len(), 5);
        assert_eq!(fit(record, 4, 1), ["5", "f(\"a,b\");", "-", "22"]);
        assert_eq!(fit(vec!["a".to_owned()], 4, 1), ["a"]);
    }
}
