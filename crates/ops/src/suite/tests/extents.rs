//! Extents that are expressions of axes.

use super::parse;
use crate::{op, suite};

fn relu(shape: &str, keys: &str) -> Result<Vec<Vec<usize>>, String> {
    let text = format!(
        "format = 1\nname = \"x\"\ndtypes = [\"f32\"]\n[[ops]]\nname = \"relu\"\n\
         cases = [{{ self = \"{shape}\", {keys} }}]\n"
    );
    let suite = parse("my.toml", &text).map_err(|error| error.to_string())?;
    let shapes = (0..20).flat_map(|seed| suite.cases("relu", None, seed).unwrap());
    Ok(shapes.map(|case| case.tensor("self").unwrap().spec.shape.clone()).collect())
}

#[test]
fn an_extent_may_be_an_expression_of_axes() {
    let drawn = relu("[h, (h - 3)//2 + 1, 2*k, h*k]", "axes = { h = \"3..20\", k = \"1..4\" }");
    let drawn = drawn.unwrap();
    for shape in &drawn {
        let (h, k) = (shape[0], shape[2] / 2);
        assert_eq!(shape[1..], [(h - 3) / 2 + 1, 2 * k, h * k]);
    }
    assert!(drawn.iter().any(|shape| shape != &drawn[0]));
    let points = relu("[m + 1, m*n]", "grid = { m = [1, 2], n = [3, 5] }").unwrap();
    assert_eq!(points[..4], [[2, 3], [2, 5], [3, 6], [3, 10]]);
}

#[test]
fn the_points_of_a_grid_have_a_place_and_its_call() {
    let text = "format = 1\nname = \"x\"\ndtypes = [\"f32\"]\n[[ops]]\nname = \"sum\"\ncases = [\
        { self = \"[7]\", dim = [0] }, \
        { self = \"[m, 3]\", dim = [0], grid = { m = [2, 7, 90] }, max_elements = 30 }, \
        { self = \"[m, 3]\", dim = [1], grid = { m = [2] } }]\n";
    let placed = parse("my.toml", text).unwrap().placed_cases("sum", None).unwrap();
    let places: Vec<_> = placed
        .iter()
        .map(|(_, place)| place.as_ref().map(|place| (place.at["m"], &*place.call)))
        .collect();
    let (first, second) = ("self = \"[m, 3]\", dim = [0]", "self = \"[m, 3]\", dim = [1]");
    assert_eq!(places, [None, Some((2, first)), Some((7, first)), Some((2, second))]);
    // Cases of one shape have numbers in their names; each has its own place.
    assert_eq!(placed[3].0.tensor("self").unwrap().spec.shape, [2, 3]);
    assert_ne!(placed[1].0.id, placed[3].0.id);
}

#[test]
fn an_expression_without_a_value_names_its_axes() {
    for (shape, keys, wanted) in [
        ("[k - 5]", "axes = { k = \"2..2\" }", "key `self`: `k - 5` for k = 2 is -3"),
        ("[7//(k - 2)]", "axes = { k = \"2..2\" }", "`7//(k - 2)` for k = 2 is no number"),
        ("[k + j]", "axes = { k = \"1..2\" }", "key `self`: `k + j` is no extent"),
        ("[m - 5]", "grid = { m = [3] }", "key `self`: `3 - 5`"),
    ] {
        let error = relu(shape, keys).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_drawn_case_of_an_op_file_has_extents_by_its_shapes() {
    let text = "format = 1\nname = \"mine\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\n\
        x = \"[n, c]\"\nw = \"[n//2 + g, 2*c]\"\n[scalars]\ng = 3\n[reference]\n\
        graph = \"h = relu(x)\\no = relu(w)\\nout = sum(h, [0, 1])\\n\"\n[[cases]]\nn = \"4..9\"\nc = 5\n";
    let text = text.replace(
        "out = sum(h, [0, 1])",
        "s = sum(h, [0, 1])\\nt = sum(o, [0, 1])\\nout = add(s, t)",
    );
    let op = op::custom(&text).unwrap();
    let suite = suite::of_op(op, "my.toml").unwrap().strict().unwrap();
    for seed in 0..8 {
        let case = suite.cases("mine", None, seed).unwrap().swap_remove(0);
        let shape = |name| case.tensor(name).unwrap().spec.shape.clone();
        assert_eq!(shape("w"), [shape("x")[0] / 2 + 3, 10]);
    }
}
