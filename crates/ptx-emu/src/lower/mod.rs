//! From the syntax tree to executable operations.
//!
//! Registers become indices into per-class files, literals become constant registers, labels become
//! program counters. An unknown instruction lowers to [`Op::Unsupported`], which stops a launch
//! only when it is reached.

mod arithmetic;
pub(crate) mod bulk;
mod call;
mod cluster;
mod compare;
mod control;
mod convert;
mod forks;
pub(crate) mod forms;
mod layout;
mod matrix;
mod memory;
mod modifiers;
mod operand;
mod order;
mod symbols;
mod sync;
mod undefined;
mod wgmma;

use std::{collections::HashMap, sync::OnceLock};

pub(crate) use self::undefined::targets;
use self::{forms::Decoder, modifiers::Modifiers, symbols::Symbol};
use crate::{
    ParseError,
    alu::convert::Conversion,
    ast::{
        ClusterRules, Function, Init, Instruction, Operand, Position, Ptx, Space, Statement,
        Variable,
    },
    exec::sanitize::numbers::Formats,
    op::{
        AsyncOp, AtomicOp, BarrierOp, BuiltinOp, BulkOp, CallOp, CarryOp, ClusterOp, Code, Const,
        MatrixOp, MemoryOp, Op, Origin, R, Reg, WarpSyncOp,
    },
};

/// Why an instruction cannot be lowered.
type Lowered<T> = Result<T, String>;

#[derive(Debug, Clone)]
pub(crate) struct ModuleVariable {
    /// Name in the PTX.
    pub name: String,
    /// Source-level name as far as PTX keeps it.
    pub label: String,
    /// Where it lives.
    pub space: Space,
    /// Size in bytes.
    pub bytes: usize,
    /// Bytes of one element.
    pub element_bytes: usize,
    /// Alignment.
    pub align: u32,
    /// Dynamic shared memory.
    pub is_extern: bool,
    /// Whether the module gives it a value.
    pub is_initialised: bool,
    /// Initial bytes from the start; the others are zero.
    pub init: Vec<u8>,
    /// Places in `init` that receive the address of a variable plus an offset.
    pub relocations: Vec<(usize, u32, u64)>,
}

impl ModuleVariable {
    /// Whether it lives in a buffer of its own.
    pub(crate) fn is_global(&self) -> bool {
        matches!(self.space, Space::Global | Space::Const)
    }
}

#[derive(Debug)]
pub(crate) struct Signature {
    /// Name.
    pub name: String,
    /// Kernel, else device function.
    pub is_entry: bool,
    /// Offset and size of each kernel parameter.
    pub params: Vec<(usize, usize)>,
    /// Size of each result of a device function.
    pub results: Vec<usize>,
    /// Rules of the kernel's directives for clusters.
    pub cluster: ClusterRules,
}

#[derive(Debug, Default)]
pub(crate) struct Program {
    /// All operations.
    pub ops: Vec<Op>,
    /// Where each comes from.
    pub origins: Vec<Origin>,
    /// Functions with a body and, at the same index, their signatures.
    pub code: Vec<Code>,
    pub signatures: Vec<Signature>,
    pub variables: Vec<ModuleVariable>,
    pub memory: Vec<MemoryOp>,
    pub atomics: Vec<AtomicOp>,
    pub carries: Vec<CarryOp>,
    pub conversions: Vec<(Conversion, Reg, Reg, Option<Reg>)>,
    pub syncs: Vec<WarpSyncOp>,
    pub matrices: Vec<MatrixOp>,
    pub copies: Vec<AsyncOp>,
    pub cluster_ops: Vec<ClusterOp>,
    pub bulks: Vec<BulkOp>,
    pub barriers: Vec<BarrierOp>,
    pub calls: Vec<CallOp>,
    pub builtins: Vec<BuiltinOp>,
    pub branch_tables: Vec<Vec<u32>>,
    pub unsupported: Vec<String>,
    /// Whether a kernel reads registers that only a launch of the whole grid sets (`%envreg`).
    pub cooperative: bool,
    /// The variable that stands for the system's part of a block's shared memory.
    pub reserved: Option<u32>,
    /// The PTX text, for messages.
    pub text: String,
    /// Last path component of the kernel file.
    pub file: String,
    formats: OnceLock<Vec<Option<Formats>>>,
    /// Whether anything in it orders accesses between threads but barriers.
    pub fences: bool,
    undefined: OnceLock<Vec<Vec<Reg>>>,
    /// Barriers that each [`Op::Fork`] leaves behind where it branches, and where it does not.
    pub forks: HashMap<u32, [Vec<u32>; 2]>,
}

impl Program {
    /// Formats of the numbers that each operation makes, if it computes floats.
    pub(crate) fn formats(&self) -> &[Option<Formats>] {
        self.formats.get_or_init(|| {
            let text = |o: &Origin| self.text.get(o.text.0 as usize..o.text.1 as usize);
            self.origins.iter().map(|o| Formats::of(opcode(text(o).unwrap_or("")))).collect()
        })
    }

    /// The functions that may run when `function` does, itself included.
    pub(crate) fn reachable(&self, function: usize) -> Vec<usize> {
        let mut seen = vec![false; self.code.len()];
        let mut work = vec![function];
        let mut list = Vec::new();
        while let Some(f) = work.pop() {
            if std::mem::replace(&mut seen[f], true) {
                continue;
            }
            list.push(f);
            for call in &self.code[f].calls {
                match call {
                    Some(index) => work.push(*index as usize),
                    None => work.extend((0..self.code.len()).filter(|f| !seen[*f])),
                }
            }
        }
        list
    }

    /// The registers of a function that may be read before they are written.
    pub(crate) fn undefined(&self, function: u32) -> &[Reg] {
        &self.undefined.get_or_init(|| undefined::undefined(self))[function as usize]
    }

    /// Line of the kernel file and text of the instruction at `pc`.
    pub(crate) fn place_of(&self, pc: u32) -> (Option<u32>, String) {
        let origin = self.origins[pc as usize];
        let (start, end) = origin.text;
        let text = self.text.get(start as usize..end as usize).unwrap_or("");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (Some(origin.line).filter(|l| *l != 0), text)
    }

    /// Opcode, line and message of an instruction that is not known.
    pub(crate) fn refusal(&self, pc: usize, reason: &str) -> (String, Option<u32>, String) {
        let (line, text) = self.place_of(pc as u32);
        let instruction = opcode(&text).to_owned();
        let at = match line {
            Some(line) => format!("{}:{line}", self.file),
            None => format!("PTX line {}", self.origins[pc].ptx_line),
        };
        let message = if reason == UNKNOWN {
            format!("unsupported: {instruction} ({at})")
        } else {
            format!("unsupported: {instruction} ({at}): {reason}")
        };
        (instruction, line, message)
    }
}

/// The refusal that needs no more words than the instruction itself.
const UNKNOWN: &str = "the instruction is not known";

/// The opcode of an instruction's text.
pub(crate) fn opcode(text: &str) -> &str {
    let mut words = text.split_whitespace();
    words.find(|w| !w.starts_with('@')).unwrap_or("").trim_end_matches(';')
}

pub(crate) fn lower<'a>(ptx: &Ptx<'a>, text: &'a str) -> Result<Program, ParseError> {
    let mut program = Program { text: text.to_owned(), ..Program::default() };
    if let Some((size, at)) = ptx.address_size.filter(|(size, _)| *size != 64) {
        let message = format!("`.address_size {size}`: the emulator runs 64-bit modules only");
        return Err(ParseError::at(text, at, message));
    }
    let mut names = Names { text, main_file: main_file(ptx), ..Names::default() };
    program.file = names.main_file.1.clone();
    for variable in &ptx.variables {
        let index = declare(&mut program, variable);
        names.variables.insert(variable.name, index);
    }
    for function in ptx.functions.iter().filter(|f| f.body.is_some()) {
        names.functions.insert(function.name, program.signatures.len() as u32);
        program.signatures.push(signature(function));
    }
    let mut local = Vec::new();
    for function in &ptx.functions {
        for statement in function.body.iter().flatten() {
            if let Statement::Variable(v) = statement
                && !matches!(v.space, Space::Local | Space::Param)
            {
                let index = declare(&mut program, v);
                names.local_variables.insert((function.name, v.name), index);
                local.push((index, function.name, v));
            }
        }
    }
    for variable in &ptx.variables {
        let index = names.variables[variable.name];
        initialise(&mut program, index, "", variable, &names)?;
    }
    for (index, function, variable) in local {
        initialise(&mut program, index, function, variable, &names)?;
    }
    let mut decoder = Decoder::default();
    for function in &ptx.functions {
        if let Some(body) = &function.body {
            let code = Builder::new(&mut program, &names, &mut decoder, function).run(body)?;
            program.code.push(code);
        }
    }
    forks::mark(&mut program);
    Ok(program)
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Index and name of the kernel file: NVRTC's `k.cu`, else the first file.
fn main_file(ptx: &Ptx<'_>) -> (u32, String) {
    let named = ptx.files.iter().find(|(_, name)| base_name(name) == "k.cu");
    let file = named.or_else(|| ptx.files.iter().min_by_key(|(i, _)| *i));
    file.map_or((1, "k.cu".to_owned()), |(i, name)| (*i, base_name(name).to_owned()))
}

fn signature(function: &Function<'_>) -> Signature {
    let mut offset = 0;
    let mut params = Vec::new();
    for param in &function.params {
        offset = usize::next_multiple_of(offset, param.align as usize);
        params.push((offset, param.bytes));
        offset += param.bytes;
    }
    let cluster = function.cluster;
    let results = function.returns.iter().map(|result| result.bytes).collect();
    let (name, is_entry) = (function.name.to_owned(), function.is_entry);
    Signature { name, is_entry, params, results, cluster }
}

/// The variable's own name in a mangled one, such as `s` in `_ZZ3undE1s` (of `und`), `_ZN2ab1sE` and
/// `_ZL1s`; other names stay.
fn label(name: &str) -> String {
    let nested = name.strip_prefix("_ZN").and_then(|rest| rest.strip_suffix('E'));
    let inside = || name.starts_with("_ZZ").then(|| name.rfind('E').map(|i| &name[i + 1..]))?;
    let Some(mut rest) = nested.or_else(|| name.strip_prefix("_ZL")).or_else(inside) else {
        return name.to_owned();
    };
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().unwrap_or(0);
        let end = digits.saturating_add(length);
        match (rest.get(digits..end), rest.get(end..)) {
            (Some(part), Some("")) if !part.is_empty() => return part.to_owned(),
            (Some(part), Some(more)) if nested.is_some() && !part.is_empty() => rest = more,
            (Some(part), Some(_)) if !part.is_empty() => return part.to_owned(),
            _ => return name.to_owned(),
        }
    }
}

fn declare(program: &mut Program, v: &Variable<'_>) -> u32 {
    program.variables.push(ModuleVariable {
        name: v.name.to_owned(),
        label: label(v.name),
        space: v.space,
        bytes: v.bytes,
        element_bytes: v.element_bytes as usize,
        align: v.align,
        is_extern: v.is_extern,
        is_initialised: !v.init.is_empty(),
        init: Vec::new(),
        relocations: Vec::new(),
    });
    program.variables.len() as u32 - 1
}

/// Fills a variable, of `function` if it stands inside one.
fn initialise(
    program: &mut Program,
    index: u32,
    function: &str,
    v: &Variable<'_>,
    names: &Names<'_>,
) -> Result<(), ParseError> {
    let size = (v.element_bytes / v.lanes) as usize;
    // Elements past the initialised ones are zero and take no space here.
    let mut bytes = vec![0; v.bytes.min(v.init.len() * size)];
    let mut relocations = Vec::new();
    for (i, value) in v.init.iter().enumerate() {
        let bits = match *value {
            Init::Int(bits) => bits,
            Init::F32(bits) if size == 8 => f64::from(f32::from_bits(bits)).to_bits(),
            Init::F32(bits) => u64::from(bits),
            Init::F64(bits) if size == 4 => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Init::F64(bits) => bits,
            Init::Symbol(name, offset) => {
                if let Some(f) = names.functions.get(name) {
                    function_address(*f)
                } else {
                    let inside = names.local_variables.get(&(function, name));
                    let Some(target) = inside.or_else(|| names.variables.get(name)) else {
                        let message = format!("`{}` holds the address of unknown `{name}`", v.name);
                        return Err(ParseError::at_part(names.text, name, message));
                    };
                    relocations.push((i * size, *target, offset as u64));
                    0
                }
            }
        };
        if let Some(slot) = bytes.get_mut(i * size..(i + 1) * size) {
            slot.copy_from_slice(&bits.to_le_bytes()[..size.min(8)]);
        }
    }
    let variable = &mut program.variables[index as usize];
    variable.init = bytes;
    variable.relocations = relocations;
    Ok(())
}

/// The value that `mov` of a function's name yields: recognisable, and no buffer's address.
pub(crate) fn function_address(index: u32) -> u64 {
    (0xfffd << 48) | u64::from(index) << 8
}

#[derive(Debug, Default)]
struct Names<'a> {
    /// The module's text, which all names are parts of.
    text: &'a str,
    variables: HashMap<&'a str, u32>,
    local_variables: HashMap<(&'a str, &'a str), u32>,
    functions: HashMap<&'a str, u32>,
    main_file: (u32, String),
}

struct Builder<'a, 'p> {
    program: &'p mut Program,
    names: &'p Names<'a>,
    decoder: &'p mut Decoder<'a>,
    function: &'p Function<'a>,
    scopes: Vec<HashMap<&'a str, Symbol>>,
    /// Ranges `%r<22>` of each scope, by prefix: how many and the first register.
    ranges: Vec<HashMap<&'a str, (u32, Symbol)>>,
    registers: [u32; 3],
    consts: [HashMap<Const, R>; 3],
    const_lists: [Vec<Const>; 2],
    frame_bytes: u32,
    code: Code,
    /// Operations with labels as targets.
    ops: Vec<(Op, Origin)>,
    /// Index in `ops` of each label.
    labels: Vec<usize>,
    /// Label by scope path and name.
    label_names: HashMap<(u32, &'a str), u32>,
    scope_parents: Vec<u32>,
    scope_stack: Vec<u32>,
    branch_targets: HashMap<&'a str, Vec<&'a str>>,
    /// Whether there are vector registers.
    vectors: bool,
    /// Results that are registers, and their places and bytes in the frame.
    results: Vec<(Reg, u32, u32)>,
    origin: Origin,
    inlined: HashMap<Position, Option<Position>>,
}

/// Where the size of a frame stops growing.
const MAX_FRAME: u32 = 1 << 28;

/// Most registers of a class that a function declares.
const MAX_REGISTERS: u32 = 1 << 22;

/// Registers of constants are marked until the number of real registers is known.
const CONST_MARK: u32 = 1 << 31;

impl<'a, 'p> Builder<'a, 'p> {
    fn new(
        program: &'p mut Program,
        names: &'p Names<'a>,
        decoder: &'p mut Decoder<'a>,
        function: &'p Function<'a>,
    ) -> Self {
        Self {
            program,
            names,
            decoder,
            function,
            scopes: vec![HashMap::new()],
            ranges: vec![HashMap::new()],
            registers: [0; 3],
            consts: Default::default(),
            const_lists: Default::default(),
            frame_bytes: 0,
            code: Code::default(),
            ops: Vec::new(),
            labels: Vec::new(),
            label_names: HashMap::new(),
            scope_parents: vec![0],
            scope_stack: vec![0],
            branch_targets: HashMap::new(),
            vectors: false,
            results: Vec::new(),
            origin: Origin::default(),
            inlined: HashMap::new(),
        }
    }

    fn run(mut self, body: &[Statement<'a>]) -> Result<Code, ParseError> {
        self.parameters();
        self.prepass(body);
        let mut next_scope = 0;
        for statement in body {
            match statement {
                Statement::Open => {
                    next_scope += 1;
                    self.scope_stack.push(next_scope);
                    self.scopes.push(HashMap::new());
                    self.ranges.push(HashMap::new());
                }
                Statement::Close => {
                    self.scope_stack.pop();
                    self.scopes.pop();
                    self.ranges.pop();
                }
                Statement::Reg(registers) => self.declare_registers(*registers)?,
                Statement::Variable(v) => self.declare_variable(v),
                Statement::Label(name) => {
                    let id = self.find_label(name).expect("the pre-pass saw every label");
                    self.labels[id as usize] = self.ops.len();
                }
                Statement::Loc(at, inlined) => self.origin.line = self.resolve(*at, *inlined),
                Statement::BranchTargets(..) => {}
                Statement::Instruction(i) => self.statement(i),
            }
        }
        self.push_return();
        Ok(self.finish())
    }

    fn scope(&mut self) -> &mut HashMap<&'a str, Symbol> {
        self.scopes.last_mut().expect("the function's scope is never closed")
    }

    /// Collects labels, branch tables and inline positions, which may be used before they stand.
    fn prepass(&mut self, body: &[Statement<'a>]) {
        let mut stack = vec![0_u32];
        for statement in body {
            let scope = stack.last().copied().unwrap_or(0);
            match statement {
                Statement::Open => {
                    self.scope_parents.push(scope);
                    stack.push(self.scope_parents.len() as u32 - 1);
                }
                Statement::Close => _ = stack.pop(),
                Statement::Label(name) => {
                    let id = self.new_label();
                    self.label_names.insert((scope, name), id);
                }
                Statement::BranchTargets(name, targets) => {
                    self.branch_targets.insert(name, targets.clone());
                }
                Statement::Loc(at, inlined) => _ = self.inlined.insert(*at, *inlined),
                _ => {}
            }
        }
    }

    fn new_label(&mut self) -> u32 {
        self.labels.push(usize::MAX);
        self.labels.len() as u32 - 1
    }

    fn find_label(&self, name: &str) -> Option<u32> {
        let mut scope = self.scope_stack.last().copied().unwrap_or(0);
        loop {
            if let Some(id) = self.label_names.get(&(scope, name)) {
                return Some(*id);
            }
            if scope == 0 {
                return None;
            }
            scope = self.scope_parents[scope as usize];
        }
    }

    /// Line of the kernel file that a position stands for, through inlining.
    fn resolve(&self, at: Position, inlined: Option<Position>) -> u32 {
        let main = self.names.main_file.0;
        let (mut at, mut inlined) = (at, inlined);
        for _ in 0..64 {
            if at.0 == main {
                return at.1;
            }
            let Some(outer) = inlined else { return 0 };
            at = outer;
            inlined = self.inlined.get(&at).copied().flatten();
        }
        0
    }

    fn push(&mut self, op: Op) {
        self.program.cooperative |=
            matches!(op, Op::Special(special, _) if special.is_environment());
        self.ops.push((op, self.origin));
    }

    fn temp(&mut self, class: usize) -> R {
        self.registers[class] += 1;
        self.registers[class] - 1
    }

    fn const_w(&mut self, value: u32) -> R {
        self.constant(0, Const::Value(u64::from(value)))
    }

    fn constant(&mut self, class: usize, value: Const) -> R {
        let list = &mut self.const_lists[class];
        *self.consts[class].entry(value).or_insert_with(|| {
            list.push(value);
            CONST_MARK | (list.len() as u32 - 1)
        })
    }

    /// Lowers an instruction, or leaves a refusal in its place.
    fn statement(&mut self, i: &Instruction<'a>) {
        let start = i.start;
        self.origin.ptx_line = i.ptx_line;
        self.origin.text = (start as u32, (start + i.text.len()) as u32);
        let mark = self.ops.len();
        let lowered = match &i.problem {
            Some(problem) => Err(problem.message.clone()),
            None if self.vectors => self.guarded(&self.scalar(i)),
            None => self.guarded(i),
        };
        if let Err(reason) = lowered {
            self.ops.truncate(mark);
            self.refuse(reason);
        }
    }

    fn refuse(&mut self, reason: String) {
        let index = self.program.unsupported.len() as u32;
        self.program.unsupported.push(reason);
        self.push(Op::Unsupported(index));
    }
}
