//! Statistics as pure functions of samples.

mod bootstrap;
mod holm;
mod normal;
mod order;
mod wilcoxon;

pub use bootstrap::median_bootstrap;
pub use holm::holm;
pub use order::{geometric_mean, median, median_interval, median_ranks, quantile, sorted};
pub use wilcoxon::{SignedRank, signed_rank};

#[cfg(test)]
mod tests;
