//! Names of registers, parameters and variables.

use super::{Builder, MAX_FRAME, MAX_REGISTERS};
use crate::{
    ParseError,
    ast::{Instruction, Operand, Registers, Space, Variable},
    op::{R, Reg},
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Symbol {
    Register(Reg),
    /// 128-bit register: the first of two 64-bit ones.
    Wide(R),
    /// Offset in the frame.
    Frame(u32),
    /// Offset in the kernel's parameters.
    KernelParam(u32),
    /// Vector register: how many elements it has, and the first of them.
    Vector(u32, Reg),
}

impl Symbol {
    /// The symbol so many registers behind the first of a range.
    fn behind(self, n: u32) -> Self {
        match self {
            Self::Register(reg) => Self::Register(reg.behind(n)),
            Self::Wide(r) => Self::Wide(r + 2 * n),
            Self::Vector(lanes, reg) => Self::Vector(lanes, reg.behind(n * lanes)),
            other => other,
        }
    }
}

impl<'a> Builder<'a, '_> {
    pub(super) fn frame_slot(&mut self, v: &Variable<'a>) -> u32 {
        let at = self.frame_bytes.next_multiple_of(v.align.max(1));
        // A frame too large for a thread is refused at launch; until then it only has to stay
        // large.
        let bytes = u32::try_from(v.bytes).unwrap_or(MAX_FRAME).min(MAX_FRAME);
        self.frame_bytes = (at + bytes.max(1)).min(MAX_FRAME);
        self.scope().insert(v.name, Symbol::Frame(at));
        at
    }

    pub(super) fn declare_registers(&mut self, registers: Registers<'a>) -> Result<(), ParseError> {
        let Registers { ty, name, count, lanes } = registers;
        let (class, size) = match (ty, crate::parse::type_bytes(ty)) {
            ("pred", _) => (2, 1),
            (_, Some(1 | 2 | 4)) => (0, 1),
            (_, Some(8)) => (1, 1),
            (_, Some(16)) if lanes == 1 => (1, 2),
            // Uses of such registers are refused where they stand.
            _ => return Ok(()),
        };
        let n = count.unwrap_or(1);
        let total = n.saturating_mul(size).saturating_mul(lanes);
        if self.registers[class].saturating_add(total) > MAX_REGISTERS {
            let message = format!("{n} registers `{name}` are too many");
            return Err(ParseError::at_part(self.names.text, name, message));
        }
        let first = self.registers[class];
        self.registers[class] = first + total;
        let register = match class {
            0 => Reg::W(first),
            1 => Reg::D(first),
            _ => Reg::P(first),
        };
        let symbol = match (size, lanes) {
            (2, _) => Symbol::Wide(first),
            (_, 1) => Symbol::Register(register),
            _ => Symbol::Vector(lanes, register),
        };
        self.vectors |= lanes > 1;
        if count.is_some() {
            if let Some(scope) = self.ranges.last_mut() {
                scope.insert(name, (n, symbol));
            }
        } else {
            self.scope().insert(name, symbol);
        }
        Ok(())
    }

    pub(super) fn declare_variable(&mut self, v: &Variable<'a>) {
        if matches!(v.space, Space::Local | Space::Param) {
            self.frame_slot(v);
        }
    }

    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        let found = self.scopes.iter().rev().find_map(|s| s.get(name)).copied();
        found.or_else(|| self.numbered(name)).or_else(|| self.element(name))
    }

    /// `%r7` of `.reg .b32 %r<8>`.
    fn numbered(&self, name: &str) -> Option<Symbol> {
        let split = name.rfind(|c: char| !c.is_ascii_digit())? + 1;
        let index: u32 = name[split..].parse().ok()?;
        let prefix = &name[..split];
        let mut ranges = self.ranges.iter().rev().filter_map(|scope| scope.get(prefix));
        ranges.find(|(n, _)| index < *n).map(|(_, first)| first.behind(index))
    }

    /// `v.x` of a vector register.
    fn element(&self, name: &str) -> Option<Symbol> {
        let (vector, element) = name.rsplit_once('.').filter(|_| self.vectors)?;
        let index = match element {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        match self.symbol(vector)? {
            Symbol::Vector(lanes, first) if index < lanes => {
                Some(Symbol::Register(first.behind(index)))
            }
            _ => None,
        }
    }

    /// Index of a module variable visible here.
    pub(super) fn variable(&self, name: &'a str) -> Option<u32> {
        let local = self.names.local_variables.get(&(self.function.name, name));
        local.or_else(|| self.names.variables.get(name)).copied()
    }

    /// The instruction with the elements of vector registers in place of these.
    pub(super) fn scalar(&self, i: &Instruction<'a>) -> Instruction<'a> {
        let mut i = i.clone();
        for operand in &mut i.operands {
            if let Operand::Name(name) = *operand
                && let Some(Symbol::Vector(lanes, _)) = self.symbol(name)
            {
                let elements = (0..lanes).map(|n| Operand::Lane(name, n));
                *operand = Operand::Vector(elements.collect());
            }
        }
        i
    }
}
