//! Ops that fold, scan, sort or normalise along dimensions.

mod channel;
mod norm;
mod order;
mod reduce;
mod scan;
mod softmax;
mod statistics;

use super::super::def::OpBuilder;

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let tables = [
        reduce::rows(),
        statistics::rows(),
        softmax::rows(),
        order::rows(),
        scan::rows(),
        norm::rows(),
        channel::rows(),
    ];
    tables.into_iter().flatten().collect()
}
