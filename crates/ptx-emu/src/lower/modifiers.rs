//! The modifiers of an opcode.

use crate::alu::convert::Round;

/// An opcode's modifiers, sorted out.
#[derive(Debug, Default, Clone)]
pub(super) struct Modifiers<'a> {
    /// The mnemonic.
    pub name: &'a str,
    /// All modifiers in order.
    pub parts: Vec<&'a str>,
    /// Types in order.
    pub types: Vec<&'a str>,
    /// Everything else in order.
    pub flags: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(name: &'a str, parts: &[&'a str]) -> Self {
        let (types, flags) = parts
            .iter()
            .copied()
            .partition(|p| crate::parse::type_bytes(p).is_some() || *p == "pred");
        Self { name, parts: parts.to_vec(), types, flags }
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// The last type.
    pub(super) fn ty(&self) -> &'a str {
        self.types.last().copied().unwrap_or("")
    }

    /// Whether the last type is a signed integer, alone or in pairs.
    pub(super) fn signed(&self) -> bool {
        self.ty().starts_with('s')
    }

    /// Whether the last type has 64 bits.
    pub(super) fn wide(&self) -> bool {
        self.ty().ends_with("64")
    }

    /// The rounding named among the flags.
    pub(super) fn rounding(&self) -> Round {
        let named = self.flags.iter().find_map(|f| match *f {
            "rz" => Some(Round::Zero),
            "rm" => Some(Round::Down),
            "rp" => Some(Round::Up),
            _ => None,
        });
        named.unwrap_or(Round::Nearest)
    }
}
