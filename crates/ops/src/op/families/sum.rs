//! Compensated summation.

/// A running sum whose error does not grow with its length (Neumaier's variant of Kahan's).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds one term.
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.total + term;
        if total.is_finite() {
            self.lost += if self.total.abs() >= term.abs() {
                (self.total - total) + term
            } else {
                (term - total) + self.total
            };
        }
        self.total = total;
    }

    /// Returns the sum; NaN and infinities as plain addition gives them.
    pub(crate) fn value(self) -> f64 {
        if self.total.is_finite() { self.total + self.lost } else { self.total }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::default();
        for term in terms {
            sum.add(term);
        }
        sum
    }
}

/// Returns the sum of some terms.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().collect::<Sum>().value()
}
