//! Views that are no ops of the catalogue, as those that are: their extents are known.

use kgen_ops::record::ArgValue;

use crate::{
    bind::{Binder, BoundArg},
    trace::{Arg, Node, Output, Place},
};

/// Ops whose results have the elements of their first argument in the same order.
const RESHAPES: [&str; 12] = [
    "view",
    "reshape",
    "_unsafe_view",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "view_as",
    "reshape_as",
    "ravel",
    "atleast_2d",
    "atleast_3d",
];

/// Ops whose result is their first argument.
const IDENTITIES: [&str; 6] =
    ["contiguous", "clone", "detach", "alias", "positive", "lift_fresh_copy"];

/// Ops that take a tensor apart along a dimension.
const SPLITS: [&str; 7] = [
    "chunk",
    "split",
    "split_with_sizes",
    "tensor_split",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
];

/// Adds a call as ops of the catalogue where it is a view; returns whether it is.
pub(crate) fn rewrite(binder: &mut Binder, node: &Node) -> Result<bool, String> {
    let name = node.target.strip_prefix("aten.").unwrap_or(&node.target);
    let base = name.split('.').next().unwrap_or(name);
    let Some(Arg::Tensor(of)) = node.arg(0, "self").or_else(|| node.arg(0, "tensor")) else {
        return Ok(false);
    };
    let [output, ..] = node.outputs.as_slice() else { return Ok(false) };
    if IDENTITIES.contains(&base) {
        binder.alias(&node.name, 0, &of);
    } else if RESHAPES.contains(&base) {
        let there = binder.shaped(&of).ok_or("an unknown tensor")?;
        match there.shape == output.shape {
            true => binder.alias(&node.name, 0, &of),
            false => drop(binder.viewed(&node.name, &of, output.clone())?),
        }
    } else if SPLITS.contains(&base) {
        let dim = int(node, 2, "dim").unwrap_or(0);
        pieces(binder, node, &of, dim, &extents(node, &of, binder, dim)?)?;
    } else if base == "unbind" {
        let dim = int(node, 1, "dim").unwrap_or(0);
        for (index, output) in node.outputs.iter().enumerate() {
            let place = binder.place(&of);
            let args = vec![
                ("self", BoundArg::Tensor(place)),
                ("dim", BoundArg::Value(ArgValue::Int(dim))),
                ("index", BoundArg::Value(ArgValue::Int(index as i64))),
            ];
            let made =
                binder.push(&format!("{}_{index}", node.name), "select", args, output.clone())?;
            binder.alias(&node.name, index, &made);
        }
    } else if base == "numpy_T" || base == "t" {
        let dims = (0..output.shape.len() as i64).rev().collect();
        permute(binder, node, &of, dims, output.clone())?;
    } else if base == "unfold" {
        unfold(binder, node, &of, output.clone())?;
    } else if base == "narrow" {
        let dim = int(node, 1, "dim").ok_or("`dim` is missing")?;
        let start = int(node, 2, "start").ok_or("`start` is no integer")?;
        let length = int(node, 3, "length").ok_or("`length` is missing")?;
        let made = slice(binder, &node.name, &of, (dim, start, start + length), output.clone())?;
        binder.alias(&node.name, 0, &made);
    } else if base == "movedim" || base == "moveaxis" {
        let dims = moved(node, output.shape.len()).ok_or("dimensions that are no integers")?;
        permute(binder, node, &of, dims, output.clone())?;
    } else if base == "expand_as" {
        let size = output.shape.iter().map(|&extent| extent as i64).collect();
        let args = vec![
            ("self", BoundArg::Tensor(binder.place(&of))),
            ("size", BoundArg::Value(ArgValue::Ints(size))),
        ];
        binder.push(&node.name, "expand", args, output.clone())?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn permute(
    binder: &mut Binder,
    node: &Node,
    of: &Place,
    dims: Vec<i64>,
    output: Output,
) -> Result<(), String> {
    let args = vec![
        ("self", BoundArg::Tensor(binder.place(of))),
        ("dims", BoundArg::Value(ArgValue::Ints(dims))),
    ];
    binder.push(&node.name, "permute", args, output).map(drop)
}

/// Windows along a dimension that do not overlap: the dimension is cut into them, and their elements
/// become the last dimension.
fn unfold(binder: &mut Binder, node: &Node, of: &Place, output: Output) -> Result<(), String> {
    let there = binder.shaped(of).ok_or("an unknown tensor")?;
    let rank = there.shape.len();
    let dim = wrapped(int(node, 1, "dimension").ok_or("`dimension` is missing")?, rank);
    let size = int(node, 2, "size").ok_or("`size` is missing")?;
    if int(node, 3, "step") != Some(size) {
        return Err("windows that overlap".to_owned());
    }
    let n = output.shape.get(dim).copied().ok_or("no such dimension")?;
    let size = usize::try_from(size).map_err(|error| error.to_string())?;
    let mut shape = there.shape.clone();
    shape[dim] = n * size;
    let whole = Output { dtype: there.dtype, shape: shape.clone() };
    let range = (dim as i64, 0, (n * size) as i64);
    let cut = match whole.shape == there.shape {
        true => binder.place(of),
        false => slice(binder, &format!("{}_cut", node.name), of, range, whole)?,
    };
    shape[dim] = n;
    shape.insert(dim + 1, size);
    let windows = Output { dtype: there.dtype, shape };
    let windows = binder.viewed(&format!("{}_windows", node.name), &cut, windows)?;
    let mut dims: Vec<i64> = (0..=rank as i64).filter(|&at| at != dim as i64 + 1).collect();
    dims.push(dim as i64 + 1);
    permute(binder, node, &windows, dims, output)
}

fn int(node: &Node, place: usize, name: &str) -> Option<i64> {
    match node.arg(place, name)? {
        Arg::Int { int } => Some(int),
        _ => None,
    }
}

/// Returns the extents of the results along the dimension that is split.
fn extents(node: &Node, of: &Place, binder: &Binder, dim: i64) -> Result<Vec<usize>, String> {
    let rank = binder.shaped(of).ok_or("an unknown tensor")?.shape.len();
    let dim = wrapped(dim, rank);
    node.outputs
        .iter()
        .map(|output| output.shape.get(dim).copied().ok_or_else(|| "no such dimension".to_owned()))
        .collect()
}

fn wrapped(dim: i64, rank: usize) -> usize {
    let rank = rank as i64;
    usize::try_from(if dim < 0 { dim + rank } else { dim }).unwrap_or(0)
}

fn pieces(
    binder: &mut Binder,
    node: &Node,
    of: &Place,
    dim: i64,
    extents: &[usize],
) -> Result<(), String> {
    let mut start = 0;
    for (index, (output, &extent)) in node.outputs.iter().zip(extents).enumerate() {
        let end = start + extent as i64;
        let name = format!("{}_{index}", node.name);
        let made = slice(binder, &name, of, (dim, start, end), output.clone())?;
        binder.alias(&node.name, index, &made);
        start = end;
    }
    Ok(())
}

fn slice(
    binder: &mut Binder,
    name: &str,
    of: &Place,
    (dim, start, end): (i64, i64, i64),
    output: Output,
) -> Result<Place, String> {
    let args = vec![
        ("self", BoundArg::Tensor(binder.place(of))),
        ("dim", BoundArg::Value(ArgValue::Int(dim))),
        ("start", BoundArg::Value(ArgValue::Int(start))),
        ("end", BoundArg::Value(ArgValue::Int(end))),
    ];
    binder.push(name, "slice", args, output)
}

/// Returns the permutation that moves some dimensions to others.
fn moved(node: &Node, rank: usize) -> Option<Vec<i64>> {
    let list = |place: usize, name: &str| -> Option<Vec<usize>> {
        let ints = match node.arg(place, name)? {
            Arg::Int { int } => vec![int],
            Arg::List { list } => list
                .iter()
                .map(|arg| match arg {
                    Arg::Int { int } => Some(*int),
                    _ => None,
                })
                .collect::<Option<_>>()?,
            _ => return None,
        };
        Some(ints.into_iter().map(|dim| wrapped(dim, rank)).collect())
    };
    let (source, destination) = (list(1, "source")?, list(2, "destination")?);
    let mut dims: Vec<Option<usize>> = vec![None; rank];
    for (&from, &to) in source.iter().zip(&destination) {
        *dims.get_mut(to)? = Some(from);
    }
    let mut rest = (0..rank).filter(|dim| !source.contains(dim));
    dims.into_iter().map(|dim| Some(dim.or_else(|| rest.next())? as i64)).collect()
}
