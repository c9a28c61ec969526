//! The plan language's functions: their names and parameters.

/// A function of the plan language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Launches a kernel.
    Launch,
    /// Ceiling division.
    Cdiv,
    /// Smallest argument.
    Min,
    /// Largest argument.
    Max,
    /// Absolute value.
    Abs,
    /// Next multiple.
    AlignUp,
    /// Next power of two.
    NextPow2,
    /// Floor of the binary logarithm.
    Ilog2,
    /// Whether a number is a power of two.
    IsPow2,
    /// Number of elements of a tuple.
    Len,
    /// Product of a tuple's elements.
    Prod,
    /// A range for `for`.
    Range,
    /// Whether an optional input is there.
    Has,
    /// Declines a case.
    Require,
    /// An autotuning axis.
    Param,
    /// A macro.
    Define,
    /// A scratch buffer.
    Scratch,
    /// Sets the bytes of a buffer.
    Fill,
    /// A pointer some bytes further.
    Ptr,
    /// A contiguous copy where needed.
    Contiguous,
    /// A broadcast copy where needed.
    Expand,
    /// Conversion to a number.
    F32,
    /// Conversion to an integer.
    I32,
    /// A tensor map.
    TensorMap,
    /// A matrix product by a library.
    Matmul,
    /// A convolution by a library.
    Convolution,
}

/// Call and purpose of a builtin, for messages and prompts.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinSpec {
    pub name: &'static str,
    /// Names of its parameters; a keyword argument uses them.
    pub params: &'static [&'static str],
    /// How many of them must be given.
    pub required: usize,
    /// How many may be given by position.
    pub positional: usize,
    /// A call as one writes it.
    pub usage: &'static str,
    /// Its purpose, in one line.
    pub doc: &'static str,
}

const fn spec(
    name: &'static str,
    params: &'static [&'static str],
    required: usize,
    usage: &'static str,
    doc: &'static str,
) -> BuiltinSpec {
    BuiltinSpec { name, params, required, positional: params.len(), usage, doc }
}

impl Builtin {
    /// All builtins.
    pub const ALL: [Self; 26] = [
        Self::Launch,
        Self::Cdiv,
        Self::Min,
        Self::Max,
        Self::Abs,
        Self::AlignUp,
        Self::NextPow2,
        Self::Ilog2,
        Self::IsPow2,
        Self::Len,
        Self::Prod,
        Self::Range,
        Self::Has,
        Self::Require,
        Self::Param,
        Self::Define,
        Self::Scratch,
        Self::Fill,
        Self::Ptr,
        Self::Contiguous,
        Self::Expand,
        Self::F32,
        Self::I32,
        Self::TensorMap,
        Self::Matmul,
        Self::Convolution,
    ];

    /// Finds a builtin by its name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let name = match name {
            "float" => "f32",
            "int" => "i32",
            other => other,
        };
        Self::ALL.into_iter().find(|builtin| builtin.spec().name == name)
    }

    /// Returns whether a library computes it.
    #[must_use]
    pub const fn is_library(self) -> bool {
        matches!(self, Self::Matmul | Self::Convolution)
    }

    /// Returns its name, parameters and purpose.
    #[must_use]
    pub const fn spec(self) -> &'static BuiltinSpec {
        &TABLE[self as usize]
    }
}

/// The table of builtins, in the order of the enum.
const TABLE: [BuiltinSpec; Builtin::ALL.len()] = [
    BuiltinSpec {
        name: "launch",
        params: &["kernel", "grid", "block", "smem", "args", "cluster", "cooperative", "pdl"],
        required: 3,
        positional: 3,
        usage: "launch(\"kernel\", grid=(x, y, z), block=(x, y, z), smem=0, args=[..])",
        doc: "launches a kernel; a grid with a 0 in it launches nothing; also `cooperative=True` (all blocks at once, for \
              barriers of the grid) and, on sm_90, `cluster=(x, y, z)` of at most 8 blocks and `pdl=True` (may begin before \
              the launch before it has ended)",
    },
    spec("cdiv", &["a", "b"], 2, "cdiv(a, b)", "ceiling division"),
    spec("min", &["a"], 1, "min(a, b, ..)", "smallest of its arguments or of a tuple"),
    spec("max", &["a"], 1, "max(a, b, ..)", "largest of its arguments or of a tuple"),
    spec("abs", &["a"], 1, "abs(a)", "absolute value"),
    spec(
        "align_up",
        &["a", "to"],
        2,
        "align_up(a, to)",
        "smallest multiple of `to` that is at least `a`",
    ),
    spec("next_pow2", &["a"], 1, "next_pow2(a)", "smallest power of two that is at least `a`"),
    spec("ilog2", &["a"], 1, "ilog2(a)", "floor of the binary logarithm"),
    spec("is_pow2", &["a"], 1, "is_pow2(a)", "whether `a` is a power of two"),
    spec("len", &["a"], 1, "len(x.shape)", "number of elements of a tuple"),
    spec(
        "prod",
        &["a", "start", "stop"],
        1,
        "prod(x.shape, start, stop)",
        "product of a tuple's elements from `start` up to, not with, `stop`, as in `a[start:stop]`",
    ),
    spec(
        "range",
        &["a", "b", "step"],
        1,
        "range(n)",
        "what `for` runs over: `range(stop)`, `range(start, stop)`, `range(start, stop, step)`",
    ),
    spec("has", &["x"], 1, "has(weight)", "whether an optional input is there"),
    spec(
        "require",
        &["condition", "message"],
        1,
        "require(cond)",
        "declines the case if the condition is false (a declined case counts as failed)",
    ),
    spec(
        "param",
        &["name", "values"],
        2,
        "param(\"BLOCK\", [128, 256])",
        "an autotuning axis: one of the values (the first is the default), also passed as `-DBLOCK=..`",
    ),
    spec(
        "define",
        &["name", "value"],
        2,
        "define(\"VEC\", 4)",
        "passes the macro `-DVEC=4` and returns the value",
    ),
    spec(
        "scratch",
        &["bytes", "zero", "align"],
        1,
        "scratch(bytes, zero=False)",
        "a scratch buffer; `zero=True` clears it, and that time counts",
    ),
    spec(
        "fill",
        &["x", "byte"],
        2,
        "fill(out, 0)",
        "sets every byte of an output or scratch buffer",
    ),
    spec(
        "ptr",
        &["x", "byte_offset"],
        1,
        "ptr(x, byte_offset)",
        "an untyped pointer into a tensor or scratch buffer, which any pointer parameter takes",
    ),
    spec(
        "contiguous",
        &["x"],
        1,
        "contiguous(x)",
        "`x` itself if it is contiguous, else a contiguous copy made first; its time counts",
    ),
    spec(
        "expand",
        &["x", "shape"],
        2,
        "expand(x, shape)",
        "a contiguous copy of `x` broadcast to `shape`; its time counts",
    ),
    spec("f32", &["x"], 1, "f32(x)", "`x` as a float, rounded to f32"),
    spec("i32", &["x"], 1, "i32(x)", "`x` as an integer that fits 32 bits, truncated toward zero"),
    BuiltinSpec {
        name: "tensor_map",
        params: &[
            "x",
            "box",
            "swizzle",
            "l2",
            "oob",
            "interleave",
            "element_strides",
            "shape",
            "strides",
            "dtype",
            "im2col",
            "channels",
            "pixels",
        ],
        required: 1,
        positional: 2,
        usage: "tensor_map(x, box=[rows, columns], swizzle=0)",
        doc: "sm_90: a tensor map for TMA, passed in `args` to a parameter `const __grid_constant__ CUtensorMap m`; `box` is in \
              elements, in the order of `x.shape` (coordinates in the kernel are innermost first), at most 256 each, its \
              innermost extent a multiple of 16 bytes and at most `swizzle` (0, 32, 64, 128) bytes; address (`x.align`) and \
              strides must be multiples of 16 bytes, the innermost stride 1; outside of the tensor zeros are read and nothing \
              is written; scratch needs `dtype=`, `shape=`, `strides=` in elements; also `l2=`, `oob=\"nan\"`, \
              `element_strides=`, `im2col=(lower, upper), channels=, pixels=`",
    },
    spec(
        "matmul",
        &[
            "a",
            "b",
            "out",
            "m",
            "n",
            "k",
            "batch",
            "trans_a",
            "trans_b",
            "alpha",
            "accumulate",
            "dtype",
        ],
        6,
        "matmul(a, b, out, m=M, n=N, k=K, batch=1, trans_a=False, trans_b=False, alpha=1.0, accumulate=False)",
        "cuBLASLt computes `out = alpha * a @ b` (`+ out` with `accumulate`) for each matrix of the batch; `a` is \
         `[batch, m, k]` (`[batch, k, m]` with `trans_a`), `b` `[batch, k, n]` (`[batch, n, k]` with `trans_b`), \
         `out` `[batch, m, n]`, all row-major without gaps",
    ),
    spec(
        "convolution",
        &["x", "w", "out", "stride", "padding", "dilation", "groups", "shape"],
        3,
        "convolution(x, w, out, stride=1, padding=0, dilation=1, groups=1)",
        "cuDNN computes PyTorch's convolution without bias: `x` is `[n, c, ..]`, `w` a tensor `[c_out, c // groups, ..]`, \
         `out` `[n, c_out, ..]`, with 1 to 3 spatial dimensions; stride, padding and dilation are a number or a tuple",
    ),
];
