//! Steps of libraries, computed on the host by the catalogue's references, in f64 and rounded once.

use kgen_ops::{
    op,
    reference::{self, Reference},
};
use kgen_record::{
    Arg, ArgValue, BufferOffset, Case, CaseClass, Convolution, DType, Fault, Finding, Gemm, Gen,
    HostTensor, InputDistribution, Matrix, TensorArg, TensorSpec, Verdict, tensor,
};
use ptx_emu::FindingKind;

use super::{EmuDevice, span};
use crate::{BufferId, LaunchError};

/// A tensor that a step reads or writes.
struct Operand {
    buffer: BufferId,
    /// Its layout; the offset counts elements from the buffer's first byte.
    spec: TensorSpec,
}

impl Operand {
    fn matrix(matrix: &Matrix<BufferId>, dtype: DType, [batch, rows, columns]: [usize; 3]) -> Self {
        let (down, right) = if matrix.row_major { (matrix.ld, 1) } else { (1, matrix.ld) };
        let BufferOffset { buffer, byte_offset } = matrix.at;
        let spec = TensorSpec {
            dtype,
            shape: vec![batch, rows, columns],
            stride: vec![matrix.batch_stride, down, right],
            offset: byte_offset / dtype.size(),
        };
        Self { buffer, spec }
    }

    fn dense(at: BufferOffset<BufferId>, dtype: DType, shape: &[usize]) -> Self {
        let offset = at.byte_offset / dtype.size();
        Self {
            buffer: at.buffer,
            spec: TensorSpec { offset, ..TensorSpec::contiguous(dtype, shape) },
        }
    }
}

/// A step as findings name it: the plan's function and its line.
struct Step {
    name: &'static str,
    line: Option<u32>,
}

impl EmuDevice {
    /// Computes `alpha * left @ right + beta * addend`.
    pub(super) fn matrix_product(&mut self, call: &Gemm<BufferId>) -> Result<(), LaunchError> {
        let step = Step { name: "matmul", line: call.line };
        let &Gemm { dtype, out_dtype, m, n, k, batch, .. } = call;
        self.spend(&[m, n, k, batch])?;
        let shape = [batch, m, n];
        let addend = call.addend.as_ref();
        let addend = addend.map(|addend| Operand::matrix(addend, out_dtype, shape));
        let addend = addend.map(|addend| self.read_operand(&step, addend)).transpose()?;
        let mut values = vec![0.0; batch * m * n];
        // Factors that do not count are not read: NaN in them stays out of the result.
        if k > 0 && call.alpha != 0.0 {
            let left = Operand::matrix(&call.left, dtype, [batch, m, k]);
            let right = Operand::matrix(&call.right, dtype, [batch, k, n]);
            let left = self.read_operand(&step, left)?;
            let right = self.read_operand(&step, right)?;
            let product = evaluate("bmm", vec![("self", left), ("mat2", right)], Vec::new());
            let product = product.map_err(|error| refused(&step, &error))?;
            values = product.iter().map(|value| call.alpha * value).collect();
        }
        if let Some(addend) = addend {
            for (value, at) in values.iter_mut().zip(addend.spec.storage_indices()) {
                *value += call.beta * addend.get(at);
            }
        }
        self.write_result(&Operand::matrix(&call.out, out_dtype, shape), &values);
        Ok(())
    }

    /// Computes a convolution without a bias.
    pub(super) fn convolve(&mut self, call: &Convolution<BufferId>) -> Result<(), LaunchError> {
        let step = Step { name: "convolution", line: Some(call.line) };
        let factors = call.out_shape.iter().chain(&call.weight_shape[1..]);
        self.spend(&factors.copied().collect::<Vec<_>>())?;
        let dense = |at, shape| Operand::dense(at, call.dtype, shape);
        let input = self.read_operand(&step, dense(call.input, &call.input_shape))?;
        let weight = self.read_operand(&step, dense(call.weight, &call.weight_shape))?;
        let numbers = |values: &[usize]| {
            ArgValue::Ints(
                values.iter().map(|&value| i64::try_from(value).unwrap_or(i64::MAX)).collect(),
            )
        };
        let others = vec![
            ("bias", ArgValue::None),
            ("stride", numbers(&call.stride)),
            ("padding", numbers(&call.padding)),
            ("dilation", numbers(&call.dilation)),
            ("transposed", ArgValue::Bool(false)),
            ("output_padding", numbers(&vec![0; call.stride.len()])),
            ("groups", ArgValue::Int(i64::try_from(call.groups).unwrap_or(i64::MAX))),
        ];
        let sums = evaluate("convolution", vec![("input", input), ("weight", weight)], others);
        let sums = sums.map_err(|error| refused(&step, &error))?;
        self.write_result(&dense(call.out, &call.out_shape), &sums.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    /// Takes multiplications from the budget, each as one lane instruction.
    fn spend(&mut self, extents: &[usize]) -> Result<(), LaunchError> {
        let products = extents.iter().fold(1_u64, |all, &extent| all.saturating_mul(extent as u64));
        if products > self.budget {
            self.budget = 0;
            let reason = format!("a step of a library takes {products} products");
            return Err(LaunchError::Budget { reason, endless: false });
        }
        self.budget -= products;
        self.observed.lane_instructions += products;
        Ok(())
    }

    /// Reads an operand, all of whose elements must have been written.
    fn read_operand(&self, step: &Step, operand: Operand) -> Result<HostTensor, LaunchError> {
        let raw = self.buffer(operand.buffer).raw;
        let size = operand.spec.dtype.size();
        if self.options.checks.initialisation {
            for element in operand.spec.storage_indices() {
                if self.emulator.uninitialised(raw, element * size..(element + 1) * size).is_some()
                {
                    return Err(uninitialised(step, self.emulator.label(raw), element));
                }
            }
        }
        let storage = self.emulator.bytes(raw)[..operand.spec.storage_bytes()].to_vec();
        Ok(HostTensor { spec: operand.spec, storage })
    }

    /// Writes a result without gaps, each value rounded to its type.
    fn write_result(&mut self, out: &Operand, values: &[f64]) {
        let (raw, size) = (self.buffer(out.buffer).raw, out.spec.dtype.size());
        let mut bytes = vec![0; values.len() * size];
        for (value, bytes) in values.iter().zip(bytes.chunks_mut(size)) {
            tensor::encode(out.spec.dtype, *value, bytes);
        }
        self.emulator.write_as_kernel(raw, out.spec.offset * size, &bytes);
    }
}

/// Evaluates an op of the catalogue on tensors and further arguments; its one output, row-major.
fn evaluate(
    op: &str,
    tensors: Vec<(&str, HostTensor)>,
    others: Vec<(&str, ArgValue)>,
) -> Result<op::Array, reference::Error> {
    let op = op::find(op).expect("the op is of the catalogue");
    let dtype = tensors[0].1.spec.dtype;
    let (names, hosts): (Vec<&str>, Vec<HostTensor>) = tensors.into_iter().unzip();
    let tensors = names.into_iter().zip(&hosts).map(|(name, host)| {
        let generator = Gen::Constant { value: 0.0 };
        (name, ArgValue::Tensor(TensorArg { spec: host.spec.clone(), generator }))
    });
    let args = tensors.chain(others);
    let case = Case {
        id: "step".to_owned(),
        op: op.name.clone(),
        count: None,
        dtype,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
        args: args.map(|(name, value)| Arg { name: name.to_owned(), value }).collect(),
    };
    Ok(Reference::new(op, &case, &hosts)?.evaluate()?.swap_remove(0))
}

fn refused(step: &Step, error: &reference::Error) -> LaunchError {
    let finding = Finding::new(format!("`{}` cannot be computed: {error}", step.name));
    LaunchError::verdict(Verdict::PlanError, Finding { span: span(step.line), ..finding })
}

fn uninitialised(step: &Step, buffer: &str, element: usize) -> LaunchError {
    let message = format!("`{}` reads `{buffer}`[{element}], which nobody wrote", step.name);
    let fault = Fault {
        kind: FindingKind::UninitialisedRead.name().to_owned(),
        kernel: step.name.to_owned(),
        line: step.line,
        instruction: None,
        block: None,
        thread: None,
        buffer: Some(buffer.to_owned()),
        element: i64::try_from(element).ok(),
        buffer_elements: None,
        n_threads: 1,
        elements: None,
        other: None,
        message: message.clone(),
    };
    let finding = Finding { span: span(step.line), fault: Some(fault), ..Finding::new(message) };
    LaunchError::verdict(Verdict::Uninitialised, finding)
}
