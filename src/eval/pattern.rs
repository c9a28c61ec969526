//! What wrong elements have in common: the sentence that tells a model where to look.

/// The wrong elements of one output.
#[derive(Debug)]
pub(super) struct Wrong<'a> {
    /// Flat indices, ascending.
    pub(super) indices: &'a [usize],
    /// Shape of the output.
    pub(super) shape: &'a [usize],
    /// Elements that were compared.
    pub(super) n_compared: usize,
    /// How many of the wrong ones are NaN.
    pub(super) n_nan: u64,
    /// How many are zero.
    pub(super) n_zero: u64,
    /// How many were never written.
    pub(super) n_unwritten: u64,
}

/// Returns the pattern in words, or `None` where there is none.
#[must_use]
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    let parts: Vec<String> = [place(wrong), value(wrong)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Says where the wrong elements lie.
fn place(wrong: &Wrong<'_>) -> Option<String> {
    let indices = wrong.indices;
    let n_elements: usize = wrong.shape.iter().product();
    if wrong.n_compared != n_elements {
        return (indices.len() == wrong.n_compared).then(|| "all sampled elements".to_owned());
    }
    let (&first, &last) = (indices.first()?, indices.last()?);
    if indices.len() == n_elements {
        return (n_elements > 1).then(|| "all elements".to_owned());
    }
    let contiguous = last - first + 1 == indices.len();
    if contiguous && last + 1 == n_elements {
        return Some(format!("all elements from flat index {first} to the end: the tail"));
    }
    if contiguous && first == 0 && indices.len() > 1 {
        return Some(format!("all of the first {} elements", indices.len()));
    }
    rows_and_columns(wrong).or_else(|| every_kth(indices))
}

/// Recognises whole rows or columns of the last two dimensions.
fn rows_and_columns(wrong: &Wrong<'_>) -> Option<String> {
    let columns = *wrong.shape.last()?;
    let n_elements: usize = wrong.shape.iter().product();
    if wrong.shape.len() < 2 || columns < 2 {
        return None;
    }
    let n_rows = n_elements / columns;
    let mut in_row = vec![0usize; n_rows];
    let mut in_column = vec![0usize; columns];
    for &index in wrong.indices {
        in_row[index / columns] += 1;
        in_column[index % columns] += 1;
    }
    if in_row.iter().all(|&n| n == 0 || n == columns) {
        let rows: Vec<usize> = (0..n_rows).filter(|&row| in_row[row] > 0).collect();
        return Some(lines("row", &rows, n_rows));
    }
    if in_column.iter().all(|&n| n == 0 || n == n_rows) {
        let bad: Vec<usize> = (0..columns).filter(|&column| in_column[column] > 0).collect();
        return Some(lines("column", &bad, columns));
    }
    None
}

/// Names a set of whole rows or columns.
fn lines(what: &str, bad: &[usize], total: usize) -> String {
    let first = bad[0];
    if bad.len() == 1 {
        return format!("all of {what} {first} of {total}, nothing else");
    }
    if bad[bad.len() - 1] == total - 1 && bad.len() == total - first {
        return format!("all {what}s from {first} to the last ({})", total - 1);
    }
    if let Some(step) = every_kth(bad) {
        return format!("whole {what}s: {step}");
    }
    format!("{} whole {what}s of {total}, the first is {first}", bad.len())
}

/// Recognises an arithmetic progression of at least three indices.
fn every_kth(indices: &[usize]) -> Option<String> {
    let [first, second, ..] = indices else { return None };
    let step = second - first;
    let regular = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
    (indices.len() > 2 && step > 1 && regular)
        .then(|| format!("one index in {step}, beginning with {first}"))
}

/// Says what the wrong elements are.
fn value(wrong: &Wrong<'_>) -> Option<String> {
    let n_wrong = wrong.indices.len() as u64;
    if wrong.n_unwritten == n_wrong {
        return Some("none of them was ever written".to_owned());
    }
    if wrong.n_unwritten > 0 {
        return Some(format!("{} of them were never written", wrong.n_unwritten));
    }
    if wrong.n_nan == n_wrong {
        return Some("all of them are NaN".to_owned());
    }
    if wrong.n_zero == n_wrong && n_wrong > 1 {
        return Some("all of them are 0".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(indices: &[usize], shape: &[usize], expected: Option<&str>) {
        let n_compared = shape.iter().product();
        let wrong = Wrong { indices, shape, n_compared, n_nan: 0, n_zero: 0, n_unwritten: 0 };
        assert_eq!(describe(&wrong).as_deref(), expected, "{indices:?} in {shape:?}");
    }

    #[test]
    fn places_are_recognised() {
        check(
            &[1020, 1021, 1022],
            &[1023],
            Some("all elements from flat index 1020 to the end: the tail"),
        );
        check(&[0, 1, 2, 3], &[4], Some("all elements"));
        check(&[0, 1], &[4], Some("all of the first 2 elements"));
        check(&[4, 5, 6, 7], &[3, 4], Some("all of row 1 of 3, nothing else"));
        check(&[3, 7, 11], &[3, 4], Some("all of column 3 of 4, nothing else"));
        check(&[0, 1, 4, 5, 8, 9], &[5, 2], Some("whole rows: one index in 2, beginning with 0"));
        check(&[1, 5, 9], &[16], Some("one index in 4, beginning with 1"));
        check(&[1, 2, 9], &[16], None);
    }

    #[test]
    fn values_are_recognised() {
        let wrong = Wrong {
            indices: &[1, 2, 9],
            shape: &[16],
            n_compared: 16,
            n_nan: 3,
            n_zero: 0,
            n_unwritten: 3,
        };
        assert_eq!(describe(&wrong).as_deref(), Some("none of them was ever written"));
    }
}
