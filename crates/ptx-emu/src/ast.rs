//! The syntax tree of a PTX module: names and literals as written, nothing resolved.

#[derive(Debug, Default)]
pub(crate) struct Ptx<'a> {
    /// The number of the `.address_size` directive, and where it stands.
    pub address_size: Option<(u64, usize)>,
    /// `.file` directives: index and name.
    pub files: Vec<(u32, &'a str)>,
    /// Variables outside functions.
    pub variables: Vec<Variable<'a>>,
    /// Functions and kernels, declarations included.
    pub functions: Vec<Function<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Const,
    Shared,
    Local,
    Param,
    /// Of parameters alone.
    Register,
}

#[derive(Debug, Clone)]
pub(crate) struct Variable<'a> {
    /// Where it lives.
    pub space: Space,
    /// Its name.
    pub name: &'a str,
    /// Alignment in bytes.
    pub align: u32,
    /// Bytes of one element; 0 for a predicate.
    pub element_bytes: u32,
    /// Numbers of which an element is made; more than one of a vector type.
    pub lanes: u32,
    /// Size in bytes; 0 for an array without a length.
    pub bytes: usize,
    /// `.extern`
    pub is_extern: bool,
    /// Initial values, one per element from the start; the rest is zero.
    pub init: Vec<Init<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Init<'a> {
    /// Integer bits.
    Int(u64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64.
    F64(u64),
    /// Address of a symbol plus an offset.
    Symbol(&'a str, i64),
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    /// Name.
    pub name: &'a str,
    /// `.entry`
    pub is_entry: bool,
    /// Return values.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// Cluster directives.
    pub cluster: ClusterRules,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
}

/// Demands of a kernel's directives on the clusters it is launched in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClusterRules {
    /// `.reqnctapercluster`: blocks along x, y, z.
    pub required: Option<[u32; 3]>,
    /// `.explicitcluster`: the launch must say its clusters.
    pub explicit: bool,
    /// `.maxclusterrank`: most blocks of a cluster.
    pub max_rank: Option<u32>,
}

/// A source position: file index, line, column.
pub(crate) type Position = (u32, u32, u32);

#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Reg(Registers<'a>),
    Variable(Variable<'a>),
    Label(&'a str),
    /// `.loc` with where the code was inlined at.
    Loc(Position, Option<Position>),
    /// `name: .branchtargets a, b, c;`
    BranchTargets(&'a str, Vec<&'a str>),
    /// `{`
    Open,
    /// `}`
    Close,
    Instruction(Instruction<'a>),
}

/// `.reg`
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registers<'a> {
    /// Type, without its dot.
    pub ty: &'a str,
    /// Name, or the prefix of names.
    pub name: &'a str,
    /// The count of a `<n>` range.
    pub count: Option<u32>,
    /// Elements of a vector; 1 for a scalar.
    pub lanes: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Instruction<'a> {
    /// Predicate register and whether it is negated.
    pub guard: Option<(&'a str, bool)>,
    /// Opcode with its modifiers.
    pub opcode: &'a str,
    /// Operands in order.
    pub operands: Vec<Operand<'a>>,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// The instruction's text without its semicolon.
    pub text: &'a str,
    /// Byte offset of `text` in the PTX.
    pub start: usize,
    /// Why it cannot be read; then there is no opcode and no operand.
    pub problem: Option<crate::ParseError>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    /// Register, special register, label or symbol.
    Name(&'a str),
    /// `!name`
    Not(&'a str),
    /// Symbol or register with an offset.
    Offset(&'a str, i64),
    /// Element of a vector register.
    Lane(&'a str, u32),
    /// Integer bits, sign-extended.
    Int(u64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64.
    F64(u64),
    /// `[base + offset]`; the base is a name or an absolute number.
    Address(Option<&'a str>, i64),
    /// `{a, b, ..}`
    Vector(Vec<Self>),
    /// `(a, b, ..)` of a call.
    List(Vec<Self>),
    /// `a|b`
    Pair(Box<Self>, Box<Self>),
}
