//! Statistics as pure functions of samples.

mod hodges;
mod holm;
mod normal;
mod order;
mod wilcoxon;

pub use hodges::{Centre, centre};
pub use holm::holm;
pub use normal::two_sided_tail;
pub use order::{
    geometric_mean, median, median_interval, median_ranks, quantile, sorted,
    weighted_geometric_mean,
};
pub use wilcoxon::{SignedRank, signed_rank};

#[cfg(test)]
mod tests;
