//! Sizes in bytes.

/// Sizes are multiples of this, in bytes: every kernel takes them whole.
pub(crate) const UNIT: u64 = 128;

/// Returns the sizes from `min` on, each twice the one before, up to `max`.
///
/// # Errors
///
/// In words, where there is none, or `min` is no multiple of 128 bytes.
pub fn doubled(min: u64, max: u64) -> Result<Vec<u64>, String> {
    if min == 0 || !min.is_multiple_of(UNIT) {
        return Err(format!("the smallest size must be a multiple of {UNIT} bytes, not {min}"));
    }
    if max < min {
        let (min, max) = (size_text(min), size_text(max));
        return Err(format!("the smallest size, {min}, is above the largest, {max}"));
    }
    let next = |size: &u64| size.checked_mul(2);
    Ok(std::iter::successors(Some(min), next).take_while(|size| *size <= max).collect())
}

/// Writes bytes in the largest binary unit that leaves no fraction: `4KiB`, `1536B`.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| format!("{bytes}B"), |(shift, name)| format!("{}{name}", bytes >> shift))
}

/// Writes bytes with one decimal: `12.3GiB`.
pub(crate) fn rounded(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| 1_u64 << shift <= bytes) {
        Some((shift, name)) => format!("{:.1}{name}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_and_stop_at_the_largest() {
        assert_eq!(doubled(4096, 20_000).unwrap(), [4096, 8192, 16_384]);
        assert_eq!(doubled(128, 128).unwrap(), [128]);
        assert_eq!(doubled(4 << 10, 8 << 30).unwrap().len(), 22);
        assert_eq!(doubled(1 << 63, u64::MAX).unwrap(), [1 << 63]);
        assert!(doubled(100, 200).unwrap_err().contains("multiple of 128 bytes, not 100"));
        let error = doubled(8192, 4096).unwrap_err();
        assert_eq!(error, "the smallest size, 8KiB, is above the largest, 4KiB");
    }

    #[test]
    fn sizes_are_written_in_binary_units() {
        let sizes = [0, 128, 1536, 4096, 1 << 20, 3 << 30];
        assert_eq!(sizes.map(size_text), ["0B", "128B", "1536B", "4KiB", "1MiB", "3GiB"]);
        assert_eq!([12, 1536, 13_207_024_435].map(rounded), ["12B", "1.5KiB", "12.3GiB"]);
    }
}
