//! Gradients of convolutions: sums of products over the same pairs of places that the forward op has.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{
        super::{Array, Call, Engine, ExactLimits, InferError, Inputs, Role, Shaped},
        conv::{Geometry, exact_magnitude, split},
        sum::Sum,
    },
    N_GRADIENTS, check, masked, output_mask,
};

/// Gradients of input, weight and bias.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConvBackward;

/// Places of output, kernel and input that belong together.
type Tap = [usize; 3];

fn geometry(call: &Call<'_>) -> Result<Geometry, InferError> {
    let transposed = call.bool("transposed")?;
    let extra = call.ints("output_padding")?;
    if !transposed && extra.iter().any(|&one| one != 0) {
        let wanted = "0, as the convolution is not transposed";
        return Err(InferError::value("output_padding", format!("{extra:?}"), wanted));
    }
    Geometry::of(call, None, transposed)
}

fn taps(geometry: &Geometry) -> Vec<Tap> {
    let [_, height, width] = geometry.input;
    let mut taps = Vec::new();
    for output in 0..geometry.output.iter().product() {
        for kernel in 0..geometry.kernel_len() {
            let (at, of) = (split(output, geometry.output), split(kernel, geometry.kernel));
            if let Some([z, y, x]) = geometry.source(at, of) {
                taps.push([output, kernel, (z * height + y) * width + x]);
            }
        }
    }
    taps
}

/// Elements of a spatial volume.
struct Lengths {
    input: usize,
    output: usize,
    kernel: usize,
    in_channels: usize,
    out_channels: usize,
}

impl Lengths {
    fn of(geometry: &Geometry) -> Self {
        Self {
            input: geometry.input.iter().product(),
            output: geometry.output.iter().product(),
            kernel: geometry.kernel_len(),
            in_channels: geometry.groups * geometry.in_channels,
            out_channels: geometry.groups * geometry.out_channels,
        }
    }
}

/// Values of the three tensors, and the sums over all pairs.
struct Products<'a> {
    geometry: &'a Geometry,
    len: Lengths,
    taps: Vec<Tap>,
    grad: Vec<f64>,
    x: Vec<f64>,
    weight: Vec<f64>,
}

impl<'a> Products<'a> {
    /// Reads the tensors, after a function of each element.
    fn read(
        geometry: &'a Geometry,
        inputs: &Inputs<'_>,
        of: impl Fn(f64) -> f64,
    ) -> Result<Self, Error> {
        let values = |name: &str| -> Result<Vec<f64>, Error> {
            Ok(inputs.get(name)?.array().iter().map(|&x| of(x)).collect())
        };
        let [grad, x, weight] = [values("grad_output")?, values("input")?, values("weight")?];
        Ok(Self { geometry, len: Lengths::of(geometry), taps: taps(geometry), grad, x, weight })
    }

    /// Returns where the kernel of a pair of channels begins.
    fn kernel(&self, group: usize, input: usize, output: usize) -> usize {
        let Geometry { in_channels, out_channels, transposed, .. } = *self.geometry;
        let pair = if transposed {
            (group * in_channels + input) * out_channels + output
        } else {
            (group * out_channels + output) * in_channels + input
        };
        pair * self.len.kernel
    }

    /// Returns the gradients of an input channel, per batch, and of its kernels.
    fn channel(&self, channel: usize) -> (Vec<f64>, Vec<f64>) {
        let Geometry { in_channels, out_channels, batch, .. } = *self.geometry;
        let (group, input) = (channel / in_channels, channel % in_channels);
        let mut of_input = vec![0.0; batch * self.len.input];
        let mut of_weight = vec![0.0; out_channels * self.len.kernel];
        for n in 0..batch {
            let from = (n * self.len.in_channels + channel) * self.len.input;
            let x = &self.x[from..][..self.len.input];
            let dx = &mut of_input[n * self.len.input..][..self.len.input];
            for output in 0..out_channels {
                let plane = n * self.len.out_channels + group * out_channels + output;
                let grad = &self.grad[plane * self.len.output..][..self.len.output];
                let weight = &self.weight[self.kernel(group, input, output)..][..self.len.kernel];
                let dw = &mut of_weight[output * self.len.kernel..][..self.len.kernel];
                for &[at, kernel, source] in &self.taps {
                    dx[source] += grad[at] * weight[kernel];
                    dw[kernel] += grad[at] * x[source];
                }
            }
        }
        (of_input, of_weight)
    }

    /// Returns the gradients in memory order: of input, weight and bias.
    fn gradients(&self) -> [Vec<f64>; N_GRADIENTS] {
        let Geometry { in_channels, out_channels, batch, .. } = *self.geometry;
        let channels = parallel::map(self.len.in_channels, &|channel| self.channel(channel));
        let mut of_input = vec![0.0; self.x.len()];
        let mut of_weight = vec![0.0; self.weight.len()];
        for (channel, (dx, dw)) in channels.iter().enumerate() {
            for n in 0..batch {
                let to = (n * self.len.in_channels + channel) * self.len.input;
                of_input[to..][..self.len.input]
                    .copy_from_slice(&dx[n * self.len.input..][..self.len.input]);
            }
            for output in 0..out_channels {
                let to = self.kernel(channel / in_channels, channel % in_channels, output);
                of_weight[to..][..self.len.kernel]
                    .copy_from_slice(&dw[output * self.len.kernel..][..self.len.kernel]);
            }
        }
        let mut sums = vec![Sum::default(); self.len.out_channels];
        for (index, &grad) in self.grad.iter().enumerate() {
            sums[index / self.len.output % self.len.out_channels].add(grad);
        }
        [of_input, of_weight, sums.into_iter().map(Sum::value).collect()]
    }
}

fn outputs(
    call: &Call<'_>,
    gradients: [Vec<f64>; N_GRADIENTS],
    finish: impl Fn(usize, f64) -> f64,
) -> Result<Vec<Array>, Error> {
    let shapes = ConvBackward.infer(call)?;
    let finished =
        shapes.into_iter().zip(gradients).enumerate().map(|(output, ((_, shape), values))| {
            let n = shape.iter().product();
            let values = values.into_iter().take(n).map(|value| finish(output, value)).collect();
            Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")
        });
    Ok(finished.collect())
}

impl Engine for ConvBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let geometry = geometry(call)?;
        let dtype = super::super::reduce::floating(call, "input")?.dtype;
        check("grad_output", call.tensor("grad_output")?, dtype, &geometry.shaped().1)?;
        let channels = geometry.groups * geometry.out_channels;
        match call.opt_ints("bias_sizes")? {
            Some(sizes)
                if sizes != [0]
                    && usize::try_from(sizes.iter().product::<i64>()) != Ok(channels) =>
            {
                return Err(InferError::value(
                    "bias_sizes",
                    format!("{sizes:?}"),
                    format!("[{channels}]"),
                ));
            }
            _ => {}
        }
        let of = |name: &str| call.tensor(name).map(|spec| (dtype, spec.shape.clone()));
        Ok(masked(output_mask(call)?, [of("input")?, of("weight")?, (dtype, vec![channels])]))
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let geometry = geometry(call)?;
        outputs(call, Products::read(&geometry, inputs, |x| x)?.gradients(), |_, value| value)
    }

    /// `sqrt(2 Σ (a b)²)`: both factors of each product are off; of the bias `sqrt(Σ g²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let geometry = geometry(call)?;
        let squares = Products::read(&geometry, inputs, |x| x * x)?.gradients();
        let root =
            |output, sum: f64| (if output == N_GRADIENTS - 1 { sum } else { 2.0 * sum }).sqrt();
        Ok(Some(outputs(call, squares, root)?))
    }

    fn is_by_cudnn(&self) -> bool {
        true
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let Ok(geometry) = geometry(call) else { return 1 };
        let len = Lengths::of(&geometry);
        (geometry.batch * len.output).max(geometry.out_channels * len.kernel)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let (Ok(geometry), Ok(mask)) = (geometry(call), output_mask(call)) else { return 0.0 };
        let len = Lengths::of(&geometry);
        let places = if geometry.transposed { len.input } else { len.output };
        let pairs = geometry.batch * geometry.groups * geometry.in_channels * geometry.out_channels;
        let both = f64::from(u8::from(mask[0])) + f64::from(u8::from(mask[1]));
        2.0 * both * pairs as f64 * (places * len.kernel) as f64
    }

    /// Fast algorithms need as much as a kernel of one element, at the least.
    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let kernel = geometry(call).map_or(1, |geometry| geometry.kernel_len());
        self.flops(call, n_out) / kernel.max(1) as f64
    }

    /// Padding and strides may leave elements out.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let mask = output_mask(call).ok()?;
        let needed = match name {
            "grad_output" => return mask.iter().all(|asked| !asked).then_some(0),
            "input" => mask[1],
            _ => mask[0],
        };
        let [input, kernel] = geometry(call).ok()?.met();
        let [met, all] = if name == "input" { input } else { kernel };
        let elements = call.opt_tensor(name)?.numel() / all.max(1) * met;
        Some(if needed { elements } else { 0 })
    }

    fn degree(&self) -> u32 {
        2
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 30.0 } else { 1e15 }
    }

    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        Ok((exact_magnitude(call.case.dtype, role, self.accumulation_len(call)), row))
    }
}
