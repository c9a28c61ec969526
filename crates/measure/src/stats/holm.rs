//! Correction for several comparisons judged at once.

/// Returns Holm's adjusted p values, in the order given.
///
/// Comparing an adjusted value with 0.01 keeps the chance of any false rejection among all of
/// them at 1 %, whatever their dependence.
///
/// Source: Holm 1979; equal to R's `p.adjust(p, "holm")`.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}
