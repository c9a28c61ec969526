//! Elementwise kernels.

use crate::{Agreement, Dtype, Fill, Kernel, input, int, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![Kernel {
        name: "relu_float4",
        file: "relu_float4",
        source: include_str!("../../kernels/relu_float4.cu"),
        entry: "relu_f4",
        grid: [5, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 4099, Fill::Uniform(-2.0, 2.0)),
            output("y", Dtype::F32, 4099),
            int(4099),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| vec![case.values("x").into_iter().map(|x| x.max(0.0)).collect()],
    }]
}
