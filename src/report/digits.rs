//! Numbers for people and tables: four significant digits. Raw records keep all of them.

/// Returns a number with four significant digits and no zeros at its end; very large and very small ones
/// have an exponent.
#[must_use]
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounded first: 99999 has one digit more then.
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if (1e-4..1e9).contains(&rounded.abs()) {
        return rounded.to_string();
    }
    format!("{rounded:e}")
}

/// Returns a factor: two decimals, or what four digits leave of them.
#[must_use]
pub(crate) fn factor(value: f64) -> String {
    let size = value.abs();
    if (0.1..99.995).contains(&size) {
        format!("{value:.2}")
    } else if (99.995..999.95).contains(&size) {
        format!("{value:.1}")
    } else {
        significant(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.123_456_789, "0.1235"),
            (1.5, "1.5"),
            (-2.000_04, "-2"),
            (12_345.6, "12350"),
            (99_999.0, "100000"),
            (1.234_56e-7, "1.235e-7"),
            (3e38, "3e38"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn factors_have_two_decimals_where_they_fit() {
        for (value, text) in [
            (1.5, "1.50"),
            (0.28, "0.28"),
            (99.5, "99.50"),
            (100.0, "100.0"),
            (123.456, "123.5"),
            (12_345.6, "12350"),
            (0.012_34, "0.01234"),
        ] {
            assert_eq!(factor(value), text);
        }
    }
}
