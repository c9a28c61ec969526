//! The names of the catalogue against PyTorch's schemas, which `python/schemas.py` wrote.

use std::collections::BTreeMap;

use kgen_ops::op::{self, Named, Param, Schema};

const SCHEMAS: &str = include_str!("../schemas.txt");

/// Names that are PyTorch's with arguments that are not, and why.
const OTHER: &[(&str, &str)] = &[
    ("split.default", "TorchScript's; in eager PyTorch the name is that of split.Tensor"),
    (
        "where.default",
        "of a condition alone its shape depends on data; kgen takes it for where.self",
    ),
];

/// Returns PyTorch's schemas by `base.overload`.
fn theirs() -> BTreeMap<String, Schema> {
    let parse = |line: &str| {
        // Lists of other things are no arguments of a kernel.
        let schema = Schema::parse(line).ok()?;
        Some((format!("{}.{}", schema.base, schema.overload), schema))
    };
    SCHEMAS.lines().filter_map(parse).collect()
}

fn ours(named: Named) -> &'static [Param] {
    named.overload.map_or(&named.op.params, |overload| &overload.schema.params)
}

/// Says in which argument parameters differ from a schema's.
fn difference(ours: &[Param], theirs: &[Param]) -> Option<String> {
    let names = |params: &[Param]| -> Vec<String> {
        params.iter().map(|param| param.name.clone()).collect()
    };
    if names(ours) != names(theirs) {
        return Some(format!("takes {:?}, PyTorch {:?}", names(ours), names(theirs)));
    }
    ours.iter().zip(theirs).find_map(|(ours, theirs)| {
        let facts = |param: &Param| (param.kind, param.optional, param.demanded);
        let default = |param: &Param| (!param.demanded).then(|| param.default.clone());
        let differs = facts(ours) != facts(theirs) || default(ours) != default(theirs);
        differs.then(|| format!("`{}` is {ours:?}, in PyTorch {theirs:?}", ours.name))
    })
}

#[test]
fn every_name_has_the_arguments_of_pytorchs_schema() {
    let mut wrong = Vec::new();
    let mut n_checked = 0;
    for (name, schema) in &theirs() {
        let Ok(found) = op::resolve(name) else { continue };
        n_checked += 1;
        let found: Vec<_> =
            found.into_iter().map(|named| difference(ours(named), &schema.params)).collect();
        if found.iter().all(Option::is_some) && !OTHER.iter().any(|(of, _)| of == name) {
            wrong.extend(found.into_iter().flatten().take(1).map(|text| format!("{name} {text}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {n_checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_checked > 400, "{n_checked}");
}

#[test]
fn every_aten_op_is_among_pytorchs_schemas() {
    let theirs = theirs();
    let ours = op::all().iter().filter_map(|op| op.schema.strip_prefix("aten."));
    let missing: Vec<&str> = ours.filter(|name| !theirs.contains_key(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
