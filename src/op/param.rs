//! Parameters of an op.

/// One parameter of an op's schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Its name in the schema.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamKind {
    /// A tensor.
    Tensor {
        /// Whether it may be left out.
        optional: bool,
        /// What its values are for.
        role: Role,
    },
    /// An integer, or an enum that the schema passes as one.
    Int(Fallback<i64>),
    /// A number; a schema's `Scalar` is passed as a number too.
    Float(Fallback<f64>),
    /// A truth value.
    Bool(Fallback<bool>),
    /// A string out of a fixed set.
    Str {
        /// What it is when left out.
        default: &'static str,
        /// What it may be.
        one_of: &'static [&'static str],
    },
    /// A list of integers.
    Ints(Fallback<&'static [i64]>),
}

/// What a parameter is when a case does not name it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback<T> {
    /// It must be given.
    Required,
    /// `None`.
    Absent,
    /// This value.
    Value(T),
}

/// What the values of a tensor parameter are for; decides its generator in each family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Data: follows the case's family.
    Main,
    /// The second factor of a contraction or the like: stays tame where `Main` is wild.
    Second,
    /// A gain near 1.
    Gain,
    /// An offset near 0.
    Bias,
    /// Class indices below the extent of the main input's dimension 1.
    ClassIndex,
}

impl Param {
    /// Returns a required tensor parameter.
    #[must_use]
    pub const fn tensor(name: &'static str, role: Role) -> Self {
        Self { name, kind: ParamKind::Tensor { optional: false, role } }
    }

    /// Returns an optional tensor parameter.
    #[must_use]
    pub const fn optional(name: &'static str, role: Role) -> Self {
        Self { name, kind: ParamKind::Tensor { optional: true, role } }
    }

    /// Returns a parameter of another kind.
    #[must_use]
    pub const fn new(name: &'static str, kind: ParamKind) -> Self {
        Self { name, kind }
    }
}

/// Builtins of the plan language, which no argument can be called.
const PLAN_BUILTINS: [&str; 23] = [
    "cdiv",
    "min",
    "max",
    "align_up",
    "next_pow2",
    "ilog2",
    "is_pow2",
    "require",
    "param",
    "define",
    "scratch",
    "launch",
    "fill",
    "f32",
    "i32",
    "ptr",
    "contiguous",
    "expand",
    "has",
    "len",
    "range",
    "abs",
    "tmap",
];

/// Returns the name that a plan knows an argument by: a trailing `_` where it is a builtin of the
/// plan language.
#[must_use]
pub fn plan_name(name: &str) -> String {
    if PLAN_BUILTINS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}
