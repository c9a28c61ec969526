//! `ldmatrix`, `stmatrix` and `movmatrix`.

use super::{emulate, golden, hash, number::Type};

/// Matrices, transposed, of the kernel `name` of `pass/rows`.
fn form(name: &str) -> (usize, bool) {
    let n = ["x2", "x4"].iter().position(|x| name.contains(x)).map_or(1, |i| 2 << i);
    (n, name.ends_with("trans"))
}

/// Row and column of half `h` of a register of `lane`.
fn place(lane: usize, h: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, lane % 4 * 2 + h);
    if transposed { (column, row) } else { (row, column) }
}

#[test]
fn matrices_move_between_rows_and_registers() {
    let golden = golden();
    let module = crate::harness::module("pass/rows");
    let b16 = Type::named("bf16").expect("16 bits");
    // Random bits: `near one` would leave the exponents alike.
    let source = Type::named("u8").expect("8 bits").inputs('n', 0, 512);
    for op in ["ldmatrix", "stmatrix"] {
        for name in
            ["x1", "x1_trans", "x2", "x2_trans", "x4", "x4_trans"].map(|n| format!("{op}_{n}"))
        {
            let (n, transposed) = form(&name);
            let got = emulate(&module, &name, std::slice::from_ref(&source), 128 * n);
            for (lane, j, h) in
                (0..32).flat_map(|l| (0..n).flat_map(move |j| (0..2).map(move |h| (l, j, h))))
            {
                let (row, column) = place(lane, h, transposed);
                let (in_rows, in_lanes) = ((8 * j + row) * 8 + column, (lane * n + j) * 2 + h);
                let (from, to) =
                    if op == "ldmatrix" { (in_rows, in_lanes) } else { (in_lanes, in_rows) };
                assert_eq!(b16.get(&got, to), b16.get(&source, from), "{name} {lane} {j} {h}");
            }
            check(&golden, &name, &got);
        }
    }
    let source = source[..128].to_vec();
    let got = emulate(&module, "movmatrix_trans", std::slice::from_ref(&source), 128);
    for i in 0..64 {
        assert_eq!(b16.get(&got, i), b16.get(&source, i % 8 * 8 + i / 8));
    }
    check(&golden, "movmatrix_trans", &got);
}

fn check(golden: &std::collections::HashMap<(String, char), String>, name: &str, got: &[u8]) {
    if let Some(recorded) = golden.get(&(name.to_owned(), 'n')) {
        assert_eq!(*recorded, format!("{:016x}", hash(got)), "{name} on a GPU");
    }
}
