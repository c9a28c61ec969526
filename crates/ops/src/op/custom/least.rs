//! The products of a graph that no algorithm gets by without.
//!
//! A sum over the columns of a matrix product is the product with one vector: of a product that a linear
//! step follows nothing can be said. It is needed where its elements are outputs, or where each goes
//! through a function that is not linear.

use crate::op::OpFamily;

use super::graph::{Graph, Node, NodeArg, Value};

/// Elementwise functions that sums can be pulled through.
const LINEAR: [&str; 17] = [
    "add",
    "add.Scalar",
    "sub",
    "sub.Scalar",
    "rsub.Scalar",
    "mul",
    "mul.Scalar",
    "div",
    "div.Scalar",
    "neg",
    "clone",
    "to_copy",
    "where",
    "masked_fill.Scalar",
    "masked_fill.Tensor",
    "lerp.Scalar",
    "addcmul",
];

/// Other functions whose result depends on each element in a way that is not linear.
const EACH: [&str; 9] = [
    "amax",
    "amin",
    "max.dim",
    "min.dim",
    "logsumexp",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Product,
    /// Elements in other places, or a linear function of each.
    Linear,
    /// Each result depends on all elements of its row.
    Rows,
    /// Each element is needed.
    Each,
    Other,
}

impl Step {
    fn of(node: &Node) -> Self {
        let name = node.op.name.as_str();
        match node.op.family {
            _ if LINEAR.contains(&name) => Self::Linear,
            _ if EACH.contains(&name) => Self::Each,
            family if family.sums_products() => Self::Product,
            OpFamily::Movement => Self::Linear,
            OpFamily::Norm | OpFamily::Softmax => Self::Rows,
            OpFamily::Elementwise => Self::Each,
            _ => Self::Other,
        }
    }
}

impl Graph {
    /// Returns, per node, whether it sums products and nothing lets an algorithm do with fewer.
    pub(super) fn needs_products(&self) -> Vec<bool> {
        let steps: Vec<Step> = self.nodes.iter().map(Step::of).collect();
        let mut needed = vec![false; steps.len()];
        // Nodes come after those whose results they take.
        for at in (0..steps.len()).rev() {
            let is_output = self.outputs.iter().any(|value| node_of(value) == Some(at));
            let forces = |user: usize| match steps[user] {
                Step::Each => true,
                Step::Linear | Step::Rows => needed[user],
                Step::Product | Step::Other => false,
            };
            let mut users = (at + 1..steps.len()).filter(|&user| self.takes(user, at));
            needed[at] = is_output || users.any(forces);
        }
        let mut of_product = vec![false; steps.len()];
        for at in 0..steps.len() {
            let takes_one = (0..at).any(|from| of_product[from] && self.takes(at, from));
            let passes = matches!(steps[at], Step::Linear | Step::Rows | Step::Other);
            of_product[at] = steps[at] == Step::Product || (passes && takes_one);
            // A product of a product is reordered where that is cheaper.
            needed[at] &= steps[at] != Step::Product || !takes_one;
        }
        (0..steps.len()).map(|at| steps[at] == Step::Product && needed[at]).collect()
    }

    fn takes(&self, user: usize, from: usize) -> bool {
        self.nodes[user].args.iter().any(|(_, arg)| match arg {
            NodeArg::Tensor(value) => node_of(value) == Some(from),
            NodeArg::Tensors(values) => values.iter().any(|value| node_of(value) == Some(from)),
            _ => false,
        })
    }
}

const fn node_of(value: &Value) -> Option<usize> {
    match value {
        Value::Node { node, .. } => Some(*node),
        Value::Input(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::custom;
    use crate::suite;

    /// Returns the least operations of a graph over `x` and `w` that gives `out`, in products of these.
    fn products(graph: &str) -> f64 {
        let text = format!(
            "format = 1\nname = \"mine\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\n\
            x = \"[n, n]\"\nw = \"[n, n]\"\n[reference]\ngraph = \"\"\"\n{graph}\n\"\"\"\n[[cases]]\nn = 64\n"
        );
        let op = custom(&text).unwrap();
        let suite = suite::of_op(Arc::clone(&op), "test.toml").unwrap().strict().unwrap();
        let cases = suite.cases("mine", None, 3).unwrap();
        op.work(&cases[0]).least_flops / f64::from(2 * 64 * 64 * 64)
    }

    #[test]
    fn a_product_counts_where_each_of_its_elements_is_needed() {
        let counted = [
            ("out = mm(x, w)", 1.0),
            ("h = mm(x, w)\nout = mul(h, 2.0)", 1.0),
            ("h = mm(x, w)\nout = softmax(h, -1)", 1.0),
            ("h = mm(x, w)\ng = gelu(h)\nout = sum(g, [1])", 1.0),
            ("h = mm(x, w)\nout = amax(h, [1])", 1.0),
            ("h = mm(x, w)\ng = relu(h)\nout = mm(g, w)", 2.0),
            // A product with a vector in truth.
            ("h = mm(x, w)\nout = sum(h, [1])", 0.0),
            ("h = mm(x, w)\ng = mul(h, 2.0)\nout = sum(g, [1])", 0.0),
            ("h = mm(x, w)\ns = softmax(h, -1)\nout = sum(s, [1])", 0.0),
            // The second could come first.
            ("h = mm(x, w)\nout = mm(h, w)", 0.0),
        ];
        for (graph, expected) in counted {
            assert!((products(graph) - expected).abs() < 0.01, "{graph}: {}", products(graph));
        }
    }
}
