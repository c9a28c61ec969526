//! Whether the right values stand in other places, or the values are those of an input.

use super::{Wrong, most, same};

/// Elements beyond which values are not looked for in other places.
const MAX_ELEMENTS: usize = 1 << 20;

/// Says where the values come from, or `None` where that is not known.
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    let n = wrong.expected.len();
    if !wrong.is_whole() || !(2..=MAX_ELEMENTS).contains(&n) || wrong.indices.len() < 2 {
        return None;
    }
    copy(wrong)
        .or_else(|| transposed(wrong))
        .or_else(|| reversed(wrong))
        .or_else(|| shifted(wrong))
        .or_else(|| permuted(wrong))
}

/// Returns whether each computed value at the wrong places equals the value of `expected` for it.
fn agrees(wrong: &Wrong<'_>, expected: &dyn Fn(usize) -> Option<f64>) -> bool {
    let mut n_compared = 0;
    let mut n_same = 0;
    for &index in wrong.indices {
        if let Some(value) = expected(index) {
            n_compared += 1;
            n_same += usize::from(same(wrong.dtype, wrong.got[index], value));
        }
    }
    n_compared * 2 >= wrong.indices.len() && most(n_same, n_compared)
}

fn copy(wrong: &Wrong<'_>) -> Option<String> {
    let is_copy = |values: &Vec<f64>| agrees(wrong, &|index| values.get(index).copied());
    let (name, _) = wrong.inputs.iter().find(|(_, values)| is_copy(values))?;
    Some(format!("they are those of the input `{name}`"))
}

/// Recognises the transpose over the last two dimensions.
fn transposed(wrong: &Wrong<'_>) -> Option<String> {
    let [.., rows, columns] = wrong.shape else { return None };
    let (rows, columns) = (*rows, *columns);
    if rows < 2 || columns < 2 {
        return None;
    }
    // Row-major storage of the transpose, read as if it were not transposed.
    let at = |index: usize| {
        let (matrix, place) = (index / (rows * columns), index % (rows * columns));
        let (column, row) = (place / rows, place % rows);
        wrong.expected.get(matrix * rows * columns + row * columns + column).copied()
    };
    if agrees(wrong, &at) {
        return Some(if rows == columns {
            "transposed: got[i,j] = expected[j,i]".to_owned()
        } else {
            "transposed: the output holds expected[j,i] in row-major order".to_owned()
        });
    }
    None
}

/// Recognises the reverse order, of all elements or within rows.
fn reversed(wrong: &Wrong<'_>) -> Option<String> {
    let n = wrong.expected.len();
    if agrees(wrong, &|index| wrong.expected.get(n - 1 - index).copied()) {
        return Some("reversed: got[i] = expected[n - 1 - i]".to_owned());
    }
    let columns = *wrong.shape.last()?;
    let at = |index: usize| {
        wrong.expected.get(index / columns * columns + columns - 1 - index % columns).copied()
    };
    (columns > 1 && columns < n && agrees(wrong, &at))
        .then(|| "reversed along the last dimension".to_owned())
}

/// Recognises values that stand some places further on, cyclically or not.
fn shifted(wrong: &Wrong<'_>) -> Option<String> {
    let n = wrong.expected.len();
    let columns = wrong.shape.last().copied().filter(|&columns| columns > 1 && columns < n);
    let in_row = |index: usize, by: usize, columns: usize| {
        wrong.expected.get(index / columns * columns + (index % columns + by) % columns).copied()
    };
    for by in [1, 2, 4] {
        for (sign, forward) in [('+', by), ('-', n - by % n)] {
            if agrees(wrong, &|index| wrong.expected.get((index + forward) % n).copied()) {
                return Some(format!("shifted: got[i] = expected[i {sign} {by}]"));
            }
        }
        let Some(columns) = columns.filter(|&columns| columns > by) else { continue };
        for (sign, forward) in [('+', by), ('-', columns - by)] {
            if agrees(wrong, &|index| in_row(index, forward, columns)) {
                return Some(format!(
                    "shifted along the last dimension: got[.., j] = expected[.., j {sign} {by}]"
                ));
            }
        }
    }
    let columns = columns?;
    for (sign, forward) in [('+', columns), ('-', n - columns)] {
        if agrees(wrong, &|index| wrong.expected.get((index + forward) % n).copied()) {
            return Some(format!("shifted by a row: got[i, ..] = expected[i {sign} 1, ..]"));
        }
    }
    None
}

/// Recognises the right values in the wrong order.
fn permuted(wrong: &Wrong<'_>) -> Option<String> {
    let sorted = |values: &[f64]| {
        let mut values: Vec<f64> = wrong.indices.iter().map(|&index| values[index]).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (got, expected) = (sorted(wrong.got), sorted(wrong.expected));
    let n_same = got.iter().zip(&expected).filter(|(a, b)| same(wrong.dtype, **a, **b)).count();
    let spread = expected.first() != expected.last();
    (wrong.indices.len() > 3 && spread && n_same == got.len())
        .then(|| "the right values, but in other places".to_owned())
}
