//! The guard behind NVRTC: what compiled code may not hold.
//!
//! The judge launches a kernel many times; a variable that outlives a launch could carry an
//! answer from one to the next. So no launch may write a module's variable. Constants live in
//! the same space (string literals, lookup tables, CCCL's empty objects), so each variable's
//! address is followed through the registers: flow-insensitive, and strict where it loses sight
//! of an address.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    compile::{Compiled, signature},
    record::{Finding, ParamType, SourceSpan},
};

/// Functions outside the module that may be called.
const EXTERNALS: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// Refuses compiled code that keeps state between launches, launches kernels of its own, uses
/// textures, or whose parameters are not what its signature says.
///
/// # Errors
///
/// The finding names the variable or function, and the line where it is known.
pub fn guard_ptx(compiled: &Compiled) -> Result<(), Box<Finding>> {
    let module = Module::read(&compiled.ptx);
    refuse_externals(&module)?;
    check_parameters(compiled, &module)?;
    if module.variables.is_empty() {
        return Ok(());
    }
    for function in &module.functions {
        if let Some(write) = find_write(function, &module.variables) {
            return Err(write.finding(module.kernel_file));
        }
    }
    Ok(())
}

/// The parts of a PTX module that the guard looks at.
#[derive(Default)]
struct Module<'a> {
    /// Names of the variables in global memory.
    variables: BTreeSet<&'a str>,
    /// Names of functions that other modules would have to bring.
    externals: Vec<&'a str>,
    /// Textures, surfaces and samplers.
    opaque: Option<&'a str>,
    /// Sizes of the parameters of each kernel, in bytes.
    parameters: BTreeMap<&'a str, Vec<usize>>,
    /// Bodies of kernels and functions, as statements.
    functions: Vec<Vec<Statement<'a>>>,
    /// Number of the kernel file in `.loc` directives.
    kernel_file: Option<u32>,
}

/// One statement of a function's body.
#[derive(Clone, Copy)]
struct Statement<'a> {
    text: &'a str,
    /// File and line of the last `.loc` before it.
    place: Option<(u32, u32)>,
}

impl<'a> Module<'a> {
    fn read(ptx: &'a str) -> Self {
        let mut module = Self::default();
        let mut rest = ptx;
        while let Some(item) = next_item(&mut rest) {
            module.add(item);
        }
        module
    }

    fn add(&mut self, item: Item<'a>) {
        let head = item.head;
        let words: Vec<&str> = head.split_whitespace().collect();
        let has = |directive: &str| words.contains(&directive);
        if has(".entry") {
            self.parameters.insert(name_after(head, ".entry"), parameter_sizes(head));
        } else if has(".extern") && has(".func") {
            self.externals.push(name_after(head, ".func"));
        } else if [".texref", ".surfref", ".samplerref"].into_iter().any(has) {
            self.opaque = Some(words.last().copied().unwrap_or_default());
        } else if has(".global") {
            self.variables.extend(variable_name(head));
        } else if let Some(rest) = head.strip_prefix(".file") {
            let (number, name) = rest.trim().split_once([' ', '\t']).unwrap_or_default();
            let name = name.trim().trim_matches('"');
            if name == super::super::PROGRAM || name.ends_with("/k.cu") {
                self.kernel_file = number.parse().ok();
            }
        }
        if let Some(body) = item.body.filter(|_| has(".entry") || has(".func")) {
            self.functions.push(statements(body));
        }
    }
}

/// A declaration at module level: its text, and the body of a function.
struct Item<'a> {
    head: &'a str,
    body: Option<&'a str>,
}

/// Takes the next declaration off the text.
fn next_item<'a>(rest: &mut &'a str) -> Option<Item<'a>> {
    *rest = rest.trim_start();
    if rest.is_empty() {
        return None;
    }
    let line_end = rest.find('\n').unwrap_or(rest.len());
    let one_line = ["//", ".version", ".target", ".address_size", ".file", ".loc", "@@"];
    if one_line.iter().any(|directive| rest.starts_with(directive)) {
        let head = &rest[..line_end];
        *rest = &rest[line_end..];
        return Some(Item { head, body: None });
    }
    let stop = rest.find([';', '{']).unwrap_or(rest.len() - 1);
    let is_body = rest.as_bytes()[stop] == b'{' && !rest[..stop].contains('=');
    if !is_body {
        let end = rest.find(';').map_or(rest.len(), |end| end + 1);
        let head = &rest[..end];
        *rest = &rest[end..];
        return Some(Item { head, body: None });
    }
    let head = &rest[..stop];
    let end = stop + body_len(&rest[stop..]);
    let body = Some(&rest[stop + 1..end.max(stop + 1)]);
    *rest = rest.get(end + 1..).unwrap_or_default();
    Some(Item { head, body })
}

/// Returns the offset of the brace that closes the one at the start.
fn body_len(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// Returns the function's name: the first one after the directive and its return parameters.
fn name_after<'a>(head: &'a str, directive: &str) -> &'a str {
    let rest = head.split_once(directive).map_or("", |(_, rest)| rest).trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(returns) => returns.split_once(')').map_or("", |(_, rest)| rest).trim_start(),
        None => rest,
    };
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    &rest[..end]
}

/// Returns the name a declaration of a variable gives.
fn variable_name(head: &str) -> Option<&str> {
    let declaration = head.split(['=', '[', ';']).next()?;
    declaration.split_whitespace().next_back()
}

/// Reads the sizes of a kernel's parameters.
fn parameter_sizes(head: &str) -> Vec<usize> {
    head.split(".param").skip(1).map(parameter_size).collect()
}

fn parameter_size(declaration: &str) -> usize {
    let declaration = declaration.split(',').next().unwrap_or_default();
    let element = declaration.split_whitespace().find_map(|word| {
        let bits = word.strip_prefix('.')?.trim_start_matches(['u', 's', 'b', 'f']);
        bits.parse::<usize>().ok()
    });
    let array = declaration.split_once('[').and_then(|(_, rest)| rest.split(']').next());
    let count = array.map_or(1, |count| count.trim().parse().unwrap_or(0));
    element.unwrap_or(0) / 8 * count
}

/// Splits a body into statements, with the place of each.
fn statements(body: &str) -> Vec<Statement<'_>> {
    let mut place = None;
    let mut found = Vec::new();
    let mut pending: Option<(usize, Option<(u32, u32)>)> = None;
    let mut offset = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim();
        if let Some(loc) = text.strip_prefix(".loc").filter(|_| pending.is_none()) {
            let mut numbers = loc.split_whitespace().map(str::parse);
            if let (Some(Ok(file)), Some(Ok(line))) = (numbers.next(), numbers.next()) {
                place = Some((file, line));
            }
        } else if !text.is_empty() && !text.starts_with("//") {
            let (start, at) = *pending.get_or_insert((offset, place));
            if text.ends_with([';', '{', '}', ':']) || text.contains("//") {
                let whole = &body[start..offset + line.len()];
                found.extend(split_code(whole).map(|text| Statement { text, place: at }));
                pending = None;
            }
        }
        offset += line.len();
    }
    found
}

/// Splits at semicolons and at the braces of scopes, but not at those of vectors: `{%r1, %r2}`.
fn split_code(code: &str) -> impl Iterator<Item = &str> {
    let mut in_vector = false;
    let mut start = true;
    code.split(move |c: char| {
        let is_end = match c {
            '{' if !start => {
                in_vector = true;
                false
            }
            '}' if in_vector => {
                in_vector = false;
                false
            }
            ';' => {
                in_vector = false;
                true
            }
            '{' | '}' => true,
            _ => false,
        };
        start = is_end || start && c.is_whitespace();
        is_end
    })
}

fn refuse_externals(module: &Module<'_>) -> Result<(), Box<Finding>> {
    if let Some(name) = module.externals.iter().find(|name| !EXTERNALS.contains(name)) {
        let message = if name.starts_with("cudaLaunch") || name.starts_with("cudaGetParameter") {
            "the kernel launches another kernel; only the plan launches kernels".to_owned()
        } else {
            format!("the kernel calls `{name}`, which no GPU library here provides")
        };
        return Err(Box::new(Finding::new(message)));
    }
    match module.opaque {
        Some(name) => Err(Box::new(Finding::new(format!(
            "`{name}` is a texture, surface or sampler, which kgen does not provide"
        )))),
        None => Ok(()),
    }
}

/// Compares the signatures, which macros can falsify, with the compiled parameters.
fn check_parameters(compiled: &Compiled, module: &Module<'_>) -> Result<(), Box<Finding>> {
    for (signature, entry) in compiled.signatures.iter().zip(&compiled.entries) {
        let Some(sizes) = module.parameters.get(entry.as_str()) else { continue };
        let fits = |(param, size): (&ParamType, &usize)| match param {
            ParamType::Pointer { .. } => *size == 8,
            ParamType::Int { bits, .. } => {
                usize::try_from(*bits).is_ok_and(|bits| bits == size * 8)
            }
            ParamType::Bool => *size == 1,
            ParamType::Float { dtype } => dtype.size() == *size,
            ParamType::Other { .. } => true,
        };
        let equal = signature.params.len() == sizes.len();
        if !equal || !signature.params.iter().zip(sizes).all(fits) {
            return Err(Box::new(Finding::new(format!(
                "the parameters of `{}` cannot be told from its declaration; spell its parameter \
                 types without macros that redefine C++ words",
                signature.kernel
            ))));
        }
    }
    Ok(())
}

/// A use of a variable that may write it.
struct Write<'a> {
    variable: &'a str,
    place: Option<(u32, u32)>,
    escapes: bool,
}

impl Write<'_> {
    fn finding(&self, kernel_file: Option<u32>) -> Box<Finding> {
        let readable = signature::demangle(self.variable);
        let name = readable.as_deref().unwrap_or(self.variable);
        let message = if self.escapes && self.variable.starts_with("$str") {
            "a string literal is stored or passed on, for example to the `%s` of a printf: write \
             the text into the format itself"
                .to_owned()
        } else if self.escapes {
            format!("the address of the module variable `{name}` is stored or passed on")
        } else {
            format!(
                "the kernel writes the module variable `{name}`, which would outlive the launch"
            )
        };
        let line = self.place.filter(|(file, _)| Some(*file) == kernel_file).map(|(_, line)| line);
        let span = line.map(|line| SourceSpan { line, column: 0, text: String::new() });
        let hint = "keep state in a scratch buffer: `scratch(..)` in the plan, passed as an argument; \
                    kgen clears or poisons it before every launch";
        Box::new(Finding { message, span, hint: Some(hint.to_owned()), fault: None })
    }
}

/// Finds a statement of a function that may write a module variable.
fn find_write<'a>(function: &[Statement<'a>], variables: &BTreeSet<&'a str>) -> Option<Write<'a>> {
    let uses: Vec<Use<'a>> = function
        .iter()
        .enumerate()
        .filter_map(|(at, statement)| Use::read(*statement, &function[at..]))
        .collect();
    let mut holders: BTreeMap<&str, &'a str> =
        variables.iter().map(|variable| (*variable, *variable)).collect();
    loop {
        let before = holders.len();
        for used in uses.iter().filter(|used| used.kind == Kind::Compute) {
            if let Some(variable) = used.sources.iter().find_map(|name| holders.get(name).copied())
            {
                for target in &used.targets {
                    holders.entry(*target).or_insert(variable);
                }
            }
        }
        if holders.len() == before {
            break;
        }
    }
    uses.iter().find_map(|used| {
        let touched = |names: &[&str]| names.iter().find_map(|name| holders.get(name).copied());
        let (variable, escapes) = match used.kind {
            Kind::Compute | Kind::Read => return None,
            Kind::Store => match touched(&used.targets) {
                Some(variable) => (variable, false),
                None => (touched(&used.sources)?, true),
            },
            Kind::Unknown => (touched(&used.targets).or_else(|| touched(&used.sources))?, false),
        };
        Some(Write { variable, place: used.place, escapes })
    })
}

/// What a statement does with names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Computes the targets from the sources.
    Compute,
    /// Reads memory, or passes an address to a function that only reads.
    Read,
    /// Writes memory at the targets; the sources are the values.
    Store,
    /// Anything else: every name may be written.
    Unknown,
}

struct Use<'a> {
    kind: Kind,
    targets: Vec<&'a str>,
    sources: Vec<&'a str>,
    place: Option<(u32, u32)>,
}

impl<'a> Use<'a> {
    /// Reads a statement; `None` when it is no instruction.
    ///
    /// `following`: the statements from this one on, to see what a parameter is passed to.
    fn read(statement: Statement<'a>, following: &[Statement<'a>]) -> Option<Self> {
        let mut text = statement.text.trim();
        while let Some(end) = text.find(':').filter(|end| text[..*end].chars().all(is_name)) {
            text = text[end + 1..].trim_start();
        }
        if text.starts_with('@') {
            text = text.split_once(char::is_whitespace)?.1.trim_start();
        }
        let end = text.find(char::is_whitespace)?;
        let (opcode, operands) = text.split_at(end);
        if opcode.starts_with('.') || opcode.starts_with("//") {
            return None;
        }
        let (first, others) = first_operand(operands);
        let kind = match opcode.split('.').next().unwrap_or_default() {
            "ld" | "ldu" | "prefetch" | "prefetchu" | "setp" | "set" | "bra" | "brx" => Kind::Read,
            "wmma" if opcode.contains(".load") => Kind::Read,
            "st" if opcode.starts_with("st.param") && passed_to_reader(following) => Kind::Read,
            "st" | "cp" => Kind::Store,
            "call" | "ret" | "bar" | "barrier" => return None,
            "mov" | "cvta" | "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "shl" | "shr"
            | "and" | "or" | "xor" | "not" | "neg" | "selp" | "cvt" | "min" | "max" | "bfi"
            | "bfe" | "prmt" | "lop3" | "shf" | "shfl" | "vadd" | "sad" | "isspacep" | "mapa"
            | "addc" | "subc" | "madc" | "abs" | "div" | "rem" => Kind::Compute,
            _ => Kind::Unknown,
        };
        let place = statement.place;
        Some(Self { kind, targets: names(first), sources: names(others), place })
    }
}

/// Tells whether the next call takes addresses only to read: `printf` and `assert`.
fn passed_to_reader(following: &[Statement<'_>]) -> bool {
    let call = following.iter().find(|statement| statement.text.trim_start().starts_with("call"));
    call.is_some_and(|call| {
        names(call.text).iter().any(|name| matches!(*name, "vprintf" | "__assertfail"))
    })
}

/// Splits the operands behind the first one, which may be a list in brackets or braces.
fn first_operand(operands: &str) -> (&str, &str) {
    let mut depth = 0_i32;
    for (at, c) in operands.char_indices() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => return operands.split_at(at),
            _ => {}
        }
    }
    (operands, "")
}

/// Returns the registers and symbols of a piece of text.
fn names(text: &str) -> Vec<&str> {
    text.split(|c| !is_name(c))
        .filter(|name| {
            name.starts_with(['%', '_', '$']) || name.starts_with(|c: char| c.is_ascii_alphabetic())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compile::testing::compile, record::DType};

    fn verdict(body: &str) -> Result<(), Box<Finding>> {
        guard_ptx(&compile(body, &["k"], DType::F32))
    }

    #[test]
    fn state_that_outlives_a_launch_is_refused_with_its_line() {
        let sources = [
            "__device__ int seen;\nextern \"C\" __global__ void k(float* x) {\n  seen = 1;\n}",
            "static __device__ float cache[64] = {1};\nextern \"C\" __global__ void k(float* x) {\n\
             cache[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = cache[1];\n}",
            "__device__ int n;\nextern \"C\" __global__ void k(float* x) {\n  \
             x[atomicAdd(&n, 1)] = 1;\n}",
            "\nextern \"C\" __global__ void k(float* x) {\n  static int calls = 3; x[0] = calls++;\n}",
            "__device__ int a[4];\nextern \"C\" __global__ void k(int** x) {\n  x[0] = a;\n}",
            "__device__ int4 a;\nextern \"C\" __global__ void k(int4* x, int n) {\n  \
             int4* p = n > 2 ? &a : x; *p = make_int4(1, 2, 3, n);\n}",
            "__device__ float a[2];\nextern \"C\" __global__ void k(float2* x) {\n  \
             *(float2*)a = x[0]; __syncthreads(); x[1] = *(float2*)a;\n}",
            "__device__ int a;\nextern \"C\" __global__ void k(int n) {\n  \
             asm volatile(\"{ .reg .u32 t; mov.u32 t, %1; st.u32 [%0], t; }\" :: \"l\"(&a), \"r\"(n));\n}",
            "\nextern \"C\" __global__ void k(int n) {\n  printf(\"%s %d\", \"text\", n);\n}",
        ];
        for source in sources {
            let finding = verdict(source).expect_err(source);
            assert_eq!(finding.span.map(|span| span.line), Some(3), "{source}");
            assert!(finding.hint.is_some());
        }
    }

    #[test]
    fn constants_and_printf_are_no_state() {
        let sources = [
            "__device__ const float t[4] = {1, 2, 3, 4}; __constant__ float c[2];\n\
             extern \"C\" __global__ void k(float* x, int n) { x[0] = t[n & 3] + c[n & 1]; }",
            "__device__ const float4 t[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};\n\
             extern \"C\" __global__ void k(float4* x, int n) { x[0] = t[n & 1]; }",
            "extern \"C\" __global__ void k(float* x, int n) {\n\
             assert(n > 0); printf(\"n = %d\\n\", n); x[0] = sinf(x[1]); }",
            "extern \"C\" __global__ void k(float* x) { __shared__ float s[64];\n\
             s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[63 - threadIdx.x]; }",
            "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
             extern \"C\" __global__ void k(float* x) { auto b = cg::this_thread_block();\n\
             b.sync(); x[b.thread_rank()] = 1; }",
        ];
        for source in sources {
            verdict(source).unwrap_or_else(|finding| panic!("{source}: {}", finding.message));
        }
    }

    #[test]
    fn a_falsified_signature_is_found() {
        let source = "extern \"C\" __global__ void k(double* x, int n) {}\n\
                      #define decltype(x) void (*)(double*, long long)";
        assert!(verdict(source).unwrap_err().message.contains("parameters of `k`"));
    }
}
