//! Statistics as pure functions of samples.

mod divisive;
mod hodges;
mod holm;
mod normal;
mod order;
mod rank_sum;
mod wilcoxon;

pub use divisive::{Change, Divisive, divide};
pub use hodges::{Centre, centre, shift};
pub use holm::holm;
pub use normal::two_sided_tail;
pub use order::{
    geometric_mean, median, median_interval, median_ranks, quantile, sorted,
    weighted_geometric_mean,
};
pub use rank_sum::{RankSum, rank_sum};
pub use wilcoxon::{SignedRank, signed_rank};

#[cfg(test)]
mod tests;
