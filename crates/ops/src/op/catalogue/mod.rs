//! The ops that kgen knows: one table per family.

mod backward;
mod dense;
mod dense_conv;
mod dense_image;
mod dense_quant;
mod dense_recurrent;
mod dense_resize;
mod fold;
mod overloads;
mod place;
mod pointwise;
mod serving;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use super::{OpDef, OpFamily, Overload, def::OpBuilder};

/// All ops, and every name that one of them goes by.
struct Catalogue {
    ops: Vec<Arc<OpDef>>,
    names: HashMap<String, usize>,
    /// Overloads whose arguments are not the op's, by name.
    overloads: HashMap<String, Vec<Overload>>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::build);

impl Catalogue {
    fn build() -> Self {
        let tables = [
            of(OpFamily::Elementwise, pointwise::rows()),
            fold::rows(),
            of(OpFamily::Contraction, dense::rows()),
            of(OpFamily::Convolution, dense_conv::rows()),
            of(OpFamily::Contraction, dense_recurrent::rows()),
            of(OpFamily::Pool, dense_image::rows()),
            of(OpFamily::Pool, dense_resize::rows()),
            dense_quant::rows(),
            place::rows(),
            backward::rows(),
            serving::rows(),
        ];
        let mut ops: Vec<OpDef> = tables
            .into_iter()
            .flatten()
            .map(|row| row.build().expect("every signature of the tables can be read"))
            .collect();
        let mut names = HashMap::new();
        for (index, op) in ops.iter().enumerate() {
            let own = [op.name.clone(), op.schema.clone()];
            for name in op.aliases.iter().cloned().chain(own) {
                let earlier = names.insert(name.clone(), index);
                assert!(earlier.is_none_or(|of| of == index), "`{name}` names two ops");
            }
        }
        let mut overloads: HashMap<String, Vec<Overload>> = HashMap::new();
        for overload in overloads::all(|name| names.get(name).map(|&index: &usize| &ops[index])) {
            overloads.entry(overload.name()).or_default().push(overload);
        }
        for (name, listed) in &overloads {
            let short = name.strip_suffix(".default").unwrap_or(name);
            // Where arguments decide, the name alone is the first row's op.
            ops[names[&listed[0].op]].aliases.push(short.to_owned());
        }
        for op in &mut ops {
            op.aliases.sort();
        }
        Self { ops: ops.into_iter().map(Arc::new).collect(), names, overloads }
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

/// An op that a name stands for.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// The op.
    pub op: &'static Arc<OpDef>,
    /// The overload, where its arguments are not the op's.
    pub overload: Option<&'static Overload>,
    /// Whether it is the in-place variant: the result has the type and shape of the first tensor.
    pub in_place: bool,
    /// Whether it is an out variant, which writes to tensors that it is given.
    pub out: bool,
}

/// Overloads that an out variant without a name of its own may be of.
const OUT_OF: [&str; 6] = ["default", "Tensor", "dim", "dim_int", "dim_IntList", "correction"];

/// Finds the ops of a name, in any of the spellings that people use: several where arguments decide.
pub(super) fn lookup(name: &str) -> Vec<Named> {
    let by_name = |name: &str| CATALOGUE.names.get(name).map(|&index| &CATALOGUE.ops[index]);
    let out = name.ends_with(".out") || name.ends_with("_out");
    if let Some(op) = by_name(name) {
        return vec![Named { op, overload: None, in_place: false, out }];
    }
    let text = name.replace("::", ".");
    let text = text.strip_prefix("torch.ops.").or(text.strip_prefix("torch.")).unwrap_or(&text);
    let text = text.strip_prefix("nn.functional.").unwrap_or(text);
    let text = text.strip_prefix("aten.").unwrap_or(text);
    let (base, overload) = text.split_once('.').unwrap_or((text, "default"));
    // Out variants compute the same values.
    let names: Vec<&str> = match overload {
        "out" => OUT_OF.to_vec(),
        "IntList_out" => vec!["dim_IntList", "dim"],
        "int_out" => vec!["int", "dim_int"],
        _ => vec![overload.strip_suffix("_out").unwrap_or(overload)],
    };
    let in_place = base.strip_suffix('_').filter(|base| !base.is_empty() && !base.ends_with('_'));
    let bases = [Some((base, false)), in_place.map(|base| (base, true))];
    let mut found = Vec::new();
    for (base, in_place) in bases.into_iter().flatten() {
        for overload in &names {
            let full = format!("{base}.{overload}");
            if let Some(rows) = CATALOGUE.overloads.get(&full) {
                found.extend(rows.iter().map(|overload| {
                    let op = by_name(&overload.op).expect("an overload is of an op");
                    let in_place = in_place || overload.schema.base.ends_with('_');
                    Named { op, overload: Some(overload), in_place, out }
                }));
                continue;
            }
            let op = by_name(&format!("aten.{full}")).or_else(|| by_name(&full)).or_else(|| {
                // Another name of an op has its overload too.
                let is_same = |op: &&Arc<OpDef>| {
                    let of_op = op.schema.rsplit_once('.').map(|(_, overload)| overload);
                    *overload == "default" || of_op == Some(*overload)
                };
                by_name(base).filter(is_same)
            });
            found.extend(op.map(|op| Named { op, overload: None, in_place, out }));
        }
    }
    for named in &mut found {
        // A view in place changes how the tensor is seen, not what it holds.
        named.in_place &= !named.op.schema.contains("_copy.");
    }
    found
}
