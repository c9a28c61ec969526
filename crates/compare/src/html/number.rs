//! Numbers as people read them. What was not measured never becomes a number: callers show a dash.

use std::fmt;

/// A share of 0 to 1 in per cent: `91.7 %`.
pub(crate) struct Percent(pub(crate) f64);

/// A ratio of times, three significant digits: `1.24×`.
pub(crate) struct Times(pub(crate) f64);

/// US dollars, three significant digits below 100: `$0.0123`.
pub(crate) struct Usd(pub(crate) f64);

/// What calls cost: `$0.0123`, and `≤ $0.0456` where the worst case of a lost call is in it.
pub(crate) struct Cost {
    pub(crate) usd: f64,
    pub(crate) at_most: bool,
}

/// A plain number with three significant digits.
pub(crate) struct Plain(pub(crate) f64);

/// A count with thin spaces between thousands: `10 000`.
pub(crate) struct Count(pub(crate) u64);

/// Seconds, in the unit that suits: `850 ms`, `12.3 s`, `4.5 min`, `2.1 h`.
pub(crate) struct Seconds(pub(crate) f64);

/// A probability of a test: `< 0.001`, else three digits after the point.
pub(crate) struct Probability(pub(crate) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}\u{202f}%", self.0 * 100.0)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×", Plain(self.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 100.0 { write!(f, "${}", Plain(self.0)) } else { write!(f, "${:.0}", self.0) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_most = if self.at_most { "≤\u{202f}" } else { "" };
        write!(f, "{at_most}{}", Usd(self.usd))
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = digits_after_point(self.0, 3);
        write!(f, "{:.digits$}", self.0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if 0 < at && (digits.len() - at).is_multiple_of(3) && 4 < digits.len() {
                f.write_str("\u{202f}")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            s if s < 1.0 => (s * 1000.0, "ms"),
            s if s < 120.0 => (s, "s"),
            s if s < 7200.0 => (s / 60.0, "min"),
            s => (s / 3600.0, "h"),
        };
        write!(f, "{}\u{202f}{unit}", Plain(value))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0.001 { f.write_str("< 0.001") } else { write!(f, "{:.3}", self.0) }
    }
}

/// Digits after the point that leave `significant` digits of `value`.
fn digits_after_point(value: f64, significant: i32) -> usize {
    // The exponent after rounding: 0.9996 has the digits of 1.00.
    let places = usize::try_from(significant - 1).unwrap_or(0);
    let scientific = format!("{value:.places$e}");
    let exponent = scientific.split('e').nth(1).and_then(|text| text.parse::<i32>().ok());
    usize::try_from(significant - 1 - exponent.unwrap_or(0)).unwrap_or(0).min(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_size() {
        for (value, shown) in [
            (0.0, "0.00"),
            (0.012_345, "0.0123"),
            (0.9996, "1.00"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (99.96, "100"),
            (1234.5, "1234"),
            (-2.5, "-2.50"),
        ] {
            assert_eq!(Plain(value).to_string(), shown);
        }
    }

    #[test]
    fn units_are_written_with_the_number() {
        assert_eq!(Percent(0.9167).to_string(), "91.7\u{202f}%");
        assert_eq!(Times(1.239).to_string(), "1.24×");
        assert_eq!(Usd(0.5).to_string(), "$0.500");
        assert_eq!(Usd(1234.4).to_string(), "$1234");
        assert_eq!(Count(9_999).to_string(), "9999");
        assert_eq!(Count(1_234_567).to_string(), "1\u{202f}234\u{202f}567");
        assert_eq!(Seconds(0.0123).to_string(), "12.3\u{202f}ms");
        assert_eq!(Seconds(90.0).to_string(), "90.0\u{202f}s");
        assert_eq!(Seconds(7200.0).to_string(), "2.00\u{202f}h");
        assert_eq!(Probability(0.0004).to_string(), "< 0.001");
        assert_eq!(Probability(0.04).to_string(), "0.040");
    }
}
