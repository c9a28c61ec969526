//! The syntax tree of a plan. Offsets are bytes in the kernel file.

use super::builtin::Builtin;

/// A statement.
#[derive(Debug)]
pub(super) enum Stmt {
    /// `a = value` or `a, b = value`.
    Assign {
        targets: Vec<Target>,
        value: Expr,
    },
    /// `a += value` and its like.
    Augment {
        target: Target,
        op: BinaryOp,
        value: Expr,
    },
    /// `if`, `elif`, `else`.
    If {
        branches: Vec<(Expr, Vec<Self>)>,
        otherwise: Vec<Self>,
    },
    /// `for name in iterable:`.
    For {
        target: Target,
        iterable: Expr,
        body: Vec<Self>,
    },
    /// A call for its effect.
    Expr(Expr),
    Pass,
}

/// A name that is assigned to.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) offset: usize,
}

/// An expression with its range in the kernel file.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Height of the tree under it, bounded so that recursion is.
    pub(super) height: usize,
}

/// The kinds of expressions.
#[derive(Debug)]
pub(super) enum ExprKind {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Name(String),
    Tuple(Vec<Expr>),
    Attribute(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Call {
        builtin: Builtin,
        args: Vec<CallArg>,
    },
    Negate(Box<Expr>),
    Not(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a < b <= c`: the first operand and the rest of the chain.
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    /// `then if condition else otherwise`.
    Choice {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
}

/// An argument of a call.
#[derive(Debug)]
pub(super) struct CallArg {
    /// The keyword, if there is one.
    pub(super) name: Option<String>,
    pub(super) value: Expr,
}

/// Arithmetic on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
}

impl BinaryOp {
    /// Reads the operator.
    pub(super) fn parse(op: &str) -> Option<Self> {
        Some(match op {
            "+" => Self::Add,
            "-" => Self::Sub,
            "*" => Self::Mul,
            "//" => Self::FloorDiv,
            "%" => Self::Mod,
            "<<" => Self::Shl,
            ">>" => Self::Shr,
            "&" => Self::BitAnd,
            "|" => Self::BitOr,
            "^" => Self::BitXor,
            _ => return None,
        })
    }

    /// Returns the operator as written.
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
        }
    }

    /// Returns how tightly it binds, as in Python; more is tighter.
    pub(super) const fn precedence(self) -> u8 {
        match self {
            Self::BitOr => 1,
            Self::BitXor => 2,
            Self::BitAnd => 3,
            Self::Shl | Self::Shr => 4,
            Self::Add | Self::Sub => 5,
            Self::Mul | Self::FloorDiv | Self::Mod => 6,
        }
    }
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Is,
    IsNot,
    In,
    NotIn,
}
