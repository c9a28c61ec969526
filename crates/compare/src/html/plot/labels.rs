//! Labels beside the ends of lines, moved apart where the ends are close.

/// Places for labels of height `gap`, each as near to its wish as the others let it (least squares),
/// all between `low` and `high`. Where there is no room for all, they share the room.
pub(crate) fn spread(wishes: &[f64], gap: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let n = wishes.len();
    if n == 0 {
        return Vec::new();
    }
    let gap = if n < 2 { gap } else { gap.min((high - low) / (n - 1) as f64) };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| wishes[*a].total_cmp(&wishes[*b]));
    // Without the gaps this is isotonic regression: neighbours that would cross share their mean.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (rank, index) in order.iter().enumerate() {
        let mut pool = (wishes[*index] - rank as f64 * gap, 1);
        while let Some(before) = pools.last()
            && pool.0 / pool.1 as f64 <= before.0 / before.1 as f64
        {
            pool = (pool.0 + before.0, pool.1 + before.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let most = high - (n - 1) as f64 * gap;
    let means = pools.iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / *n as f64, *n));
    let mut places = vec![0.0; n];
    for (rank, mean) in means.enumerate() {
        places[order[rank]] = mean.min(most).max(low) + rank as f64 * gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        assert_eq!(spread(&[50.0, 10.0], 12.0, (0.0, 100.0)), [50.0, 10.0]);
        assert_eq!(spread(&[50.0, 50.0], 12.0, (0.0, 100.0)), [44.0, 56.0]);
        assert_eq!(spread(&[98.0, 99.0, 10.0], 12.0, (0.0, 100.0)), [88.0, 100.0, 10.0]);
        assert_eq!(spread(&[0.0, 1.0], 12.0, (0.0, 100.0)), [0.0, 12.0]);
        assert_eq!(spread(&[5.0; 5], 30.0, (0.0, 100.0)), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert!(spread(&[], 12.0, (0.0, 1.0)).is_empty());
    }
}
