//! Ops that index, move and copy; losses; ops of language model inference.

mod choose;
mod index;
mod llm;
mod losses;
mod movement;
mod row_losses;
mod views;

use super::{
    super::{
        Call, InferError, OpFamily,
        def::{self, OpBuilder},
        families::movement::{Movement, Piece},
    },
    of,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [
        of(OpFamily::Index, index::rows()),
        of(OpFamily::Index, choose::rows()),
        of(OpFamily::Movement, movement::rows()),
        of(OpFamily::Movement, views::rows()),
        of(OpFamily::Loss, losses::rows()),
        of(OpFamily::Loss, row_losses::rows()),
        llm::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Semantics of every op that moves elements.
const MOVED: &str = "Elements are copied bit for bit, NaN, infinities and -0 among them, in every \
    dtype; an input may have any strides, the output is contiguous. A tensor without elements gives \
    one without elements.";

/// Starts the row of an op that moves elements.
fn moved(
    signature: &str,
    pieces: fn(&Call<'_>) -> Result<Vec<Piece>, InferError>,
    semantics: &str,
) -> OpBuilder {
    let semantics = format!("{semantics}\n{MOVED}");
    OpBuilder::new(signature, Movement { pieces }, &semantics)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
}
