//! Weak topological order of a control-flow graph (Bourdoncle, "Efficient chaotic iteration
//! strategies with widenings"): loops contiguous with their head first, then the blocks behind
//! them.
//!
//! Takes time in proportion to the graph times its loop depth, and no recursion: the graph may come
//! from a hostile file.

/// Loops inside each other that are ordered; deeper ones keep the order of the text, which costs
/// reconvergence and nothing else.
const MAX_DEPTH: u32 = 64;

/// The blocks, each given by those that may follow it.
pub(super) fn weak_topological_order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut walk = Walk {
        successors,
        region: vec![0; successors.len()],
        number: vec![UNSEEN; successors.len()],
        low: vec![0; successors.len()],
        on_stack: vec![false; successors.len()],
    };
    let mut order = Vec::with_capacity(successors.len());
    let mut regions = 0;
    let mut work = vec![Item::Region((0..successors.len()).collect(), 0)];
    while let Some(item) = work.pop() {
        match item {
            Item::Block(block) => order.push(block),
            Item::Region(blocks, MAX_DEPTH..) => order.extend(blocks),
            Item::Region(blocks, depth) => {
                regions += 1;
                // Components come last one first, which is how a stack wants them.
                for mut component in walk.components(&blocks, regions) {
                    // The head stands first in the text among the blocks entered from outside: the
                    // walk found it first.
                    let head = component.swap_remove(0);
                    if !component.is_empty() {
                        component.sort_unstable();
                        work.push(Item::Region(component, depth + 1));
                    }
                    work.push(Item::Block(head));
                }
            }
        }
    }
    order
}

/// Blocks still to be placed.
enum Item {
    Block(usize),
    /// Blocks in the order of the text, and the loops around them.
    Region(Vec<usize>, u32),
}

/// Number of a block that the walk has not reached.
const UNSEEN: usize = usize::MAX;

/// Tarjan's algorithm over parts of a graph.
struct Walk<'g> {
    successors: &'g [Vec<usize>],
    /// The part each block belongs to.
    region: Vec<usize>,
    number: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
}

impl Walk<'_> {
    /// Strongly connected components of the sorted `blocks` in reverse topological order, the first
    /// block visited first in each.
    fn components(&mut self, blocks: &[usize], region: usize) -> Vec<Vec<usize>> {
        for &block in blocks {
            self.region[block] = region;
            self.number[block] = UNSEEN;
        }
        let mut result = Vec::new();
        let mut stack = Vec::new();
        let mut work = Vec::new();
        let mut counter = 0;
        for &root in blocks {
            if self.number[root] == UNSEEN {
                self.enter(root, &mut counter, &mut stack);
                work.push((root, 0));
            }
            while let Some((block, next)) = work.last_mut() {
                let block = *block;
                if let Some(&s) = self.successors[block].get(*next) {
                    *next += 1;
                    if self.region[s] != region {
                        continue;
                    }
                    if self.number[s] == UNSEEN {
                        self.enter(s, &mut counter, &mut stack);
                        work.push((s, 0));
                    } else if self.on_stack[s] {
                        self.low[block] = self.low[block].min(self.number[s]);
                    }
                    continue;
                }
                work.pop();
                if let Some((parent, _)) = work.last() {
                    self.low[*parent] = self.low[*parent].min(self.low[block]);
                }
                if self.low[block] == self.number[block] {
                    let at = stack.iter().rposition(|b| *b == block).unwrap_or(0);
                    let component = stack.split_off(at);
                    for &b in &component {
                        self.on_stack[b] = false;
                    }
                    result.push(component);
                }
            }
        }
        result
    }

    fn enter(&mut self, block: usize, counter: &mut usize, stack: &mut Vec<usize>) {
        self.number[block] = *counter;
        self.low[block] = *counter;
        *counter += 1;
        stack.push(block);
        self.on_stack[block] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::weak_topological_order;

    #[test]
    fn loops_stay_together_before_their_exits() {
        // 0 -> 1; 1 -> {3 (exit), 2}; 2 -> 1: the exit is visited first and still comes last.
        let order = weak_topological_order(&[vec![1], vec![3, 2], vec![1], vec![]]);
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn joins_follow_both_branches() {
        let order = weak_topological_order(&[vec![3, 1], vec![2], vec![], vec![2]]);
        assert_eq!(order.last(), Some(&2));
        assert_eq!(order[0], 0);
    }

    #[test]
    fn deep_and_wide_graphs_take_linear_time() {
        const N: usize = 200_000;
        // Loops inside each other: block N + i jumps back to block N - i.
        let mut nested: Vec<Vec<usize>> = (0..2 * N).map(|b| vec![(b + 1) % (2 * N)]).collect();
        for i in 1..N {
            nested[N + i].push(N - i);
        }
        nested[2 * N - 1].clear();
        // One small loop after the other.
        let wide = (0..N).map(|b| if b + 1 < N { vec![b + 1, b] } else { vec![] }).collect();
        // All inside one more.
        let mut ring: Vec<Vec<usize>> = Vec::clone(&wide);
        ring[N - 1] = vec![0];
        for graph in [nested, wide, ring] {
            let mut order = weak_topological_order(&graph);
            order.sort_unstable();
            assert!(order.into_iter().eq(0..graph.len()));
        }
    }
}
