//! Values of axes on the command line.

use std::{collections::BTreeSet, time::Duration};

use crate::cli::CommandError;

/// Largest extent of an axis.
const MAX: i64 = (1 << 31) - 1;

/// Values of one range, at most.
const MOST_VALUES: i64 = 100_000;

/// Reads a list of integers and ranges: `16,32`, `256..2048` (doubled), `64..256+64`. Returns them in
/// ascending order.
pub(super) fn parse(text: &str) -> Result<Vec<i64>, String> {
    let mut values = BTreeSet::new();
    for item in text.split(',') {
        for value in range(item.trim())? {
            if !values.insert(value) {
                return Err(format!("{value} is there twice"));
            }
        }
    }
    Ok(values.into_iter().collect())
}

fn range(item: &str) -> Result<Vec<i64>, String> {
    let Some((first, rest)) = item.split_once("..") else { return Ok(vec![integer(item)?]) };
    let (last, step) = match rest.split_once('+') {
        Some((last, step)) => (integer(last)?, Some(integer(step)?)),
        None => (integer(rest)?, None),
    };
    let first = integer(first)?;
    if step.is_some_and(|step| MOST_VALUES < (last - first) / step) {
        return Err(format!("`{item}` has more than {MOST_VALUES} values"));
    }
    let next = |value: &i64| Some(step.map_or(value * 2, |step| value + step));
    let values: Vec<i64> =
        std::iter::successors(Some(first), next).take_while(|value| *value <= last).collect();
    if values.last() == Some(&last) {
        return Ok(values);
    }
    let how = step.map_or("doubling".to_owned(), |step| format!("steps of {step}"));
    Err(format!("`{item}`: {how} from {first} does not reach {last}"))
}

fn integer(text: &str) -> Result<i64, String> {
    let value = text.trim().parse().ok().filter(|value| (1..=MAX).contains(value));
    value.ok_or_else(|| format!("`{text}` is no integer from 1 to {MAX}"))
}

/// Reads a time such as `6m`.
pub(super) fn duration(text: &str) -> Result<Duration, CommandError> {
    let seconds = text.trim().parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds
        .or_else(|| kgen_settings::keys::duration(text))
        .ok_or_else(|| CommandError::usage(format!("`{text}` is no time such as 90s, 6m or 2h")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_sorted() {
        assert_eq!(parse("32,16"), Ok(vec![16, 32]));
        assert_eq!(parse("256..2048"), Ok(vec![256, 512, 1024, 2048]));
        assert_eq!(parse("64..256+64, 7"), Ok(vec![7, 64, 128, 192, 256]));
        assert_eq!(parse("5..5"), Ok(vec![5]));
        assert_eq!(parse("2147483647"), Ok(vec![MAX]));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, reason) in [
            ("", "`` is no integer"),
            ("0", "no integer from 1"),
            ("-4", "no integer from 1"),
            ("2147483648", "no integer from 1"),
            ("3,x", "`x` is no integer"),
            ("4,2..8", "4 is there twice"),
            ("256..2000", "doubling from 256 does not reach 2000"),
            ("64..250+64", "steps of 64 from 64 does not reach 250"),
            ("8..4", "does not reach 4"),
            ("1..", "`` is no integer"),
            ("1..2147483647+1", "more than 100000 values"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
