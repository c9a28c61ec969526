//! `launch`: the rules of the hardware and the arguments.

use kgen_record::{PlanArg, Step};

use super::{
    Problem,
    ast::{Expr, ExprKind},
    call::{Args, Given, MAX_LAUNCHES, at_least},
    eval::Evaluator,
    value::Value,
};
use crate::file::line_of;

impl Evaluator<'_> {
    /// Adds a launch, or drops it where its grid has a 0.
    pub(super) fn launch(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        for (slot, name, default) in [(5, "cluster", 1), (6, "cooperative", 0), (7, "pdl", 0)] {
            if let Some((value, expr)) = args.optional(slot)
                && value.as_int() != Some(default)
            {
                return Err(Problem::new(expr.start, format!("`{name}` is not supported"))
                    .hint("launch several kernels instead; they run in order"));
            }
        }
        let kernel = kernel_name(args)?;
        let grid = extents(args.get(1), "grid", [(1 << 31) - 1, 65_535, 65_535], 0)?;
        let block = extents(args.get(2), "block", [1024, 1024, 64], 1)?;
        let threads: u32 = block.iter().product();
        if threads > 1024 {
            let message = format!("a block has at most 1024 threads, this one {threads}");
            return Err(Problem::new(args.get(2).1.start, message));
        }
        let smem = self.shared_memory(args.optional(3))?;
        let plan_args = self.plan_args(args.optional(4))?;
        self.count_launch(args.call)?;
        let threads =
            grid.iter().fold(u64::from(threads), |all, n| all.saturating_mul((*n).into()));
        self.amounts.threads(threads, self.env, args.call.start)?;
        if !grid.contains(&0) {
            let line = line_of(self.text, args.call.start);
            self.plan.steps.push(Step::Launch { kernel, grid, block, smem, args: plan_args, line });
        }
        Ok(Value::None)
    }

    /// Counts a launch, or a step of a library.
    pub(super) fn count_launch(&mut self, call: &Expr) -> Result<(), Problem> {
        self.launches += 1;
        if self.launches > MAX_LAUNCHES {
            return Err(Problem::new(call.start, format!("more than {MAX_LAUNCHES} launches"))
                .hint("loop inside a kernel"));
        }
        Ok(())
    }

    fn shared_memory(&self, given: Option<&Given<'_>>) -> Result<u32, Problem> {
        let Some(given) = given else { return Ok(0) };
        let bytes = at_least(given, 0)?;
        let max = self.env.smem_max;
        u32::try_from(bytes).ok().filter(|bytes| *bytes <= max).ok_or_else(|| {
            let message = format!("{bytes} bytes of shared memory, the device has {max} per block");
            Problem::new(given.1.start, message).hint("`smem_max` is the limit")
        })
    }

    fn plan_args(&self, given: Option<&Given<'_>>) -> Result<Vec<PlanArg>, Problem> {
        let Some((list, expr)) = given else { return Ok(Vec::new()) };
        let Value::Tuple(items) = list else {
            let message = format!("`args` is a list, found {}", list.kind());
            return Err(Problem::new(expr.start, message).hint("`args=[x, out, n]`"));
        };
        items.iter().enumerate().map(|(index, item)| plan_arg(item, index, expr)).collect()
    }
}

/// Makes the argument of a launch from a value.
fn plan_arg(value: &Value, index: usize, list: &Expr) -> Result<PlanArg, Problem> {
    let offset = match &list.kind {
        ExprKind::Tuple(items) => items.get(index).map_or(list.start, |item| item.start),
        _ => list.start,
    };
    Ok(match value {
        Value::None => PlanArg::Null,
        Value::Bool(value) => PlanArg::Bool { value: *value },
        Value::Int(value) => PlanArg::Int { value: *value },
        Value::Float(value) => PlanArg::Float { value: *value },
        Value::Tensor(tensor) => PlanArg::Pointer {
            buffer: tensor.buffer,
            byte_offset: tensor.byte_offset(),
            dtype: Some(tensor.spec.dtype),
            label: tensor.label.clone(),
        },
        Value::Pointer(pointer) => PlanArg::Pointer {
            buffer: pointer.buffer,
            byte_offset: pointer.byte_offset,
            dtype: None,
            label: String::new(),
        },
        Value::Tuple(_) => {
            return Err(Problem::new(offset, format!("argument {} is a tuple", index + 1))
                .hint("pass its elements one by one: `x.shape[0], x.shape[1]`"));
        }
        Value::Str(_) | Value::DType(_) | Value::Range { .. } => {
            let message = format!("argument {} is {}", index + 1, value.kind());
            return Err(Problem::new(offset, message)
                .hint("kernels take pointers, numbers and bools; make a macro with `define`"));
        }
    })
}

fn kernel_name(args: &Args<'_>) -> Result<String, Problem> {
    let name = args.text(0, "the kernel's name")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:<>,* ".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(plain) || name.len() > 200 {
        return Err(Problem::new(args.get(0).1.start, format!("`{name}` is no kernel's name")));
    }
    Ok(name.to_owned())
}

/// Reads a grid or a block: an integer, or 1 to 3 of them.
fn extents(
    (value, expr): &Given<'_>,
    what: &str,
    max: [i64; 3],
    min: i64,
) -> Result<[u32; 3], Problem> {
    let values: Option<Vec<i64>> = match value {
        Value::Tuple(items) => items.iter().map(Value::as_int).collect(),
        other => other.as_int().map(|value| vec![value]),
    };
    let values = values.filter(|values| (1..=3).contains(&values.len())).ok_or_else(|| {
        let message = format!("`{what}` is an integer or a tuple of 1 to 3 integers");
        Problem::new(expr.start, message)
    })?;
    let mut result = [1; 3];
    for (dim, &extent) in values.iter().enumerate() {
        if extent < min || extent > max[dim] {
            let axis = ["x", "y", "z"][dim];
            let message = format!("`{what}.{axis}` is {extent}, allowed are {min} to {}", max[dim]);
            let problem = Problem::new(expr.start, message);
            return Err(if what == "grid" && dim > 0 && extent > 0 {
                problem.hint("put the long axis into x, or loop in the kernel")
            } else {
                problem
            });
        }
        result[dim] = u32::try_from(extent).expect("it lies between two u32");
    }
    Ok(result)
}
