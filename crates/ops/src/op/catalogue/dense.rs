//! Contractions.

use super::super::{
    OpFamily, Role,
    def::{self, OpBuilder},
    families::{
        contraction::Contraction,
        distances::Distances,
        kron::Kron,
        weighted::{Weighted, trace},
    },
};
use crate::record::{ArgValue, Gen, List};

/// Half of the sums overflow f16.
const LARGE: Gen = Gen::Normal { mean: 0.0, std: 1e4 };

const EXTREMES: Gen = Gen::Listed { list: List::Extremes };

/// How products are summed.
const PRODUCTS: &str = "\
    Products and sums are f32, also for f16 and bf16 inputs (tensor cores with f32 accumulators \
    are right, f16 accumulators and bf16 partial sums are not), rounded once to the output's \
    dtype. For f32 inputs the products must be full f32: TF32 is wrong. Any order of summation is \
    right, split over k too.";

/// How a product is added to something.
const ADDED: &str = "\
    beta * self is added in f32 before the one rounding. alpha and beta are numbers. With beta = 0 \
    self is not read: a NaN in it does not count. With alpha = 0 the product is not computed \
    either.";

/// Special values of a product alone.
const REACHES: &str = "\
    k = 0 gives zeros. NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN, and an infinity \
    reaches every output that it is a factor of.";

/// Special values of a product that is added.
const EXCEPTED: &str = "\
    gives beta * self. NaN and infinities follow IEEE arithmetic (beta = 0 and alpha = 0 \
    excepted): Inf * 0 is NaN.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [products(), added(), vectors(), pairs()].into_iter().flatten().collect()
}

/// Products of matrices alone.
fn products() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "mm(Tensor self, Tensor mat2) -> Tensor",
            Contraction::Mm,
            &format!(
                "Matrix product of self [m, k] and mat2 [k, n]: out[i, j] = sum_l self[i, l] * \
                mat2[l, j]. {PRODUCTS}\n\
                {REACHES}"
            ),
        )
        .alias(&["mm.out"])
        .edges("self", LARGE)
        .outputs(&["the product"]),
        OpBuilder::new(
            "bmm(Tensor self, Tensor mat2) -> Tensor",
            Contraction::Bmm,
            &format!(
                "Matrix products of a batch, self [b, m, k] and mat2 [b, k, n]: out[t] = self[t] @ \
                mat2[t]. {PRODUCTS}\n\
                {REACHES}"
            ),
        )
        .alias(&["bmm.out"])
        .outputs(&["the products"]),
    ]
}

/// Products of matrices that are added to something.
fn added() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> \
            Tensor",
            Contraction::AddMm,
            &format!(
                "out = beta * self + alpha * (mat1 @ mat2), mat1 [m, k], mat2 [k, n]; self is [m, \
                n] or broadcasts to it ([n], [m, 1], [1], []). {PRODUCTS} {ADDED}\n\
                k = 0 {EXCEPTED}"
            ),
        )
        .alias(&["addmm.out"])
        .role("mat1", Role::Main)
        .outputs(&["the sum"]),
        OpBuilder::new(
            "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) \
            -> Tensor",
            Contraction::BAddBmm,
            &format!(
                "out = beta * self + alpha * (batch1 @ batch2) for each matrix of the batch, batch1 \
                [b, m, k], batch2 [b, k, n]; self is [b, m, n] or broadcasts to it. {PRODUCTS} \
                {ADDED}\n\
                k = 0 {EXCEPTED}"
            ),
        )
        .alias(&["baddbmm.out"])
        .role("batch1", Role::Main)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) \
            -> Tensor",
            Contraction::AddBmm,
            &format!(
                "out = beta * self + alpha * sum_t (batch1[t] @ batch2[t]), batch1 [b, m, k], \
                batch2 [b, k, n]: the products of the batch are added up; self is [m, n] or \
                broadcasts to it. {PRODUCTS} {ADDED} The sum over the batch is f32 too.\n\
                k = 0 or b = 0 {EXCEPTED}"
            ),
        )
        .alias(&["addbmm.out"])
        .role("batch1", Role::Main)
        .outputs(&["the sum"]),
        OpBuilder::new(
            "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
            Contraction::Linear,
            &format!(
                "out = input @ weight^T + bias: input [.., k], weight [n, k], out [.., n] with \
                out[.., j] = sum_l input[.., l] * weight[j, l] + bias[j]. input may have any \
                number of dimensions from 1 on; weight [k] (without bias) gives out [..]. bias is \
                [n] or broadcasts to out; left out, it counts as 0 and arrives as a null pointer. \
                {PRODUCTS} bias is added in f32 before the one rounding.\n\
                k = 0 gives bias. NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN."
            ),
        )
        .alias(&["nn.functional.linear"])
        .role("bias", Role::Bias)
        .outputs(&["the transformed tensor"]),
    ]
}

/// The norm of a difference.
const DISTANCE: &str = "(sum over l of |d|^p)^(1/p)";

/// Its special orders.
const NORM: &str = "p = 0 counts the d that are not 0, p = Inf takes the largest |d|; p is not negative. \
    Compute in f32 and round once to the output's dtype.\n\
    NaN gives NaN, an infinite difference Inf. Without elements in a row the distances are 0.";

/// Products by rank, and of vectors.
fn vectors() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "matmul(Tensor self, Tensor other) -> Tensor",
            Contraction::MatMul,
            &format!(
                "Matrix product by the ranks of the factors. Both 1-dim [k]: their dot product, \
                0-dim. self [k] and other [.., k, n]: [.., n]. self [.., m, k] and other [k]: [.., \
                m]. Otherwise [.., m, k] and [.., k, n] give [.., m, n]; the leading (batch) \
                dimensions broadcast, aligned at their last ones. {PRODUCTS}\n\
                {REACHES}"
            ),
        )
        .alias(&["matmul.out", "linalg_matmul", "linalg.matmul"])
        .outputs(&["the product"]),
        OpBuilder::new(
            "mv(Tensor self, Tensor vec) -> Tensor",
            Contraction::Mv,
            &format!(
                "Product of a matrix self [m, k] and a vector vec [k]: out[i] = sum_l self[i, l] * \
                vec[l]. {PRODUCTS}\n\
                {REACHES}"
            ),
        )
        .alias(&["mv.out"])
        .edges("self", LARGE)
        .outputs(&["the product"]),
        OpBuilder::new(
            "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> \
            Tensor",
            Contraction::AddMv,
            &format!(
                "out = beta * self + alpha * (mat @ vec), mat [m, k], vec [k]; self is [m] or \
                broadcasts to it. {PRODUCTS} {ADDED}\n\
                k = 0 {EXCEPTED}"
            ),
        )
        .alias(&["addmv.out"])
        .role("mat", Role::Main)
        .outputs(&["the sum"]),
        OpBuilder::new(
            "dot(Tensor self, Tensor tensor) -> Tensor",
            Contraction::Dot,
            &format!(
                "Dot product of two vectors [k]: out = sum_l self[l] * tensor[l], 0-dim: one \
                element. {PRODUCTS}\n\
                k = 0 gives 0. NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN."
            ),
        )
        .alias(&["dot.out"])
        .outputs(&["the dot product"]),
        OpBuilder::new(
            "outer(Tensor self, Tensor vec2) -> Tensor",
            Contraction::Outer,
            "Outer product of two vectors [m] and [n]: out[i, j] = self[i] * vec2[j], in f32, \
            rounded once to the output's dtype, which both are promoted to.\n\
            NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN. An empty vector gives an \
            empty matrix.",
        )
        .alias(&["outer.out", "ger"])
        .edges("self", EXTREMES)
        .edges("vec2", EXTREMES)
        .outputs(&["the outer product"]),
        OpBuilder::new(
            "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
            Contraction::AddR,
            "out[i, j] = beta * self[i, j] + alpha * vec1[i] * vec2[j], vec1 [m], vec2 [n]; self is [m, n] \
            or broadcasts to it. beta * self is added in f32 before the one rounding. alpha and beta are \
            numbers. With beta = 0 self is not read: a NaN in it does not count. The product is computed \
            with alpha = 0, too.\nNaN and infinities follow IEEE arithmetic: Inf * 0 is NaN. An \
            empty vector gives an empty matrix.",
        )
        .role("vec1", Role::Main)
        .outputs(&["the sum"]),
    ]
}

/// Products of all pairs, distances of all pairs of rows, and the trace.
fn pairs() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "kron(Tensor self, Tensor other) -> Tensor",
            Kron,
            "The Kronecker product: out[.., i * q + k, ..] = self[.., i, ..] * other[.., k, ..] in every \
            dimension, q being the extent of other; the one with fewer dimensions has further ones of extent \
            1 in front. In f32, rounded once to the output's dtype, which both are promoted to; integers \
            wrap.\n\
            NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the product"]),
        OpBuilder::new(
            "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
            Distances::Between,
            &format!(
                "The distances of rows: x1 [.., m, k] and x2 [.., n, k] of one floating-point dtype give [.., \
                m, n], out[.., i, j] = {DISTANCE} with d = x1[.., i, l] - x2[.., j, l]; leading (batch) \
                dimensions broadcast. compute_mode, 0 to 2 or None, has no meaning for the result: the \
                differences are formed, not the products of rows. {NORM}"
            ),
        )
        .family(OpFamily::Reduction)
        .default("p", ArgValue::Float(2.0))
        .default("compute_mode", ArgValue::None)
        .role("x2", Role::Main)
        .outputs(&["the distances"]),
        OpBuilder::new(
            "_pdist_forward(Tensor self, float p=2.) -> Tensor",
            Distances::Within,
            &format!(
                "The distances of all pairs of rows of self [n, k]: out has n * (n - 1) / 2 elements, those of \
                the rows (0, 1), (0, 2), .., (0, n - 1), (1, 2) and so on, each {DISTANCE} with d the \
                difference of the rows at l. {NORM}"
            ),
        )
        .family(OpFamily::Reduction)
        .alias(&["pdist"])
        .outputs(&["the distances"]),
        OpBuilder::new(
            "trace(Tensor self) -> Tensor",
            Weighted { input: "self", sums: trace, plain: true },
            "The sum of the diagonal of self [m, n], 0-dim: one element. Sums of integers and bool are i64, \
            those of others f32 in any order, rounded once to self's dtype.\n\
            NaN and infinities follow IEEE arithmetic. An empty matrix gives 0.",
        )
        .family(OpFamily::Reduction)
        .dtypes(def::NUMBERS)
        .outputs(&["the sum"]),
    ]
}
