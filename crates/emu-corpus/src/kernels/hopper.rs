//! Barriers beyond a block.

use crate::{Agreement, Dtype, Fill, Kernel, inout, int};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![counter()]
}

/// The two buffers after `steps` Jacobi steps that go to and fro between them.
fn jacobi(mut a: Vec<f64>, mut b: Vec<f64>, steps: usize) -> [Vec<f64>; 2] {
    let at = |u: &[f64], i: usize| u.get(i).copied().unwrap_or(0.0);
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (&a, &mut b) } else { (&b, &mut a) };
        for (i, cell) in to.iter_mut().enumerate() {
            *cell = 0.5 * (at(from, i.wrapping_sub(1)) + at(from, i + 1));
        }
    }
    [a, b]
}

fn counter() -> Kernel {
    Kernel {
        name: "jacobi_counter",
        file: "jacobi_counter",
        source: include_str!("../../kernels/jacobi_counter.cu"),
        entry: "jacobi_counter",
        grid: [4, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            inout("a", Dtype::F32, 250, UNIT),
            inout("b", Dtype::F32, 250, Fill::Zeros),
            inout("arrived", Dtype::I32, 1, Fill::Zeros),
            int(250),
            int(5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let [a, b] = jacobi(case.values("a"), case.values("b"), 5);
            vec![a, b, vec![20.0]]
        },
    }
}
