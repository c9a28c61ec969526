//! Ops that read or write where an index tensor says.

use crate::record::DType;

use super::super::super::{
    Role,
    def::{self, OpBuilder},
    families::index::{
        bag::EmbeddingBag,
        lookup::{Lookup, OneHot},
        scatter::Scatter,
    },
};

/// Semantics of every op that adds to places.
const ADDED: &str = "Add up in f32 (f16 and bf16 inputs too: atomics in these types are not exact \
    enough) and round once to the output's dtype; any order of summation is right. Integers wrap; \
    in bool 1 + 1 is 1. NaN and infinities follow IEEE arithmetic. ";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    lookups().into_iter().chain(scatters()).chain([reduction()]).collect()
}

fn lookups() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, \
            bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
            Lookup::Embedding,
            "out[.., :] = weight[indices[..], :]: weight is [rows, width], indices any shape of int64 \
            or int32, all in 0..rows (negative ones are errors). padding_idx, scale_grad_by_freq and \
            sparse change gradients only.\n\
            Rows are copied bit for bit, NaN and -0 among them. Without indices the output has no \
            elements.",
        )
        .role("indices", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the rows"]),
        OpBuilder::new(
            "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
            Lookup::Gather,
            "out[i][j][k] = self[i][index[i][j][k]][k] for dim 1, and so for other dimensions \
            (negative ones count from the back). index has as many dimensions as self and no larger \
            extents but along dim; the output has its shape. Indices are int64 or int32 and in \
            0..self.shape[dim] (negative ones are errors). sparse_grad has no meaning.\n\
            Elements are copied bit for bit, NaN among them. A 0-dim self or index counts as one of \
            one element; an index without elements may have any shape.",
        )
        .role("index", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the gathered elements"]),
        OpBuilder::new(
            "index_select(Tensor self, int dim, Tensor index) -> Tensor",
            Lookup::IndexSelect,
            "Place i of the output along dim is place index[i] of self (dim may be negative: from \
            the back). index is 1-dim, or 0-dim for one place; int64 or int32, in 0..self.shape[dim] \
            (negative ones are errors), repetitions allowed.\n\
            Elements are copied bit for bit, NaN among them.",
        )
        .role("index", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the selected places"]),
        OpBuilder::new(
            "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
            Lookup::Index,
            "self[indices]: entry i of the list indexes dimension i; an entry that is None (a null \
            pointer) keeps its dimension whole, as do dimensions beyond the list. The index tensors \
            broadcast to one shape B. If they stand next to each other, B takes the place of their \
            dimensions; if not, B comes first and the kept dimensions follow. Indices are int64 or \
            int32 in -n..n, n the extent; negative ones count from the back. Masks are not \
            supported: the output's shape would depend on them.\n\
            Elements are copied bit for bit, NaN among them.",
        )
        .role("indices", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the selected elements"]),
        OpBuilder::new(
            "one_hot(Tensor self, int num_classes=-1) -> Tensor",
            OneHot,
            "out[.., c] = 1 if self[..] == c, else 0, for c in 0..num_classes; int64 like self, whose \
            elements are in 0..num_classes. num_classes is always given and positive (-1 would leave \
            the shape to the data).\n\
            There are no floating-point numbers, so no NaN.",
        )
        .role("self", Role::Index)
        .dtypes(&[DType::I64])
        .exact()
        .outputs(&["the rows with one 1 each"]),
        OpBuilder::new(
            "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, \
            bool scale_grad_by_freq=False, int mode=0, bool sparse=False, \
            Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) \
            -> (Tensor, Tensor, Tensor, Tensor)",
            EmbeddingBag,
            "weight is [rows, width], indices [n] of int64 or int32 in 0..rows. Bag b holds indices \
            offsets[b] up to before offsets[b + 1], the last one up to n; offsets begin with 0 and do \
            not fall, and equal ones make an empty bag. With include_last_offset the last element of \
            offsets ends the last bag and begins none. out[b, :] is the sum of the rows of the bag \
            (mode 0), their mean (mode 1) or their maximum (mode 2). Indices equal to padding_idx \
            (-1: none) do not count, in the mean's divisor too. per_sample_weights [n], for mode 0 \
            only, multiply the rows. Only this output is computed; what PyTorch returns beside it \
            serves the backward pass. Compute and accumulate in f32 and round once to the output's \
            dtype; any order of summation is right.\n\
            A bag without rows gives 0 in every mode. NaN and infinities follow IEEE arithmetic in \
            sum and mean; a maximum begins with the first row of the bag and takes a later element \
            only if it is larger, so that a NaN stays if it is in the first row and is passed over \
            elsewhere.",
        )
        .name("embedding_bag")
        .role("indices", Role::Index)
        .role("offsets", Role::Index)
        .outputs(&["the bags"]),
    ]
}

fn scatters() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
            Scatter::Src,
            "A copy of self with out[i][index[i][j][k]][k] = src[i][j][k] for dim 1, and so for other \
            dimensions (negative ones count from the back), for every position of index. index has as \
            many dimensions as self and src, is no larger than src, and no larger than self but along \
            dim. Indices are int64 or int32 in 0..self.shape[dim]; no place is written twice.\n\
            Elements are copied bit for bit, NaN among them. An index without elements writes \
            nothing; 0-dim tensors count as those of one element.",
        )
        .name("scatter.src")
        .alias(&["scatter"])
        .role("index", Role::Index)
        .role("src", Role::Main)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["self with the elements of src written into it"]),
        OpBuilder::new(
            "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
            Scatter::Value,
            "A copy of self with out[i][index[i][j][k]][k] = value for dim 1, and so for other \
            dimensions (negative ones count from the back), for every position of index; value is \
            rounded to self's dtype (integers: the fraction is cut off). index has as many dimensions \
            as self and is no larger than it but along dim. Indices are int64 or int32 in \
            0..self.shape[dim]; places may be written twice.\n\
            Elements are copied bit for bit, NaN among them. An index without elements writes nothing.",
        )
        .name("scatter.value")
        .role("index", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["self with the value written into it"]),
        OpBuilder::new(
            "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
            Scatter::Add,
            &format!(
                "out = self, and out[i][index[i][j][k]][k] += src[i][j][k] for dim 1, and so for other \
                dimensions (negative ones count from the back), for every position of index. index \
                has as many dimensions as self and src, is no larger than src, and no larger than \
                self but along dim. Indices are int64 or int32 in 0..self.shape[dim] and may be \
                equal.\n{ADDED}An index without elements adds nothing."
            ),
        )
        .role("index", Role::Index)
        .role("src", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
            Scatter::IndexAdd,
            &format!(
                "out = self, and place index[i] of out along dim += alpha * place i of source (dim may \
                be negative: from the back). index is 1-dim (or 0-dim for one place), int64 or int32 \
                in 0..self.shape[dim], and may hold equal ones; source has self's shape but for dim, \
                where it has one place per index. For integers alpha is cut to one.\n\
                {ADDED}An index without elements adds nothing."
            ),
        )
        .role("index", Role::Index)
        .role("source", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
            Scatter::IndexPut,
            &format!(
                "A copy of self with out[indices] = values, or out[indices] += values with accumulate. \
                Entry i of the list indexes dimension i; an entry that is None (a null pointer) keeps \
                its dimension whole, as do dimensions beyond the list. The index tensors broadcast to \
                one shape B, which takes the place of their dimensions if they stand next to each \
                other and comes first if not; values broadcast to that shape. Indices are int64 or \
                int32 in -n..n, n the extent; negative ones count from the back. Without accumulate \
                no place is written twice. One bool mask of the shape of self's first dimensions may \
                stand for the indices where values has one element, or the shape of self's other dimensions \
                (one of extent 1 before them does not count), which each place of the mask gets.\n\
                Written elements are copied bit for bit, NaN among them. {ADDED}"
            ),
        )
        .role("indices", Role::Index)
        .role("values", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["self with the values written into it"]),
    ]
}

/// Writes of which several to one place are reduced.
fn reduction() -> OpBuilder {
    OpBuilder::new(
        "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, \
        bool include_self=True) -> Tensor",
        Scatter::Reduce,
        "out = self, where each place that index names becomes the reduction of all src[i][j][k] with \
        the place [i][index[i][j][k]][k] for dim 1, and so for other dimensions (negative ones count \
        from the back); with include_self the element of self takes part. reduce is sum, prod, mean \
        (of integers rounded down), amax or amin; the plan sees the string. index has as many \
        dimensions as self and src, is no larger than src, and no larger than self but along dim. \
        Indices are int64 or int32 in 0..self.shape[dim] and may be equal.\n\
        Reduce in f32 (f16 and bf16 inputs too) and round once to the output's dtype; any order is \
        right. Integers wrap. NaN and infinities follow IEEE arithmetic; amax and amin of NaN are \
        NaN. An index without elements changes nothing.",
    )
    .name("scatter_reduce")
    .alias(&["scatter_reduce.two"])
    .role("index", Role::Index)
    .role("src", Role::Main)
    .choices("reduce", &["sum", "prod", "mean", "amax", "amin"])
    .dtypes(def::NUMBERS)
    .outputs(&["the reduced elements"])
}
