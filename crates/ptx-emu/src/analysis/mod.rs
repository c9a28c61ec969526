//! Facts about a module that are known without running it.
//!
//! Whoever runs a module many times wants to know that nothing in it outlives a launch. The address
//! of a module variable is followed through registers and parameters; whatever is done with it
//! other than adding offsets and loading from it is reported, and so is anything unknown. An
//! address that a kernel makes up, or finds by reading out of bounds, is beyond it.

mod args;
mod flow;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::{
    ParseError,
    ast::{Function, Init, Ptx, Space, Statement},
    parse::parse,
};

/// Facts of a module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Facts {
    /// Source files by their numbers in [`DebugLocation`]s.
    pub files: BTreeMap<u32, String>,
    /// Variables in global and constant memory.
    pub variables: Vec<ModuleVariable>,
    /// Uses of their addresses other than loads.
    pub misuses: Vec<Misuse>,
    /// Special registers that are read, each with the places of its reads.
    pub special_registers: BTreeMap<String, Vec<Option<DebugLocation>>>,
    /// Accesses to textures and surfaces: their opcodes and places.
    pub textures: Vec<(String, Option<DebugLocation>)>,
    /// Whether atomics may read and write memory of other blocks.
    pub global_atomics: bool,
    /// Functions that other modules would have to bring.
    pub externals: Vec<String>,
    /// Bytes of each parameter of the kernels.
    pub entries: BTreeMap<String, Vec<usize>>,
    /// Registers that all functions declare.
    pub registers: u64,
}

/// A variable of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleVariable {
    /// Its name.
    pub name: String,
    /// Its size in bytes; 0 for one that another module would have to bring.
    pub bytes: usize,
    /// Declared here, defined elsewhere.
    pub is_extern: bool,
}

/// Where an instruction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugLocation {
    /// File and line.
    pub at: (u32, u32),
    /// File and line of the call that it was inlined for.
    pub inlined_at: Option<(u32, u32)>,
}

/// Uses of the address of a module variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MisuseKind {
    /// Memory at it is written.
    Written,
    /// It is stored to memory, or lies in the initial value of another variable and is read from
    /// there in parts.
    Stored,
    /// It is passed to a function that is not known.
    Passed,
    /// It is compared with something, so that a branch may depend on it.
    Compared,
    /// An instruction takes it for a number, or is not known.
    Computed,
}

/// A use of the address of a module variable that is no load.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misuse {
    /// Name of the variable.
    pub variable: String,
    /// The use.
    pub kind: MisuseKind,
    /// Opcode of the instruction.
    pub opcode: String,
    /// Where it comes from.
    pub place: Option<DebugLocation>,
}

/// Functions of the device runtime that only read through their arguments.
pub const READERS: [&str; 2] = ["vprintf", "__assertfail"];

/// Finds the facts of a module without running it.
///
/// # Errors
/// The first place where the text is not PTX.
pub fn analyse(ptx: &str) -> Result<Facts, ParseError> {
    plain_text(ptx)?;
    let tree = parse(ptx)?;
    readable(&tree)?;
    let mut facts = Facts { externals: externals(&tree), ..Facts::default() };
    facts.files = tree.files.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
    for function in tree.functions.iter().filter(|function| function.is_entry) {
        let sizes = function.params.iter().map(|param| param.bytes).collect();
        facts.entries.insert(function.name.to_owned(), sizes);
    }
    let resolved = names::resolve(&tree, &mut facts);
    flow::follow(&resolved, &mut facts);
    Ok(facts)
}

/// Refuses characters that another reader of PTX may take for the end of a comment or string, or
/// for its going on.
fn plain_text(ptx: &str) -> Result<(), ParseError> {
    let bytes = ptx.as_bytes();
    let odd = |at: usize, byte: u8| match byte {
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        b'\n' | b'\t' => false,
        b'\\' => true,
        byte => byte.is_ascii_control(),
    };
    match bytes.iter().enumerate().find(|(at, byte)| odd(*at, **byte)) {
        Some((at, byte)) => {
            Err(ParseError::at(ptx, at, format!("the character 0x{byte:02x} is not accepted")))
        }
        None => Ok(()),
    }
}

/// Refuses instructions that cannot be read: nobody knows what they do with an address.
fn readable(tree: &Ptx<'_>) -> Result<(), ParseError> {
    let mut statements = tree.functions.iter().flat_map(|function| function.body.iter().flatten());
    let problem = statements.find_map(|statement| match statement {
        Statement::Instruction(instruction) => instruction.problem.clone(),
        _ => None,
    });
    problem.map_or(Ok(()), Err)
}

/// Names of functions that are declared and not defined.
fn externals(tree: &Ptx<'_>) -> Vec<String> {
    let defined = |name: &str| tree.functions.iter().any(|f| f.name == name && f.body.is_some());
    let declared = tree.functions.iter().filter(|f| f.body.is_none() && !defined(f.name));
    let mut names: Vec<String> = declared.map(|function| function.name.to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Variables of global and constant memory, those that stand inside functions included.
fn module_variables<'t, 'a>(
    tree: &'t Ptx<'a>,
) -> impl Iterator<Item = &'t crate::ast::Variable<'a>> {
    let inside = tree.functions.iter().filter_map(|function: &Function<'_>| function.body.as_ref());
    let inside = inside.flatten().filter_map(|statement| match statement {
        Statement::Variable(variable) => Some(variable),
        _ => None,
    });
    tree.variables
        .iter()
        .chain(inside)
        .filter(|variable| matches!(variable.space, Space::Global | Space::Const))
}

/// Names whose addresses are initial values of a variable.
fn addresses<'t, 'a>(variable: &'t crate::ast::Variable<'a>) -> impl Iterator<Item = &'a str> + 't {
    variable.init.iter().filter_map(|init| match init {
        Init::Symbol(name, _) => Some(*name),
        Init::Int(_) | Init::F32(_) | Init::F64(_) => None,
    })
}
