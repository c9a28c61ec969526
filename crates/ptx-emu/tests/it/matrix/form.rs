//! Forms of products, and where their elements lie, spelled out as the PTX ISA's "Matrix Fragments"
//! sections do.

use super::{number::Type, sparse::Sparse};

/// A form of `mma` or `wmma`.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// Opcode, with the sparsity selector behind a `/`, or kernel of `pass/wmma`.
    pub(crate) name: String,
    pub(crate) is_wmma: bool,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) d: Type,
    pub(crate) a: Type,
    pub(crate) b: Type,
    pub(crate) c: Type,
    /// Layouts of A, B and C: by rows.
    pub(crate) rows: [bool; 3],
    pub(crate) saturates: bool,
    pub(crate) is_and: bool,
    pub(crate) sparse: Option<Sparse>,
}

impl Form {
    pub(crate) fn new(name: &str) -> Self {
        let is_wmma = name.starts_with("wmma");
        let words: Vec<&str> = name.split(['.', '_', '/']).collect();
        let shape = words.iter().find(|w| w.starts_with('m') && w.contains('k')).expect("a shape");
        let sizes: Vec<usize> =
            shape[1..].split(['n', 'k']).map(|n| n.parse().expect("a number")).collect();
        let (m, n, k) = (sizes[0], sizes[1], sizes[2]);
        let types: Vec<Type> = words.iter().filter_map(|w| Type::named(w)).collect();
        let mut rows = words.iter().filter(|w| matches!(**w, "row" | "col")).map(|w| *w == "row");
        let mut next = || rows.next().unwrap_or(true);
        Self {
            name: name.to_owned(),
            is_wmma,
            m,
            n,
            k,
            d: types[0],
            a: types[1],
            b: types[2],
            c: types[3],
            rows: [next(), next(), next()],
            saturates: words.contains(&"satfinite"),
            is_and: words.contains(&"and"),
            sparse: name.contains(".sp").then(|| Sparse::new(name, k, types[1])),
        }
    }

    pub(crate) fn opcode(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Whether it is four products at once.
    pub(crate) fn is_quads(&self) -> bool {
        !self.is_wmma && self.k == 4 && self.a.name == "f16"
    }

    /// Elements of A, B and C in all lanes (`mma`) or in memory (`wmma`).
    pub(crate) fn sizes(&self) -> [usize; 3] {
        if self.is_quads() {
            return [128, 128, 256];
        }
        [self.m * self.stored_k(), self.k * self.n, self.m * self.n]
    }

    /// Elements of a row of A that are stored.
    pub(crate) fn stored_k(&self) -> usize {
        if self.sparse.is_some() { self.k / 2 } else { self.k }
    }

    /// Product (of four), row and column of element `index` of operand 0, 1 or 2: A, B or C.
    pub(crate) fn place(&self, operand: usize, ty: Type, index: usize) -> (usize, usize, usize) {
        if self.is_wmma {
            let (rows, columns) = [(self.m, self.k), (self.k, self.n), (self.m, self.n)][operand];
            let by_rows = self.rows[operand];
            let (row, column) = if by_rows {
                (index / columns, index % columns)
            } else {
                (index % rows, index / rows)
            };
            return (0, row, column);
        }
        let per_lane = self.sizes()[operand] / 32;
        let (lane, i) = (index / per_lane, index % per_lane);
        if self.is_quads() {
            let (row, column) = quad(operand, self.rows, ty, lane, i);
            return (lane % 16 / 4, row, column);
        }
        let (row, column) = match operand {
            0 => a(self.m, self.stored_k(), ty.name, lane, i),
            1 => b(self.k, ty.name, lane, i),
            _ => c(self.m, lane, i),
        };
        (0, row, column)
    }
}

fn a(m: usize, k: usize, ty: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = |low: bool| if low { group } else { group + 8 };
    match (m, k, ty) {
        (16, 8, "f16" | "bf16") => (row(i < 2), thread * 2 + (i & 1)),
        (16, 16, "f16" | "bf16") => {
            let column = thread * 2 + (i & 1);
            (row(i < 2 || (4..6).contains(&i)), if i < 4 { column } else { column + 8 })
        }
        (16, 4, "tf32" | "f64") => (row(i == 0), thread),
        (16, 8, "tf32" | "f64") => (row(i == 0 || i == 2), if i < 2 { thread } else { thread + 4 }),
        (16, 16, "f64") => {
            let low = i.is_multiple_of(2);
            (row(low), if low { i * 2 + thread } else { i * 2 - 2 + thread })
        }
        (8, 4, "f64") => (group, thread),
        (8, 16, "s8" | "u8") => (group, thread * 4 + i),
        (16, 16, _) => (row(i < 4), thread * 4 + (i & 3)),
        (16, 32, "s8" | "u8" | "e4m3" | "e5m2") => {
            let column = thread * 4 + (i & 3);
            (row(i < 4 || (8..12).contains(&i)), if i < 8 { column } else { column + 16 })
        }
        (8, 32, "s4" | "u4") => (group, thread * 8 + i),
        (16, 32, "s4" | "u4") => (row(i < 8), thread * 8 + (i & 7)),
        (16, 64, "s4" | "u4") => {
            let column = thread * 8 + (i & 7);
            (row(i < 8 || (16..24).contains(&i)), if i < 16 { column } else { column + 32 })
        }
        (8, 128, "b1") => (group, thread * 32 + i),
        (16, 128, "b1") => (row(i < 32), thread * 32 + (i & 31)),
        (16, 256, "b1") => {
            let column = thread * 32 + (i & 31);
            (row(i < 32 || (64..96).contains(&i)), if i < 64 { column } else { column + 128 })
        }
        _ => panic!("no layout for {m} {k} {ty}"),
    }
}

fn b(k: usize, ty: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = match (k, ty) {
        (8, "f16" | "bf16") => thread * 2 + i,
        (16, "f16" | "bf16") => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        (4, "tf32" | "f64") => thread,
        (32, "f16" | "bf16") => thread * 2 + (i & 1) + i / 2 * 8,
        (8, "tf32" | "f64") => thread + if i == 0 { 0 } else { 4 },
        (16, "f64" | "tf32") => thread + 4 * i,
        (16, "s8" | "u8" | "e4m3" | "e5m2") => thread * 4 + i,
        (32, "s8" | "u8" | "e4m3" | "e5m2") => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        (64, "s8" | "u8" | "e4m3" | "e5m2") => thread * 4 + (i & 3) + i / 4 * 16,
        (32, "s4" | "u4") => thread * 8 + i,
        (128, "s4" | "u4") => thread * 8 + (i & 7) + i / 8 * 32,
        (64, "s4" | "u4") => thread * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
        (128, "b1") => thread * 32 + i,
        (256, "b1") => thread * 32 + (i & 31) + if i < 32 { 0 } else { 128 },
        _ => panic!("no layout for {k} {ty}"),
    };
    (row, group)
}

fn c(m: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = if m == 16 && i >= 2 { group + 8 } else { group };
    (row, thread * 2 + (i & 1))
}

/// `mma.m8n8k4` of f16.
fn quad(operand: usize, rows: [bool; 3], ty: Type, lane: usize, i: usize) -> (usize, usize) {
    let high = if lane < 16 { 0 } else { 4 };
    match (operand, rows[operand], ty.name) {
        (0, true, _) => (lane % 4 + high, i),
        (0, false, _) => (i % 4 + high, lane % 4),
        (1, true, _) => (lane % 4, i + high),
        (1, false, _) => (i, lane % 4 + high),
        (_, _, "f16") => (lane % 4 + high, i),
        _ => ((lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)),
    }
}
