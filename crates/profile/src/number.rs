//! Numbers as profilers print them, in base units.

/// Reads a number with separators of thousands, of either kind of locale; `None` for `n/a`, `no
/// data` and everything else that is no finite number.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    if !begins {
        return None;
    }
    let (commas, dots) = (text.matches(',').count(), text.matches('.').count());
    let plain = match (commas, dots) {
        (0, 0 | 1) => text.to_owned(),
        (_, 0) if in_thousands(text, ',') => text.replace(',', ""),
        (1, 0) => text.replace(',', "."),
        (0, _) if in_thousands(text, '.') => text.replace('.', ""),
        (_, 1) if text.rfind(',') < text.find('.') => text.replace(',', ""),
        (1, _) if text.rfind('.') < text.find(',') => text.replace('.', "").replace(',', "."),
        _ => return None,
    };
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

fn in_thousands(text: &str, separator: char) -> bool {
    let mut groups = text.trim_start_matches('-').split(separator);
    let first = groups.next().unwrap_or_default();
    let is_number = |group: &str| group.chars().all(|c| c.is_ascii_digit());
    (1..=3).contains(&first.len())
        && is_number(first)
        && groups.all(|group| group.len() == 3 && is_number(group))
}

/// Returns the factor that turns a unit into its base: bytes, nanoseconds, hertz, and those per
/// second or per block.
pub(crate) fn factor(unit: &str) -> f64 {
    let head = unit.split('/').next().unwrap_or_default();
    match head {
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        _ => {
            let is_scaled = ["byte", "hz"]
                .iter()
                .any(|base| head.len() == base.len() + 1 && head.ends_with(base));
            match (is_scaled, head.chars().next()) {
                (true, Some('K')) => 1e3,
                (true, Some('M')) => 1e6,
                (true, Some('G')) => 1e9,
                (true, Some('T')) => 1e12,
                _ if unit == "cycle/nsecond" => 1e9,
                _ if unit == "cycle/usecond" => 1e6,
                _ => 1.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the texts name these very numbers")]

    use super::*;

    #[test]
    fn numbers_of_all_locales_are_read() {
        for (text, value) in [
            ("2,871,034,112,000.5", 2_871_034_112_000.5),
            ("31,872", 31_872.0),
            ("27.595.520", 27_595_520.0),
            ("65,77", 65.77),
            ("1.234,5", 1234.5),
            ("67.392000", 67.392),
            ("-3", -3.0),
            ("1e3", 1000.0),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["n/a", "no data", "nan", "inf", "", "PolicySpread", "1,2,3", "(256, 1, 1)"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn units_come_down_to_their_base() {
        for (unit, value) in [
            ("Tbyte/s", 1e12),
            ("Kbyte/block", 1e3),
            ("byte/block", 1.0),
            ("us", 1e3),
            ("ns", 1.0),
            ("Ghz", 1e9),
            ("%", 1.0),
            ("cycle/nsecond", 1e9),
            ("", 1.0),
        ] {
            assert_eq!(factor(unit), value, "{unit}");
        }
    }
}
