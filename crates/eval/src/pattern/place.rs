//! Where the wrong elements lie: rows, columns, tiles, tails, strides.

use std::collections::BTreeSet;

use super::Wrong;

/// Wrong elements beyond which only simple places are looked for.
const MAX_INDICES: usize = 1 << 20;

/// Share of a region's elements that must be wrong: the others may be right by chance.
const DENSE: f64 = 0.9;

/// Sizes of tiles that kernels are likely to have, the largest first.
const TILES: [usize; 11] = [2048, 1024, 512, 256, 128, 64, 48, 32, 16, 8, 4];

/// Largest period that is looked for.
const MAX_PERIOD: usize = 64;

/// Says where the wrong elements lie, or `None` where there is nothing to say.
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    let indices = wrong.indices;
    let n_elements: usize = wrong.shape.iter().product();
    if !wrong.is_whole() {
        let all = indices.len() == wrong.expected.len();
        return all.then(|| "all sampled elements".to_owned());
    }
    let (&first, &last) = (indices.first()?, indices.last()?);
    if indices.len() == n_elements {
        return (n_elements > 1).then(|| "all elements".to_owned());
    }
    let contiguous = last - first + 1 == indices.len();
    let columns = wrong.shape.last().copied().unwrap_or(1).max(1);
    let whole_rows = wrong.shape.len() > 1
        && columns > 1
        && first.is_multiple_of(columns)
        && indices.len().is_multiple_of(columns);
    if contiguous && last + 1 == n_elements && !(whole_rows && indices.len() <= MAX_INDICES) {
        return Some(format!("all elements from flat index {first} to the end: the tail"));
    }
    if contiguous && first == 0 && indices.len() > 1 {
        return Some(format!("all of the first {} elements", indices.len()));
    }
    if indices.len() > MAX_INDICES {
        return None;
    }
    rows_and_columns(wrong).or_else(|| in_flat_order(indices, n_elements))
}

/// Recognises regions along the last dimension and the others taken together.
fn rows_and_columns(wrong: &Wrong<'_>) -> Option<String> {
    let columns = *wrong.shape.last()?;
    let n_elements: usize = wrong.shape.iter().product();
    if wrong.shape.len() < 2 || columns < 2 || n_elements == columns {
        return None;
    }
    let n_rows = n_elements / columns;
    let bad_rows: BTreeSet<usize> = wrong.indices.iter().map(|index| index / columns).collect();
    let bad_columns: BTreeSet<usize> = wrong.indices.iter().map(|index| index % columns).collect();
    if bad_rows.len() == n_rows && bad_columns.len() == columns {
        return None;
    }
    let (bad_rows, bad_columns) = (Vec::from_iter(bad_rows), Vec::from_iter(bad_columns));
    if !dense(wrong.indices.len(), bad_rows.len() * bad_columns.len()) {
        // Not a rectangle; the rows, or the columns, may still say something.
        return partial(wrong, &bad_rows, n_rows, "row")
            .or_else(|| partial(wrong, &bad_columns, columns, "column"));
    }
    match (bad_rows.len() == n_rows, bad_columns.len() == columns) {
        (_, true) => lines("row", &bad_rows, n_rows),
        (true, false) => lines("column", &bad_columns, columns),
        (false, false) => {
            let rows = set("row", &bad_rows, n_rows)?;
            let columns = set("column", &bad_columns, columns)?;
            Some(format!("{rows}, {columns}"))
        }
    }
}

/// Says that only some rows, or columns, are touched, where these make a pattern.
fn partial(wrong: &Wrong<'_>, bad: &[usize], total: usize, what: &str) -> Option<String> {
    let few = bad.len() * 2 <= total;
    let place = few.then(|| set(what, bad, total)).flatten()?;
    let n_elements: usize = wrong.shape.iter().product();
    let share = wrong.indices.len() * 100 / (bad.len() * (n_elements / total)).max(1);
    Some(format!("only in {place} ({share} % of the elements there)"))
}

/// Names a set of whole rows or columns.
fn lines(what: &str, bad: &[usize], total: usize) -> Option<String> {
    if let [only] = bad {
        return Some(format!("all of {what} {only} of {total}, nothing else"));
    }
    let first = bad[0];
    if let Some(step) = every_kth(bad) {
        return Some(format!("whole {what}s: {step}"));
    }
    let place = set(what, bad, total);
    Some(
        place.unwrap_or_else(|| {
            format!("{} whole {what}s of {total}, the first is {first}", bad.len())
        }),
    )
}

/// Describes a set of rows or columns; `None` where it has no pattern.
fn set(what: &str, bad: &[usize], total: usize) -> Option<String> {
    let (&first, &last) = (bad.first()?, bad.last()?);
    if bad.len() == total {
        return Some(format!("all {what}s"));
    }
    if bad.len() == 1 {
        return Some(format!("{what} {first}"));
    }
    if last - first + 1 == bad.len() {
        let end = if last + 1 == total {
            format!("all {what}s from {first} to the last ({last})")
        } else {
            format!("{what}s {first} to {last}")
        };
        return Some(end + &tile(first, last, total));
    }
    every_kth(bad).map(|step| format!("{what}s {step}")).or_else(|| {
        tiles(bad, total).map(|tiles| format!("{what}s in {tiles}")).or_else(|| {
            let period = period(bad, total)?;
            Some(format!("{what}s {period}"))
        })
    })
}

/// Says which tile a range is, if it is one.
fn tile(first: usize, last: usize, total: usize) -> String {
    let is_tile = |size: &usize| {
        first.is_multiple_of(*size) && (last + 1 == (first + size).min(total)) && *size < total
    };
    match TILES.iter().rev().find(|size| is_tile(size)) {
        Some(&size) if last + 1 == total && !total.is_multiple_of(size) => {
            format!(", the last tile of {size}, which is not full")
        }
        Some(&size) => {
            format!(", tile {} of {} if tiles have {size}", first / size, total.div_ceil(size))
        }
        None => String::new(),
    }
}

/// Describes indices that fill some tiles and leave the others alone.
fn tiles(bad: &[usize], total: usize) -> Option<String> {
    for size in TILES.into_iter().filter(|size| *size * 2 <= total) {
        let mut touched: Vec<usize> = bad.iter().map(|index| index / size).collect();
        touched.dedup();
        let room: usize = touched.iter().map(|tile| size.min(total - tile * size)).sum();
        let n_tiles = total.div_ceil(size);
        if touched.len() < n_tiles && dense(bad.len(), room) {
            let which = match touched.as_slice() {
                [only] => format!("tile {only}"),
                some => every_kth(some).map_or_else(
                    || format!("{} tiles, the first is {}", some.len(), some[0]),
                    |step| format!("tiles {step}"),
                ),
            };
            return Some(format!("{which} of {n_tiles} tiles of {size}"));
        }
    }
    None
}

/// Recognises regions in row-major order.
fn in_flat_order(indices: &[usize], n_elements: usize) -> Option<String> {
    let (&first, &last) = (indices.first()?, indices.last()?);
    if indices.len() > 1 && last - first + 1 == indices.len() {
        let tile = tile(first, last, n_elements);
        return Some(format!("flat indices {first} to {last}{tile}"));
    }
    every_kth(indices)
        .or_else(|| tiles(indices, n_elements).map(|tiles| format!("flat indices in {tiles}")))
        .or_else(|| period(indices, n_elements).map(|period| format!("flat indices {period}")))
}

/// Recognises an arithmetic progression of at least three indices.
fn every_kth(indices: &[usize]) -> Option<String> {
    let [first, second, ..] = indices else { return None };
    let step = second - first;
    let regular = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
    (indices.len() > 2 && step > 1 && regular)
        .then(|| format!("one index in {step}, beginning with {first}"))
}

/// Recognises indices that repeat with a period: the same places of every `p`.
fn period(indices: &[usize], total: usize) -> Option<String> {
    if indices.len() < 8 {
        return None;
    }
    for period in 2..=MAX_PERIOD.min(total / 4) {
        let residues: BTreeSet<usize> = indices.iter().map(|index| index % period).collect();
        let room: usize = residues.iter().map(|residue| (total - residue).div_ceil(period)).sum();
        if residues.len() * 2 <= period && dense(indices.len(), room) {
            let residues: Vec<String> = residues.iter().take(4).map(usize::to_string).collect();
            let (residues, n) = (residues.join(", "), residues.len());
            let more = if n == 4 { ", ..." } else { "" };
            return Some(format!("with index % {period} = {residues}{more}"));
        }
    }
    None
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn dense(n: usize, room: usize) -> bool {
    n as f64 >= DENSE * room as f64
}
