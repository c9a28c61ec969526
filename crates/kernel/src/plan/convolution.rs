//! The library step `convolution`.

use kgen_record::{Convolution, Step};

use super::{
    Problem,
    call::{Args, Given, at_least},
    eval::Evaluator,
    library::{extent, factor_type},
    value::Value,
};
use crate::file::line_of;

impl Evaluator<'_> {
    /// Adds a convolution.
    pub(super) fn convolution(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let precision = self.library_precision(args)?;
        let dtype = factor_type(args, None)?;
        let (Value::Tensor(w), expr) = args.get(1) else {
            let message =
                format!("`w` of `convolution` is a tensor, found {}", args.get(1).0.kind());
            return Err(Problem::new(args.get(1).1.start, message));
        };
        let weight_shape = w.spec.shape.clone();
        let spatial = weight_shape.len().saturating_sub(2);
        let mut input_shape = input_shape(args)?;
        if input_shape.len() == spatial + 1 {
            // As in PyTorch, a batch of one may go without its dimension.
            input_shape.insert(0, 1);
        }
        if input_shape.len() != weight_shape.len() || !(1..=3).contains(&spatial) {
            let message = format!(
                "`convolution` takes [n, c, ..] and [c_out, c / groups, ..] with 1 to 3 spatial extents, \
                 found {input_shape:?} and {weight_shape:?}"
            );
            return Err(Problem::new(expr.start, message));
        }
        let stride = per_dimension(args.optional(3), spatial, 1, 1)?;
        let padding = per_dimension(args.optional(4), spatial, 0, 0)?;
        let dilation = per_dimension(args.optional(5), spatial, 1, 1)?;
        let groups = args.optional(6).map_or(Ok(1), extent)?;
        let fits = weight_shape[1].checked_mul(groups) == Some(input_shape[1])
            && groups > 0
            && weight_shape[0] % groups == 0;
        if !fits {
            let message = format!(
                "{groups} groups do not fit an input {input_shape:?} and a weight {weight_shape:?}"
            );
            return Err(Problem::new(expr.start, message));
        }
        let mut out_shape = vec![input_shape[0], weight_shape[0]];
        for dim in 0..spatial {
            let (size, kernel) = (input_shape[2 + dim], weight_shape[2 + dim]);
            let padded = size + 2 * padding[dim];
            let reach = dilation[dim] * kernel.saturating_sub(1) + 1;
            let Some(left) = padded.checked_sub(reach).filter(|_| kernel > 0) else {
                let message =
                    format!("a kernel that reaches over {reach} does not fit {padded} elements");
                return Err(Problem::new(expr.start, message));
            };
            out_shape.push(left / stride[dim] + 1);
        }
        let input = self.operand(args, 0, dtype, &input_shape)?;
        let weight = self.operand(args, 1, dtype, &weight_shape)?;
        let out = self.result(args, [dtype; 2], &out_shape, [&input, &weight])?;
        if let (Value::Tensor(given), expr) = args.get(2)
            && given.spec.numel() != out_shape.iter().product::<usize>()
        {
            let message =
                format!("`convolution` gives {out_shape:?}, and `out` is {:?}", given.spec.shape);
            return Err(Problem::new(expr.start, message));
        }
        self.count_launch(args.call)?;
        if out_shape.contains(&0) {
            return Ok(Value::None);
        }
        if input_shape[1] == 0 {
            return Err(Problem::new(expr.start, "a convolution without channels"));
        }
        let call = Convolution {
            dtype,
            input: input.at,
            input_shape,
            weight: weight.at,
            weight_shape,
            out: out.at,
            out_shape,
            stride,
            padding,
            dilation,
            groups,
            tf32: precision.shortens_convolution(),
            line: line_of(self.text, args.call.start),
        };
        self.plan.steps.push(Step::Convolution { call: Box::new(call) });
        Ok(Value::None)
    }
}

/// Returns the shape of the input: the argument `shape`, else that of the tensor.
fn input_shape(args: &Args<'_>) -> Result<Vec<usize>, Problem> {
    match (args.optional(7), args.get(0)) {
        (Some((Value::Tuple(items), expr)), _) => {
            items.iter().map(|item| extent(&(item.clone(), *expr))).collect()
        }
        (Some((other, expr)), _) if !matches!(other, Value::None) => {
            let message = format!("`shape` is a tuple of extents, found {}", other.kind());
            Err(Problem::new(expr.start, message))
        }
        (_, (Value::Tensor(tensor), _)) => Ok(tensor.spec.shape.clone()),
        (_, (_, expr)) => {
            Err(Problem::new(expr.start, "`convolution` does not know the shape of `x`")
                .hint("add `shape=(n, c, h, w)`"))
        }
    }
}

/// Reads one number for all spatial dimensions, or one for each.
fn per_dimension(
    given: Option<&Given<'_>>,
    spatial: usize,
    default: usize,
    min: i64,
) -> Result<Vec<usize>, Problem> {
    let Some((value, expr)) = given else { return Ok(vec![default; spatial]) };
    let one = |item: &Value| {
        let item = (item.clone(), *expr);
        at_least(&item, min)?;
        extent(&item)
    };
    match value {
        Value::Tuple(items) if items.len() == spatial => items.iter().map(one).collect(),
        Value::Tuple(items) if items.len() == 1 => Ok(vec![one(&items[0])?; spatial]),
        Value::Tuple(items) => {
            let message = format!("{} numbers for {spatial} spatial dimensions", items.len());
            Err(Problem::new(expr.start, message))
        }
        number => Ok(vec![one(number)?; spatial]),
    }
}
