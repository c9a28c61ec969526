//! Which blocks of a grid run.

use std::collections::BTreeSet;

use crate::options::Blocks;

/// Linear indices of the blocks to run, in order; `None` stands for all of them.
pub(super) fn chosen(blocks: &Blocks, grid: [u32; 3]) -> Option<Vec<u64>> {
    let n: u64 = grid.iter().map(|n| u64::from(*n)).product();
    match blocks {
        Blocks::All => None,
        Blocks::Only(list) => {
            let set: BTreeSet<u64> = list.iter().copied().filter(|b| *b < n).collect();
            Some(set.into_iter().collect())
        }
        Blocks::Sample { count, .. } if *count as u64 >= n => None,
        Blocks::Sample { count, seed } => Some(sample(*count, *seed, grid, n)),
    }
}

/// Corners first, then the middles of edges, then random ones.
fn sample(count: usize, seed: u64, grid: [u32; 3], n: u64) -> Vec<u64> {
    let [x, y, z] = grid.map(u64::from);
    let index = |at: [u64; 3]| at[0] + x * (at[1] + y * at[2]);
    let mut wanted = vec![0, n - 1];
    for ends in [[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]] {
        wanted.push(index([ends[0] * (x - 1), ends[1] * (y - 1), ends[2] * (z - 1)]));
    }
    for middle in [[x / 2, 0, 0], [x / 2, y - 1, z - 1], [0, y / 2, 0], [x - 1, y / 2, z - 1]] {
        wanted.push(index(middle));
    }
    let mut chosen: BTreeSet<u64> = BTreeSet::new();
    for block in wanted {
        if chosen.len() < count {
            chosen.insert(block);
        }
    }
    let mut state = seed;
    while chosen.len() < count {
        // The SplitMix64 generator.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        chosen.insert((word ^ (word >> 31)) % n);
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::chosen;
    use crate::options::Blocks;

    #[test]
    fn a_sample_has_ends_and_edges_and_no_more_than_asked() {
        let blocks = chosen(&Blocks::Sample { count: 16, seed: 3 }, [100, 50, 1]);
        let blocks = blocks.unwrap_or_default();
        assert_eq!(blocks.len(), 16);
        for edge in [0, 99, 4900, 4999, 50, 2500] {
            assert!(blocks.contains(&edge), "{edge}: {blocks:?}");
        }
        assert_eq!(chosen(&Blocks::Sample { count: 9, seed: 0 }, [3, 3, 1]), None);
        let few = chosen(&Blocks::Sample { count: 1, seed: 0 }, [1 << 30, 2, 2]);
        assert_eq!(few, Some(vec![0]));
        assert_eq!(chosen(&Blocks::Only(vec![7, 2, 9, 2]), [8, 1, 1]), Some(vec![2, 7]));
    }
}
