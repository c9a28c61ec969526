//! Spells the calls of a forward pass.

use crate::log::{Call, LogDType, LogGen, LogTensor, Value};

/// Collects the calls of one model.
#[derive(Debug)]
pub(super) struct Calls {
    dtype: LogDType,
    /// How often what is pushed is called.
    times: u64,
    calls: Vec<Call>,
}

/// A convolution over all spatial dimensions alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conv {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
    pub(super) groups: usize,
    pub(super) bias: bool,
}

impl Conv {
    /// Returns a convolution that keeps the size of an image where its stride is 1.
    pub(super) const fn same(inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Self {
        Self { inputs, outputs, kernel, stride, padding: kernel / 2, groups: 1, bias: false }
    }

    /// Returns the extent of the output along a dimension; 0 where the kernel does not fit.
    pub(super) const fn output(&self, extent: usize) -> usize {
        match (extent + 2 * self.padding).checked_sub(self.kernel) {
            Some(room) => room / self.stride + 1,
            None => 0,
        }
    }
}

pub(super) fn ints(values: &[usize]) -> Value {
    Value::List(values.iter().map(|&value| int(value)).collect())
}

pub(super) fn int(value: usize) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

impl Calls {
    pub(super) const fn new(dtype: LogDType) -> Self {
        Self { dtype, times: 1, calls: Vec::new() }
    }

    pub(super) fn into_calls(self) -> Vec<Call> {
        self.calls
    }

    /// Sets how often what is pushed from now on is called.
    pub(super) const fn times(&mut self, times: u64) {
        self.times = times;
    }

    /// Adds a call of `op` or `op.overload`.
    pub(super) fn push(&mut self, name: &str, args: Vec<Value>) {
        self.push_with(name, args, &[]);
    }

    /// Adds a call with keyword arguments.
    pub(super) fn push_with(&mut self, name: &str, args: Vec<Value>, kwargs: &[(&str, Value)]) {
        let (op, overload) = name.split_once('.').unwrap_or((name, "default"));
        self.calls.push(Call {
            op: op.to_owned(),
            overload: overload.to_owned(),
            count: self.times,
            args,
            kwargs: kwargs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            line: 0,
        });
    }

    /// Returns a contiguous tensor.
    pub(super) fn tensor(&self, shape: &[usize]) -> Value {
        Self::typed(shape, self.dtype)
    }

    fn typed(shape: &[usize], dtype: LogDType) -> Value {
        Value::Tensor(LogTensor {
            shape: shape.to_vec(),
            dtype,
            stride: None,
            offset: 0,
            generator: None,
        })
    }

    /// Returns a contiguous f32 tensor.
    pub(super) fn f32(shape: &[usize]) -> Value {
        Self::typed(shape, LogDType::F32)
    }

    /// Returns indices below a bound.
    pub(super) fn indices(shape: &[usize], bound: usize) -> Value {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        Value::Tensor(LogTensor {
            shape: shape.to_vec(),
            dtype: LogDType::I64,
            stride: None,
            offset: 0,
            generator: Some(LogGen::Index { bound }),
        })
    }

    /// Returns a stack of matrices whose last two dimensions are swapped in memory: `w.mT`.
    pub(super) fn transposed(&self, shape: &[usize]) -> Value {
        let ndim = shape.len();
        let mut swapped = shape.to_vec();
        swapped.swap(ndim - 2, ndim - 1);
        let mut stride = vec![1; ndim];
        for dim in (1..ndim).rev() {
            stride[dim - 1] = stride[dim] * swapped[dim].max(1);
        }
        stride.swap(ndim - 2, ndim - 1);
        Value::Tensor(LogTensor {
            shape: shape.to_vec(),
            dtype: self.dtype,
            stride: Some(stride),
            offset: 0,
            generator: None,
        })
    }

    /// `x W^T`, plus a bias, of a matrix: what a linear layer becomes.
    pub(super) fn matmul(&mut self, rows: usize, inputs: usize, outputs: usize, bias: bool) {
        let (x, weight) = (self.tensor(&[rows, inputs]), self.transposed(&[inputs, outputs]));
        if bias {
            let bias = self.tensor(&[outputs]);
            self.push("addmm", vec![bias, x, weight]);
        } else {
            self.push("mm", vec![x, weight]);
        }
    }

    /// A linear layer as it is written.
    pub(super) fn linear(&mut self, shape: &[usize], inputs: usize, outputs: usize, bias: bool) {
        let x = self.tensor(&[shape, &[inputs]].concat());
        let mut args = vec![x, self.tensor(&[outputs, inputs])];
        if bias {
            args.push(self.tensor(&[outputs]));
        }
        self.push("linear", args);
    }

    pub(super) fn unary(&mut self, name: &str, shape: &[usize]) {
        self.push(name, vec![self.tensor(shape)]);
    }

    pub(super) fn binary(&mut self, name: &str, shape: &[usize], other: &[usize]) {
        self.push(name, vec![self.tensor(shape), self.tensor(other)]);
    }

    pub(super) fn softmax(&mut self, shape: &[usize]) {
        let args = vec![self.tensor(shape), Value::Int(-1), Value::Bool(false)];
        self.push("_softmax", args);
    }

    pub(super) fn layer_norm(&mut self, shape: &[usize], width: usize, eps: f64) {
        let x = self.tensor(&[shape, &[width]].concat());
        let (weight, bias) = (self.tensor(&[width]), self.tensor(&[width]));
        self.push("layer_norm", vec![x, ints(&[width]), weight, bias, Value::Float(eps)]);
    }

    pub(super) fn rms_norm(&mut self, shape: &[usize], width: usize, eps: f64) {
        let x = self.tensor(&[shape, &[width]].concat());
        let weight = self.tensor(&[width]);
        self.push("rms_norm", vec![x, ints(&[width]), weight, Value::Float(eps)]);
    }

    pub(super) fn group_norm(&mut self, shape: &[usize], groups: usize, eps: f64) {
        let channels = shape[1];
        let (weight, bias) = (self.tensor(&[channels]), self.tensor(&[channels]));
        let args = vec![self.tensor(shape), int(groups), weight, bias, Value::Float(eps)];
        self.push("group_norm", args);
    }

    /// Batch normalisation with the statistics that training has left.
    pub(super) fn batch_norm(&mut self, shape: &[usize], eps: f64) {
        let width = [shape[1]];
        let mut args = vec![self.tensor(shape), self.tensor(&width), self.tensor(&width)];
        args.extend([self.tensor(&width), self.tensor(&width)]);
        args.extend([Value::Float(0.1), Value::Float(eps)]);
        self.push("_native_batch_norm_legit_no_training", args);
    }

    /// A convolution of `batch` inputs with the given extents; returns the output's shape.
    pub(super) fn conv(&mut self, batch: usize, extents: &[usize], conv: &Conv) -> Vec<usize> {
        let ndim = extents.len();
        let weight = [&[conv.outputs, conv.inputs / conv.groups][..], &vec![conv.kernel; ndim]];
        let args = vec![
            self.tensor(&[&[batch, conv.inputs], extents].concat()),
            self.tensor(&weight.concat()),
            if conv.bias { self.tensor(&[conv.outputs]) } else { Value::None },
            ints(&vec![conv.stride; ndim]),
            ints(&vec![conv.padding; ndim]),
            ints(&vec![1; ndim]),
            Value::Bool(false),
            ints(&vec![0; ndim]),
            int(conv.groups),
        ];
        self.push("convolution", args);
        let outputs = extents.iter().map(|&extent| conv.output(extent));
        [batch, conv.outputs].into_iter().chain(outputs).collect()
    }
}
