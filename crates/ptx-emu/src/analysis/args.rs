//! Operands with their names resolved.

/// Number of a module variable.
pub(super) type Variable = usize;

/// The object that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    /// A register, numbered within its function.
    Register(usize),
    /// The address of a module variable.
    Module(Variable),
    /// A variable of the parameter space: arguments, results, and those of calls.
    Param(usize),
    /// A function that the module defines.
    Function(usize),
    /// A function that only reads through its arguments.
    Reader,
    /// Labels, shared and local variables, special registers, undeclared names.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arg {
    Name(Entity),
    Number(i64),
    /// A bracketed address: its base and offset.
    Address(Entity, i64),
    /// The parts of a vector, list or pair.
    Many(Vec<Self>),
}

impl Arg {
    /// Every name of the operand, that of an address included.
    pub(super) fn entities(&self) -> Vec<Entity> {
        match self {
            Self::Name(entity) | Self::Address(entity, _) => vec![*entity],
            Self::Number(_) => Vec::new(),
            Self::Many(parts) => parts.iter().flat_map(Self::entities).collect(),
        }
    }

    /// The operand, or the parts of a vector.
    pub(super) fn parts(&self) -> &[Self] {
        match self {
            Self::Many(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }
}

#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) opcode: &'a str,
    pub(super) args: Vec<Arg>,
    pub(super) place: Option<super::DebugLocation>,
}

impl<'a> Step<'a> {
    /// The opcode without its modifiers.
    pub(super) fn head(&self) -> &'a str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Bits of the type that the opcode ends with; 0 where that is no plain type.
    pub(super) fn bits(&self) -> i64 {
        let last = self.opcode.rsplit('.').next().unwrap_or_default();
        let digits = last.trim_start_matches(['u', 's', 'b', 'f']);
        if digits.len() + 1 == last.len() { digits.parse().unwrap_or(0) } else { 0 }
    }

    /// Whether the opcode is one of these, modifiers included.
    pub(super) fn is(&self, opcodes: &[&str]) -> bool {
        opcodes.contains(&self.opcode)
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|part| part == modifier)
    }
}

/// A function with its names resolved.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// How many registers its instructions name.
    pub(super) registers: usize,
    /// Its parameters, as [`Entity::Param`].
    pub(super) params: Vec<usize>,
    /// Its results, as [`Entity::Param`].
    pub(super) returns: Vec<usize>,
}

/// A module with its names resolved.
#[derive(Debug, Default)]
pub(super) struct Resolved<'a> {
    pub(super) variables: Vec<&'a str>,
    /// Module variables whose addresses are in the initial value of each.
    pub(super) pointees: Vec<Vec<Variable>>,
    pub(super) bodies: Vec<Body<'a>>,
    /// How many variables of the parameter space there are.
    pub(super) params: usize,
}
