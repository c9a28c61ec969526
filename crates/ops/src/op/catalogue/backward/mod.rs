//! Backward ops: gradients of the inputs of forward ops, which have their op families.

mod activation;
mod losses;
mod rows;
mod views;

use super::{
    super::{OpFamily, def::OpBuilder},
    of,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let tables = [
        of(OpFamily::Elementwise, activation::rows()),
        of(OpFamily::Loss, losses::rows()),
        of(OpFamily::Loss, rows::losses()),
        of(OpFamily::Softmax, rows::softmax()),
        of(OpFamily::Norm, rows::norms()),
        of(OpFamily::Movement, rows::views()),
        of(OpFamily::Index, rows::embedding()),
        of(OpFamily::Convolution, rows::convolution()),
        of(OpFamily::Pool, rows::pools()),
        views::rows(),
    ];
    tables.into_iter().flatten().collect()
}
