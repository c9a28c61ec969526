//! Cases of one op at points of a grid of extents.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    CaseError, Seed, kind,
    shape::Range,
    template::{Template, key_error},
};
use crate::{
    expr::Symbols,
    op::{OpDef, build_case},
    record::{Case, CaseClass, DType},
};

/// Arguments by op, with batch `b`, sequence `s` and dimension `d`.
const ARGS: &[(&[&str], &str)] = &[
    (
        &["layer_norm"],
        r#"input = "[b, s, d]", normalized_shape = "[d]", weight = "[d]", bias = "[d]""#,
    ),
    (
        &["native_layer_norm"],
        r#"input = "[b, s, d]", normalized_shape = "[d]", weight = "[d]", bias = "[d]", eps = 1e-5"#,
    ),
    (&["rms_norm"], r#"input = "[b, s, d]", normalized_shape = "[d]", weight = "[d]""#),
    (&["softmax", "log_softmax"], r#"self = "[b, s, d]", dim = -1, half_to_float = false"#),
    (&["sum", "mean", "amax", "amin", "logsumexp"], r#"self = "[b, s, d]", dim = [-1]"#),
    (&["argmax", "argmin", "cumsum", "cumprod"], r#"self = "[b, s, d]", dim = -1"#),
    (&["topk"], r#"self = "[b, s, d]", k = 8"#),
    (
        &["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"],
        r#"self = "[b, s, d]", target = "[b, s, d]""#,
    ),
    (&["cross_entropy_loss"], r#"self = "[b*s, d]", target = "[b*s]""#),
    (&["mm"], r#"self = "[b*s, d]", mat2 = "[d, d]""#),
    (&["addmm"], r#"self = "[d]", mat1 = "[b*s, d]", mat2 = "[d, d]""#),
    (&["linear"], r#"input = "[b, s, d]", weight = "[d, d]", bias = "[d]""#),
    (&["bmm"], r#"self = "[b, s, d]", mat2 = "[b, d, s]""#),
    (&["silu_and_mul", "gelu_and_mul"], r#"self = "[b, s, 2*d]""#),
    (&["embedding"], r#"weight = "[32768, d]", indices = "i64[b, s]""#),
    (
        &["scaled_dot_product_attention"],
        r#"query = "[b, 16, s, d]", key = "[b, 16, s, d]", value = "[b, 16, s, d]""#,
    ),
];

/// The call of an op whose extents are named axes.
#[derive(Debug, Clone)]
pub struct PointCases {
    op: Arc<OpDef>,
    template: Template,
    axes: Vec<String>,
}

impl PointCases {
    /// Returns the arguments over batch `b`, sequence `s` and dimension `d` that suit an op; `None` where
    /// it needs others.
    #[must_use]
    pub fn default_args(op: &OpDef) -> Option<String> {
        let row = ARGS.iter().find(|(ops, _)| ops.contains(&op.name.as_str()));
        row.map(|(_, args)| (*args).to_owned()).or_else(|| {
            let tensors = kind::tensors_of(op)?;
            let tensors = tensors.iter().map(|name| format!("{name} = \"[b, s, d]\""));
            Some(tensors.collect::<Vec<_>>().join(", "))
        })
    }

    /// Reads arguments as a suite file writes those of a case: `self = "[b, s, d]", dim = -1`.
    ///
    /// # Errors
    ///
    /// [`CaseError`] where they are no TOML, an argument is unknown or wrong, or an extent is neither a
    /// number nor made of the axes.
    pub fn parse(op: &Arc<OpDef>, args: &str, axes: &[String]) -> Result<Self, CaseError> {
        let table: BTreeMap<String, toml::Table> = toml::from_str(&format!("case = {{ {args} }}"))
            .map_err(|error| key_error("args", error.message()))?;
        let table = table.into_values().next().unwrap_or_default();
        refuse_own_keys(op, &table)?;
        let any = Range { first: 1, last: 1, log: false };
        let named = axes.iter().map(|axis| (axis.clone(), any)).collect();
        let template = Template::open(op, &table, named)?;
        let every: Symbols = axes.iter().map(|axis| (axis.clone(), 1)).collect();
        if template.at(&every).is_drawn() {
            return Err(key_error("args", "a range has no place in a grid: name an axis"));
        }
        let used = |axis: &&String| {
            let others: Symbols =
                every.iter().filter(|(name, _)| name != axis).map(owned).collect();
            template.at(&others).is_drawn()
        };
        let axes = axes.iter().filter(used).cloned().collect();
        Ok(Self { op: Arc::clone(op), template, axes })
    }

    /// Returns the axes that its extents are made of, in the order given.
    #[must_use]
    pub fn axes(&self) -> &[String] {
        &self.axes
    }

    /// Builds the case at a point.
    ///
    /// # Errors
    ///
    /// [`CaseError`] where the op does not take these extents or this type.
    pub fn case(
        &self,
        point: &BTreeMap<String, i64>,
        dtype: DType,
        class: CaseClass,
    ) -> Result<Case, CaseError> {
        let at = self.template.at(&point.iter().map(owned).collect()).of_class(class);
        let drafts = at.drafts(&self.op, 0, dtype, Seed::default())?;
        let draft = drafts.into_iter().next();
        let draft =
            draft.ok_or_else(|| key_error("dtypes", "none of the arguments' is asked for"))?;
        Ok(build_case(&self.op, &draft)?)
    }
}

/// Keys of a suite's case that say something else than the call, which the grid decides here.
const OF_SUITES: [(&str, &str); 5] = [
    ("axes", "an axis gets its values from the grid"),
    ("grid", "an axis gets its values from the grid"),
    ("max_elements", "a grid is whole"),
    ("draws", "nothing is drawn in a grid"),
    ("class", "every case of a grid is timed"),
];

/// Refuses keys that would change nothing.
fn refuse_own_keys(op: &OpDef, table: &toml::Table) -> Result<(), CaseError> {
    let is_given = |key: &str| table.contains_key(key) && op.param(key).is_none();
    if let Some((key, reason)) = OF_SUITES.into_iter().find(|(key, _)| is_given(key)) {
        return Err(key_error(key, reason));
    }
    match table.get("distributions").and_then(toml::Value::as_array) {
        Some(kinds) if kinds.len() != 1 => Err(key_error("distributions", "a grid has one")),
        _ => Ok(()),
    }
}

fn owned((name, value): (&String, &i64)) -> (String, i64) {
    (name.clone(), *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;

    fn axes() -> Vec<String> {
        ["b", "s", "d"].map(str::to_owned).to_vec()
    }

    fn point(b: i64, s: i64, d: i64) -> BTreeMap<String, i64> {
        axes().into_iter().zip([b, s, d]).collect()
    }

    #[test]
    fn every_op_of_the_table_takes_its_arguments() {
        for name in ARGS.iter().flat_map(|(ops, _)| *ops) {
            let op = op::find(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            let args = PointCases::default_args(op).unwrap();
            let cases = PointCases::parse(op, &args, &axes())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let case = cases.case(&point(2, 3, 8), DType::F32, CaseClass::Edge);
            case.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn elementwise_ops_take_one_shape_and_others_need_arguments() {
        let args = |name: &str| PointCases::default_args(op::find(name).unwrap());
        assert_eq!(args("gelu").as_deref(), Some("self = \"[b, s, d]\""));
        let gradient = args("gelu_backward");
        assert_eq!(gradient.as_deref(), Some("grad_output = \"[b, s, d]\", self = \"[b, s, d]\""));
        assert_eq!(args("group_norm"), None);
    }

    #[test]
    fn extents_are_those_of_the_point_and_unused_axes_are_none() {
        let mm = op::find("mm").unwrap();
        let axes: Vec<String> = ["m", "k", "unused"].map(str::to_owned).to_vec();
        let cases = PointCases::parse(mm, r#"self = "[2*m, k]", mat2 = "[k, 5]""#, &axes).unwrap();
        assert_eq!(cases.axes(), ["m", "k"]);
        let at = BTreeMap::from([("m".to_owned(), 3), ("k".to_owned(), 7)]);
        let case = cases.case(&at, DType::BF16, CaseClass::Realistic).unwrap();
        let shapes: Vec<_> = case.tensors().map(|(_, tensor)| tensor.spec.shape.clone()).collect();
        assert_eq!(shapes, [vec![6, 7], vec![7, 5]]);
        assert_eq!((case.dtype, case.class), (DType::BF16, CaseClass::Realistic));
    }

    #[test]
    fn mistakes_are_named() {
        let relu = op::find("relu").unwrap();
        let error = |args: &str| PointCases::parse(relu, args, &axes()).unwrap_err().to_string();
        assert!(error("self = \"[b, h]\"").contains("`h` is no extent"));
        assert!(error("self = \"[1..64]\"").contains("name an axis"));
        assert!(error("input = \"[b]\"").contains("unknown key"));
        assert!(error("self = ").contains("args"));
        for (args, reason) in [
            (
                r#"self = "[b]", axes = { b = "1..4" }"#,
                "`axes`: an axis gets its values from the grid",
            ),
            (
                r#"self = "[b]", grid = { b = [1, 4] }"#,
                "`grid`: an axis gets its values from the grid",
            ),
            (r#"self = "[b]", class = "edge""#, "`class`: every case of a grid is timed"),
            (r#"self = "[b]", distributions = ["normal", "zeros"]"#, "a grid has one"),
        ] {
            assert!(error(args).contains(reason), "{}", error(args));
        }
        assert!(
            PointCases::parse(relu, r#"self = "[b]", distributions = ["zeros"]"#, &axes()).is_ok()
        );
    }
}
