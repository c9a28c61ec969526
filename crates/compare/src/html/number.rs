//! Numbers as people read them. A value that was not measured never becomes a number: callers show a dash.

use crate::data::Spend;

/// A share of 0 to 1 in per cent: `91.7 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{202f}%", share * 100.0)
}

/// A ratio of times, three significant digits: `1.24×`.
#[must_use]
pub fn times(ratio: f64) -> String {
    format!("{}×", plain(ratio))
}

/// US dollars, three significant digits below 100: `$0.0123`.
pub(crate) fn usd(usd: f64) -> String {
    if usd < 100.0 { format!("${}", plain(usd)) } else { format!("${usd:.0}") }
}

/// US dollars that are an upper bound: `≤ $0.0456`.
pub(crate) fn usd_at_most(most: f64) -> String {
    format!("≤\u{202f}{}", usd(most))
}

/// The cost of calls: `$0.0123`, and `≤ $0.0456` where the worst case of a lost call is in it; a dash
/// where nothing is paid, `None` where a price is unknown.
pub(crate) fn cost(spend: &Spend) -> Option<String> {
    spend.cost().map(|cost| match (spend.is_paid(), spend.is_at_most()) {
        (false, _) => "–".to_owned(),
        (true, false) => usd(cost),
        (true, true) => usd_at_most(cost),
    })
}

/// A plain number with three significant digits.
#[must_use]
pub fn plain(value: f64) -> String {
    // The exponent after rounding: 0.9996 has the digits of 1.00.
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split('e').nth(1).and_then(|text| text.parse::<i32>().ok());
    let digits = usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0).min(9);
    format!("{value:.digits$}")
}

/// A count with thin spaces between thousands: `10 000`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut spaced = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if 0 < at && (digits.len() - at).is_multiple_of(3) && 4 < digits.len() {
            spaced.push('\u{202f}');
        }
        spaced.push(digit);
    }
    spaced
}

/// Seconds, in the unit that suits: `850 ms`, `12.3 s`, `4.5 min`, `2.1 h`; a dash where none were
/// measured.
pub(crate) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s.is_nan() || s <= 0.0 => return "–".to_owned(),
        s if s < 1.0 => (s * 1000.0, "ms"),
        s if s < 120.0 => (s, "s"),
        s if s < 7200.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    format!("{}\u{202f}{unit}", plain(value))
}

/// A probability of a test: `< 0.001`, else three digits after the point.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
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
            assert_eq!(plain(value), shown);
        }
    }

    #[test]
    fn units_are_written_with_the_number() {
        assert_eq!(percent(0.9167), "91.7\u{202f}%");
        assert_eq!(times(1.239), "1.24×");
        assert_eq!(usd(0.5), "$0.500");
        assert_eq!(usd(1234.4), "$1234");
        assert_eq!(count(9_999), "9999");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(seconds(0.0123), "12.3\u{202f}ms");
        assert_eq!(seconds(90.0), "90.0\u{202f}s");
        assert_eq!(seconds(7200.0), "2.00\u{202f}h");
        assert_eq!(probability(0.0004), "< 0.001");
        assert_eq!(probability(0.04), "0.040");
    }
}
