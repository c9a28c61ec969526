//! Axes as functions: a value's place between two ends, and the values worth a tick.

/// Maps an interval of values onto an interval of the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    kind: Kind,
    /// First and last value, `low < high`.
    domain: (f64, f64),
    /// Where they lie, in units of the drawing; `y` axes run from large to small.
    range: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

impl Scale {
    /// A linear axis. An empty domain is widened to one unit.
    #[must_use]
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let domain = if domain.0 < domain.1 { domain } else { (domain.0 - 0.5, domain.0 + 0.5) };
        Self { kind: Kind::Linear, domain, range }
    }

    /// A logarithmic axis over positive values. A domain without width is widened by a factor of
    /// two to both sides.
    #[must_use]
    pub fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = domain.0.max(f64::MIN_POSITIVE);
        let domain = if low < domain.1 { (low, domain.1) } else { (low / 2.0, low * 2.0) };
        Self { kind: Kind::Log, domain, range }
    }

    /// Where `value` lies; beyond the ends it stays at the nearer end.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let value = value.clamp(low, high);
        let share = match self.kind {
            Kind::Linear => (value - low) / (high - low),
            Kind::Log => (value / low).ln() / (high / low).ln(),
        };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// Whether `value` lies between the ends.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.domain.0 <= value && value <= self.domain.1
    }

    /// Values for ticks, in order, `most` of them at most (at least two).
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        match self.kind {
            Kind::Linear => linear_ticks(self.domain, most),
            Kind::Log => log_ticks(self.domain, most),
        }
    }

    /// Values for ticks of ratios, where a factor of two is a step that people think in: powers of
    /// two, with halves between them where there is room; over long ranges as [`Self::ticks`].
    #[must_use]
    pub fn ratio_ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        let octaves = powers(2.0, 1, low, high);
        let halves = powers(2.0, 1, low / 1.5, high / 1.5).into_iter().map(|tick| tick * 1.5);
        let mut both: Vec<f64> = octaves.iter().copied().chain(halves).collect();
        both.sort_by(f64::total_cmp);
        match most {
            _ if both.len() < 2 => linear_ticks(self.domain, most),
            most if both.len() <= most => both,
            most if octaves.len() <= most => octaves,
            most => self.ticks(most),
        }
    }
}

/// The domain of a logarithmic axis: wide enough for all values and for those that must be seen
/// (`always`), with a little air. `None` without a positive finite value.
#[must_use]
pub fn log_domain(values: impl IntoIterator<Item = f64>, always: &[f64]) -> Option<(f64, f64)> {
    let mut low = f64::INFINITY;
    let mut high = 0.0f64;
    for value in values.into_iter().filter(|value| value.is_finite() && 0.0 < *value) {
        low = low.min(value);
        high = high.max(value);
    }
    if high == 0.0 {
        return None;
    }
    for &value in always {
        low = low.min(value);
        high = high.max(value);
    }
    Some((low / 1.12, high * 1.12))
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks((low, high): (f64, f64), most: usize) -> Vec<f64> {
    let mut step = 10f64.powf(((high - low) / most.max(2) as f64).log10().floor());
    let factors = [2.0, 2.5, 2.0];
    let mut at = 0;
    loop {
        let first = (low / step - 1e-9).ceil();
        let last = (high / step + 1e-9).floor();
        if last - first < most.max(2) as f64 {
            return (0..=whole(last - first)).map(|n| (first + f64::from(n)) * step).collect();
        }
        step *= factors[at % 3];
        at += 1;
    }
}

/// Round numbers over ranges shorter than a factor of three; else 1, 2 and 5 per decade, or decades,
/// as many as fit.
fn log_ticks((low, high): (f64, f64), most: usize) -> Vec<f64> {
    let most = most.max(2);
    if high / low < 3.0 {
        return linear_ticks((low, high), most);
    }
    let decades = powers(10.0, 1, low / 10.0, high);
    let steps: Vec<f64> = decades
        .iter()
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| factor * decade))
        .filter(|tick| low <= *tick && *tick <= high)
        .collect();
    if steps.len() <= most {
        return steps;
    }
    let mut every = 1;
    loop {
        let ticks = powers(10.0, every, low, high);
        if ticks.len() <= most {
            return ticks;
        }
        every += 1;
    }
}

/// Powers of `base` from `low` to `high` whose exponent is a multiple of `every`.
fn powers(base: f64, every: i32, low: f64, high: f64) -> Vec<f64> {
    let first = (low.ln() / base.ln() - 1e-9).ceil();
    let last = (high.ln() / base.ln() + 1e-9).floor();
    if last < first {
        return Vec::new();
    }
    (0..=whole(last - first))
        .map(|n| first + f64::from(n))
        .filter(|exponent| exponent.rem_euclid(f64::from(every)) < 0.5)
        .map(|exponent| base.powf(exponent))
        .collect()
}

/// A small whole number out of a float that holds one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> u32 {
    value.clamp(0.0, 4096.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ticks: &[f64]) -> String {
        let texts: Vec<String> = ticks.iter().map(|tick| format!("{tick:.6}")).collect();
        let trimmed: Vec<&str> =
            texts.iter().map(|t| t.trim_end_matches('0').trim_end_matches('.')).collect();
        trimmed.join(" ")
    }

    #[test]
    fn values_go_where_they_belong() {
        let scale = Scale::linear((0.0, 4.0), (100.0, 20.0));
        for (value, place) in [(0.0, 100.0), (1.0, 80.0), (4.0, 20.0), (9.0, 20.0)] {
            assert!((scale.place(value) - place).abs() < 1e-9, "{value}");
        }
        let scale = Scale::log((0.25, 4.0), (0.0, 40.0));
        for (value, place) in [(0.25, 0.0), (0.5, 10.0), (1.0, 20.0), (4.0, 40.0), (0.0, 0.0)] {
            assert!((scale.place(value) - place).abs() < 1e-9, "{value}");
        }
        assert!(scale.holds(4.0) && !scale.holds(4.1) && !scale.holds(0.0));
    }

    #[test]
    fn axes_without_width_have_a_place_for_their_value() {
        assert!((Scale::linear((3.0, 3.0), (0.0, 10.0)).place(3.0) - 5.0).abs() < 1e-9);
        assert!((Scale::log((3.0, 3.0), (0.0, 10.0)).place(3.0) - 5.0).abs() < 1e-9);
        assert!(Scale::log((0.0, 0.0), (0.0, 10.0)).place(1.0).is_finite());
    }

    #[test]
    fn linear_ticks_are_round() {
        let ticks = |low, high, most| shown(&Scale::linear((low, high), (0.0, 1.0)).ticks(most));
        assert_eq!(ticks(0.0, 1.0, 6), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(ticks(1.0, 10.0, 6), "2 4 6 8 10");
        assert_eq!(ticks(1.0, 3.0, 6), "1 1.5 2 2.5 3");
        assert_eq!(ticks(0.0, 1234.0, 4), "0 500 1000");
    }

    #[test]
    fn logarithmic_ticks_are_round_or_decades() {
        let ticks = |low, high, most| shown(&Scale::log((low, high), (0.0, 1.0)).ticks(most));
        assert_eq!(ticks(0.4, 5.0, 6), "0.5 1 2 5");
        assert_eq!(ticks(0.009, 2.0, 8), "0.01 0.02 0.05 0.1 0.2 0.5 1 2");
        assert_eq!(ticks(0.001, 1000.0, 7), "0.001 0.01 0.1 1 10 100 1000");
        assert_eq!(ticks(0.001, 1000.0, 4), "0.01 1 100");
        assert_eq!(ticks(1.1, 1.4, 6), "1.1 1.2 1.3 1.4");
    }

    #[test]
    fn ratios_are_halved_and_doubled() {
        let ticks = |low, high, most| shown(&Scale::log((low, high), (0.0, 1.0)).ratio_ticks(most));
        assert_eq!(ticks(0.9, 2.6, 7), "1 1.5 2");
        assert_eq!(ticks(0.4, 5.0, 7), "0.5 0.75 1 1.5 2 3 4");
        assert_eq!(ticks(0.2, 9.0, 7), "0.25 0.5 1 2 4 8");
        assert_eq!(ticks(0.01, 1000.0, 6), "0.01 0.1 1 10 100 1000");
        assert_eq!(ticks(1.1, 1.3, 6), "1.1 1.15 1.2 1.25 1.3");
    }

    #[test]
    fn domains_hold_what_must_be_seen() {
        assert_eq!(log_domain([f64::NAN, 0.0, -1.0], &[1.0]), None);
        let (low, high) = log_domain([2.0, 4.0], &[1.0]).unwrap();
        assert!(low < 1.0 && 0.85 < low && 4.0 < high && high < 5.0);
    }
}
