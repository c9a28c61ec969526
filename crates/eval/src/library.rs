//! Programs that call a library of NVIDIA's: matrix products by cuBLASLt.
//!
//! Such a program is a plan that kgen writes itself: copies of the operands that a product cannot
//! take as they lie, and the product. Judge and timing treat it as any other.

use kgen_baseline::CUBLAS;
use kgen_record::{
    ArgValue, BufferOffset, BufferRef, Case, DType, Gemm, Matrix, Precision, ResolvedPlan, Scratch,
    Step, TensorSpec, View,
};

use super::{CaseProgram, Error, Job};

/// Indices of cases, each with why it is not computed.
type Refused = Vec<(usize, String)>;

/// Returns the programs of the cases that the library can compute, and why it cannot compute others.
pub(super) fn programs(
    job: &Job<'_>,
    library: &str,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<(Vec<CaseProgram>, Refused), Error> {
    let op = &job.op;
    let (mut programs, mut refused) = (Vec::new(), Vec::new());
    for (case, arguments) in job.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
        let outputs = op.infer(arguments)?;
        let planned = if library == CUBLAS {
            Planner::new(arguments, job.precision).plan(&op.name, &outputs)
        } else {
            Err(Refusal(format!("there is no library `{library}`")))
        };
        match planned {
            Ok(plan) => {
                let bound = plan.steps.iter().map(|_| None).collect();
                programs.push(CaseProgram { case, variant: 0, plan, bound });
            }
            Err(Refusal(why)) => refused.push((case, why)),
        }
    }
    Ok((programs, refused))
}

/// Why the library does not take a case.
#[derive(Debug, PartialEq, Eq)]
struct Refusal(String);

fn refuse<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(why.into()))
}

/// An operand: a view of an input, or a copy of one.
#[derive(Debug, Clone)]
struct Operand {
    buffer: BufferRef,
    spec: TensorSpec,
}

impl Operand {
    fn place(&self) -> BufferOffset<BufferRef> {
        let byte_offset = self.spec.offset * self.spec.dtype.size();
        BufferOffset { buffer: self.buffer, byte_offset }
    }

    /// Returns it as the library sees it; `None` where it must be copied first.
    fn lying(&self) -> Option<Matrix<BufferRef>> {
        lying(&self.spec, self.place())
    }
}

/// Factors of the product and of the addend.
type Factors = (f64, f64);

/// Writes the plan of one case.
struct Planner<'a> {
    case: &'a Case,
    precision: Precision,
    plan: ResolvedPlan,
}

impl<'a> Planner<'a> {
    fn new(case: &'a Case, precision: Precision) -> Self {
        Self { case, precision, plan: ResolvedPlan::default() }
    }

    fn plan(mut self, op: &str, outputs: &[TensorSpec]) -> Result<ResolvedPlan, Refusal> {
        let [out] = outputs else { return refuse("it has several outputs") };
        match op {
            "mm" | "bmm" => {
                let (left, right) = (self.input("self")?, self.input("mat2")?);
                self.product(left, right, None, (1.0, 0.0), out)?;
            }
            "addmm" | "baddbmm" => {
                let names = if op == "addmm" { ("mat1", "mat2") } else { ("batch1", "batch2") };
                let (left, right) = (self.input(names.0)?, self.input(names.1)?);
                let factors = (self.number("alpha")?, self.number("beta")?);
                let addend = self.input("self")?;
                self.product(left, right, Some(addend), factors, out)?;
            }
            "linear" => self.linear(out)?,
            "mv" => {
                let (left, mut right) = (self.input("self")?, self.input("vec")?);
                right.spec.shape.push(1);
                right.spec.stride.push(1);
                self.product(left, right, None, (1.0, 0.0), out)?;
            }
            _ => return refuse(format!("{CUBLAS} computes no `{op}`")),
        }
        Ok(self.plan)
    }

    fn linear(&mut self, out: &TensorSpec) -> Result<(), Refusal> {
        let (mut left, mut right) = (self.input("input")?, self.input("weight")?);
        if right.spec.ndim() == 1 {
            right.spec.shape.insert(0, 1);
            right.spec.stride.insert(0, 1);
        }
        right.spec.shape.reverse();
        right.spec.stride.reverse();
        if left.spec.ndim() != 2 {
            if !left.spec.is_contiguous() {
                left = self.copied(left);
            }
            let k = right.spec.shape[0];
            let rows = left.spec.shape.iter().rev().skip(1).product();
            let rows_of = TensorSpec::contiguous(left.spec.dtype, &[rows, k]);
            left.spec = TensorSpec { offset: left.spec.offset, ..rows_of };
        }
        let bias = self.case.tensor("bias").map(|_| self.input("bias")).transpose()?;
        let beta = if bias.is_some() { 1.0 } else { 0.0 };
        self.product(left, right, bias, (1.0, beta), out)
    }

    fn input(&self, name: &str) -> Result<Operand, Refusal> {
        let mut tensors = self.case.tensors().enumerate();
        let found = tensors.find(|(_, (known, _))| known == name);
        let Some((input, (_, tensor))) = found else { return refuse(format!("no `{name}`")) };
        Ok(Operand { buffer: BufferRef::Input(input), spec: tensor.spec.clone() })
    }

    fn number(&self, name: &str) -> Result<f64, Refusal> {
        match self.case.arg(name) {
            #[expect(clippy::cast_precision_loss, reason = "a factor is small")]
            Some(ArgValue::Int(value)) => Ok(*value as f64),
            Some(ArgValue::Float(value)) => Ok(*value),
            Some(ArgValue::Bool(value)) => Ok(f64::from(u8::from(*value))),
            _ => refuse(format!("`{name}` is no number")),
        }
    }

    /// Adds the steps of a product; its shape is that of the factors, which fits that of `out`.
    fn product(
        &mut self,
        left: Operand,
        right: Operand,
        addend: Option<Operand>,
        (alpha, beta): Factors,
        out: &TensorSpec,
    ) -> Result<(), Refusal> {
        let dtype = out.dtype;
        let operands = [Some(&left), Some(&right), addend.as_ref()];
        if operands.into_iter().flatten().any(|operand| operand.spec.dtype != dtype) {
            return refuse("its tensors have different types");
        }
        if !matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16) {
            return refuse(format!("{CUBLAS} does not compute in {dtype} here"));
        }
        let rank = left.spec.ndim();
        let (m, k) = (left.spec.shape[rank - 2], left.spec.shape[rank - 1]);
        let n = right.spec.shape[rank - 1];
        let batch = if rank == 3 { left.spec.shape[0] } else { 1 };
        // Where the addend does not count it is not read: NaN in it stays out of the result.
        let addend = addend.filter(|_| beta != 0.0);
        if m * n * batch == 0 {
            return Ok(());
        }
        if k == 0 {
            if addend.is_some() {
                return refuse("the product is empty, only the addend counts");
            }
            self.plan.steps.push(Step::Fill { target: BufferRef::Output(0), byte: 0 });
            return Ok(());
        }
        let left = self.matrix(left);
        let right = self.matrix(right);
        let (addend, bias) = match addend {
            None => (None, None),
            Some(row) if is_one(beta) && batch == 1 && is_bias(&row.spec, [n, k]) => {
                (None, Some(row.place()))
            }
            Some(addend) => (Some(self.addend(addend, [batch, m, n], rank)?), None),
        };
        let call = Gemm {
            dtype,
            out_dtype: dtype,
            m,
            n,
            k,
            batch,
            left,
            right,
            out: Matrix {
                at: BufferOffset { buffer: BufferRef::Output(0), byte_offset: 0 },
                row_major: true,
                ld: n,
                batch_stride: m * n,
            },
            addend,
            bias,
            alpha,
            beta: if addend.is_some() { beta } else { 0.0 },
            tf32: self.precision.shortens_matmul(),
            line: None,
        };
        self.plan.steps.push(Step::Gemm { call: Box::new(call) });
        Ok(())
    }

    /// Returns a factor as the library takes it, copied where it lies otherwise.
    fn matrix(&mut self, operand: Operand) -> Matrix<BufferRef> {
        let found = operand.lying();
        found.unwrap_or_else(|| self.copied(operand).lying().expect("a copy lies without gaps"))
    }

    /// Returns the addend as a row-major `[batch, m, n]`.
    fn addend(
        &mut self,
        mut operand: Operand,
        [batch, m, n]: [usize; 3],
        rank: usize,
    ) -> Result<Matrix<BufferRef>, Refusal> {
        let shape = if rank == 3 { vec![batch, m, n] } else { vec![m, n] };
        let Some(lead) = shape.len().checked_sub(operand.spec.ndim()) else {
            return refuse("the addend has too many dimensions");
        };
        let mut stride = vec![0; shape.len()];
        for (dim, &extent) in operand.spec.shape.iter().enumerate() {
            if extent == shape[lead + dim] {
                stride[lead + dim] = operand.spec.stride[dim];
            }
        }
        operand.spec.shape = shape;
        operand.spec.stride = stride;
        let found = operand.lying().filter(|matrix| matrix.row_major);
        Ok(found.unwrap_or_else(|| self.copied(operand).lying().expect("a copy lies by rows")))
    }

    /// Adds a copy of an operand; returns the copy.
    fn copied(&mut self, operand: Operand) -> Operand {
        let spec = TensorSpec::contiguous(operand.spec.dtype, &operand.spec.shape);
        let target = BufferRef::Scratch(self.plan.scratch.len());
        let element_bytes = spec.dtype.size();
        self.plan.scratch.push(Scratch {
            label: "copy".to_owned(),
            bytes: spec.storage_bytes() as u64,
            element_bytes,
            zero: false,
        });
        let source = View { buffer: operand.buffer, spec: operand.spec };
        self.plan.steps.push(Step::Copy { source, target });
        Operand { buffer: target, spec }
    }
}

fn is_one(factor: f64) -> bool {
    factor.to_bits() == 1.0_f64.to_bits()
}

/// Returns whether an addend is one row of `n` neighbouring elements that the library may add.
///
/// Where 16-bit rows do not begin at 16 bytes it rounds the product before it adds the row, and then
/// again; an addend of full size is added before anything is rounded.
fn is_bias(spec: &TensorSpec, [n, k]: [usize; 2]) -> bool {
    let rounds_once = spec.dtype.size() > 2 || (n % 8 == 0 && k % 8 == 0);
    let is_row = spec.numel() == n && spec.shape.last() == Some(&n) && spec.is_contiguous();
    is_row && rounds_once
}

/// Returns a matrix, or a batch of them, as the library sees it; `None` where neither its rows nor
/// its columns lie without gaps and apart.
fn lying(spec: &TensorSpec, at: BufferOffset<BufferRef>) -> Option<Matrix<BufferRef>> {
    let rank = spec.ndim();
    let (rows, columns) = (spec.shape[rank - 2], spec.shape[rank - 1]);
    let (down, right) = (spec.stride[rank - 2], spec.stride[rank - 1]);
    let batch_stride = if rank == 3 { spec.stride[0] } else { 0 };
    let lead = |stride: usize, extent: usize, count: usize| {
        // The stride of a dimension of extent 1 means nothing.
        let ld = if count == 1 { extent } else { stride };
        (ld >= extent.max(1)).then_some(ld)
    };
    let by_rows = (right == 1 || columns == 1).then(|| lead(down, columns, rows)).flatten();
    let by_columns = (down == 1 || rows == 1).then(|| lead(right, rows, columns)).flatten();
    let (row_major, ld) = match (by_rows, by_columns) {
        (Some(ld), _) => (true, ld),
        (None, Some(ld)) => (false, ld),
        (None, None) => return None,
    };
    Some(Matrix { at, row_major, ld, batch_stride })
}

#[cfg(test)]
mod tests;
