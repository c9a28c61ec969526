//! `launch`: the rules of the hardware and the arguments.

use kgen_record::{LaunchAttributes, PlanArg, Step};

use super::{
    Problem,
    ast::{Expr, ExprKind},
    call::{Args, Given, MAX_LAUNCHES, at_least},
    eval::Evaluator,
    tensor_map::refuse_empty_map,
    value::Value,
};
use crate::file::line_of;

/// Most blocks of a cluster that every GPU with clusters takes.
const MAX_CLUSTER: u32 = 8;

impl Evaluator<'_> {
    /// Adds a launch, or drops it where its grid has a 0.
    pub(super) fn launch(&mut self, args: &Args<'_>) -> Result<Value, Problem> {
        let kernel = kernel_name(args)?;
        let grid = extents(args.get(1), "grid", [(1 << 31) - 1, 65_535, 65_535], 0)?;
        let block = extents(args.get(2), "block", [1024, 1024, 64], 1)?;
        let threads: u32 = block.iter().product();
        if threads > 1024 {
            let message = format!("a block has at most 1024 threads, this one {threads}");
            return Err(Problem::new(args.get(2).1.start, message));
        }
        let smem = self.shared_memory(args.optional(3))?;
        let attributes = self.attributes(args, grid)?;
        let plan_args = self.plan_args(args.optional(4), grid.contains(&0))?;
        self.count_launch(args.call)?;
        let threads =
            grid.iter().fold(u64::from(threads), |all, n| all.saturating_mul((*n).into()));
        self.amounts.threads(threads, self.env, args.call.start)?;
        if !grid.contains(&0) {
            let line = line_of(self.text, args.call.start);
            let args = plan_args;
            let step = Step::Launch { kernel, grid, block, smem, args, line, attributes };
            self.plan.steps.push(step);
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

    /// Reads `cluster`, `cooperative` and `pdl`.
    fn attributes(&self, args: &Args<'_>, grid: [u32; 3]) -> Result<LaunchAttributes, Problem> {
        const PDL: usize = 7;
        let cluster = match args.optional(5) {
            None | Some((Value::None, _)) => None,
            Some(given) => self.cluster(given, grid)?,
        };
        let cooperative = args.flag(6)?;
        let mut pdl = args.flag(PDL)?;
        if pdl {
            self.needs_sm_90("pdl", args.get(PDL).1, "pdl=cc >= 90")?;
            // Only a launch of the plan's own may be overlapped: what runs before the plan is not its work.
            pdl = matches!(self.plan.steps.last(), Some(Step::Launch { .. }));
        }
        Ok(LaunchAttributes { cluster, pdl, cooperative })
    }

    /// Reads the extents of a cluster, which must divide the grid; one of a single block is none.
    fn cluster(&self, given: &Given<'_>, grid: [u32; 3]) -> Result<Option<[u32; 3]>, Problem> {
        let cluster = extents(given, "cluster", [16; 3], 1)?;
        let at = given.1.start;
        let blocks: u32 = cluster.iter().product();
        if blocks == 1 {
            return Ok(None);
        }
        self.needs_sm_90("cluster", given.1, "cluster=2 if cc >= 90 else 1")?;
        if blocks > MAX_CLUSTER {
            let message = format!("a cluster has at most {MAX_CLUSTER} blocks, this one {blocks}");
            return Err(Problem::new(at, message).hint(
                "up to 16 blocks are a non-portable size, which kgen does not ask the driver for",
            ));
        }
        for (dim, (grid, cluster)) in grid.into_iter().zip(cluster).enumerate() {
            if grid % cluster != 0 {
                let axis = ["x", "y", "z"][dim];
                let message =
                    format!("`grid.{axis}` is {grid}, no multiple of the cluster's {cluster}");
                return Err(Problem::new(at, message)
                    .hint("round it up with `align_up`, and let the blocks beyond do nothing"));
            }
        }
        Ok(Some(cluster))
    }

    /// Refuses a feature that the device is too old for; `choice` is the way to use it where it is there.
    pub(super) fn needs_sm_90(&self, name: &str, at: &Expr, choice: &str) -> Result<(), Problem> {
        let (major, minor) = self.env.compute_capability;
        if major >= 9 {
            return Ok(());
        }
        let message = format!("`{name}` needs sm_90, this device is sm_{major}{minor}");
        Err(Problem::new(at.start, message).hint(format!("ask for it where it is: `{choice}`")))
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

    fn plan_args(&self, given: Option<&Given<'_>>, dropped: bool) -> Result<Vec<PlanArg>, Problem> {
        let Some((list, expr)) = given else { return Ok(Vec::new()) };
        let Value::Tuple(items) = list else {
            let message = format!("`args` is a list, found {}", list.kind());
            return Err(Problem::new(expr.start, message).hint("`args=[x, out, n]`"));
        };
        if !dropped {
            items.iter().try_for_each(refuse_empty_map)?;
        }
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
        Value::TensorMap(map) => PlanArg::TensorMap {
            buffer: map.buffer,
            byte_offset: map.byte_offset,
            map: Box::new(map.map.clone()),
            label: map.label.clone(),
        },
        Value::Tuple(_) => {
            return Err(Problem::new(offset, format!("argument {} is a tuple", index + 1))
                .hint("pass its elements one by one: `x.shape[0], x.shape[1]`"));
        }
        Value::Str(_) | Value::DType(_) | Value::Range { .. } => {
            let message = format!("argument {} is {}", index + 1, value.kind());
            return Err(Problem::new(offset, message).hint(
                "kernels take pointers, numbers, bools and tensor maps; make a macro with `define`",
            ));
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
