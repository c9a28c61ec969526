//! Ops that fold, scan, sort or normalise along dimensions.

mod channel;
mod norm;
mod order;
mod reduce;
mod scan;
mod softmax;
mod statistics;

use super::{
    super::{OpFamily, def::OpBuilder},
    of,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let tables = [
        of(OpFamily::Reduction, reduce::rows()),
        of(OpFamily::Reduction, statistics::rows()),
        of(OpFamily::Softmax, softmax::rows()),
        of(OpFamily::Sort, order::rows()),
        of(OpFamily::Scan, scan::rows()),
        of(OpFamily::Norm, norm::rows()),
        of(OpFamily::Norm, channel::rows()),
    ];
    tables.into_iter().flatten().collect()
}
