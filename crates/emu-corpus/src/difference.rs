//! PTX of mutants as differences from that of their kernels (`compile.py --mutants`).

/// The changed text: after `= NUMBER`, `@ FROM N` for each change, where N lines from line FROM,
/// counted from 1, give way to the lines that follow. `None` if there is no such number or the changes
/// do not fit.
pub(crate) fn apply(text: &str, differences: &str, number: usize) -> Option<String> {
    let head = format!("= {number}");
    let mut changes = differences.lines().skip_while(|line| *line != head).skip(1).peekable();
    changes.peek()?;
    let old: Vec<&str> = text.lines().collect();
    let (mut new, mut at) = (Vec::new(), 0);
    for line in changes.take_while(|line| !line.starts_with("= ")) {
        let Some(change) = line.strip_prefix("@ ") else {
            new.push(line);
            continue;
        };
        let (from, n) = change.split_once(' ')?;
        let (from, n): (usize, usize) = (from.parse().ok()?, n.parse().ok()?);
        new.extend(old.get(at..from.checked_sub(1)?)?);
        at = from - 1 + n;
    }
    new.extend(old.get(at..)?);
    Some(new.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::apply;

    #[test]
    fn lines_give_way_to_others() {
        let text = "a\nb\nc\nd\n";
        let differences = "= 1\n@ 2 1\nx\ny\n@ 4 0\nz\n= 2\n@ 1 2\n";
        assert_eq!(apply(text, differences, 1).as_deref(), Some("a\nx\ny\nc\nz\nd\n"));
        assert_eq!(apply(text, differences, 2).as_deref(), Some("c\nd\n"));
        assert_eq!(apply(text, differences, 3), None);
        assert_eq!(apply(text, "= 1\n@ 9 1\n", 1), None);
    }
}
