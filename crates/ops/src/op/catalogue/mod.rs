//! The ops that kgen knows: one table per family.

mod dense;
mod dense_conv;
mod dense_image;
mod dense_quant;
mod fold;
mod place;
mod pointwise;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use super::{OpDef, OpFamily, def::OpBuilder};

/// All ops, and every name that one of them goes by.
struct Catalogue {
    ops: Vec<Arc<OpDef>>,
    names: HashMap<String, usize>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::build);

impl Catalogue {
    fn build() -> Self {
        let tables = [
            of(OpFamily::Elementwise, pointwise::rows()),
            fold::rows(),
            of(OpFamily::Contraction, dense::rows()),
            of(OpFamily::Convolution, dense_conv::rows()),
            of(OpFamily::Pool, dense_image::rows()),
            dense_quant::rows(),
            place::rows(),
        ];
        let ops: Vec<Arc<OpDef>> = tables
            .into_iter()
            .flatten()
            .map(|row| Arc::new(row.build().expect("every signature of the tables can be read")))
            .collect();
        let mut names = HashMap::new();
        for (index, op) in ops.iter().enumerate() {
            let own = [op.name.clone(), op.schema.clone()];
            for name in op.aliases.iter().cloned().chain(own) {
                let earlier = names.insert(name.clone(), index);
                assert!(earlier.is_none_or(|of| of == index), "`{name}` names two ops");
            }
        }
        Self { ops, names }
    }
}

/// Sets the op family of a table's rows, where they do not set another.
fn of(family: OpFamily, rows: Vec<OpBuilder>) -> Vec<OpBuilder> {
    rows.into_iter().map(|row| row.family(family)).collect()
}

/// Returns all ops that kgen knows, in the order in which they are listed.
#[must_use]
pub fn all() -> &'static [Arc<OpDef>] {
    &CATALOGUE.ops
}

/// Finds an op by any of its names, in any of the spellings that people use.
pub(super) fn lookup(name: &str) -> Option<&'static Arc<OpDef>> {
    let find = |name: &str| CATALOGUE.names.get(name).map(|&index| &CATALOGUE.ops[index]);
    find(name).or_else(|| {
        let text = name.replace("::", ".");
        let text = text.strip_prefix("torch.ops.").or(text.strip_prefix("torch.")).unwrap_or(&text);
        let text = text.strip_prefix("nn.functional.").unwrap_or(text);
        let text = text.strip_prefix("aten.").unwrap_or(text);
        let (base, overload) = text.split_once('.').unwrap_or((text, "default"));
        // In-place and out variants compute the same values.
        let functional = base.strip_suffix('_').filter(|base| !base.is_empty());
        let bases = [Some(base), functional];
        bases.into_iter().flatten().find_map(|base| {
            find(&format!("aten.{base}.{overload}"))
                .or_else(|| find(&format!("{base}.{overload}")))
                .or_else(|| matches!(overload, "default" | "out").then(|| find(base)).flatten())
        })
    })
}
