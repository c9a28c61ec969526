//! Results of each instruction, computed on the host from the manual alone.

use super::{approx, compare, convert, float, integer, number::Format, synth::types};

/// An opcode taken apart.
pub(super) struct Op<'a> {
    pub(super) name: &'a str,
    /// Modifiers in order.
    pub(super) parts: Vec<&'a str>,
    /// Types in order.
    pub(super) types: Vec<&'a str>,
}

impl<'a> Op<'a> {
    pub(super) fn new(opcode: &'a str) -> Self {
        let mut parts = opcode.split('.');
        let name = parts.next().expect("a mnemonic");
        Self { name, parts: parts.collect(), types: types(opcode) }
    }

    pub(super) fn has(&self, part: &str) -> bool {
        self.parts.contains(&part)
    }

    /// The last type.
    pub(super) fn ty(&self) -> &'a str {
        self.types.last().copied().unwrap_or("")
    }
}

/// The values allowed for a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    /// These bits.
    Bits(u64),
    /// Any NaN of the format.
    Nan(Format),
    /// A number of the format at most so far off.
    Near(Format, f64, f64),
    /// Two halves of sixteen bits.
    Halves(Box<[Self; 2]>),
    /// The manual leaves it open.
    Anything,
}

impl Want {
    pub(super) fn allows(&self, got: u64) -> bool {
        match self {
            Self::Bits(bits) => got == *bits,
            Self::Nan(format) => format.is_nan(got),
            Self::Near(format, value, error) => {
                let got = format.to_f64(got);
                (got - value).abs() <= *error || got.to_bits() == value.to_bits()
            }
            Self::Halves(halves) => halves[0].allows(got & 0xffff) && halves[1].allows(got >> 16),
            Self::Anything => true,
        }
    }
}

/// The result of the instruction; `None` if there is no oracle for it.
pub(super) fn oracle(op: &Op<'_>, sources: &[u64]) -> Option<Vec<Want>> {
    match op.name {
        "setp" | "set" | "selp" | "slct" | "testp" => compare::oracle(op, sources),
        "cvt" => convert::oracle(op, sources),
        _ if op.has("approx") || op.has("full") => approx::oracle(op, sources),
        _ if super::number::format(op.ty().trim_end_matches("x2")).is_some() => {
            float::oracle(op, sources)
        }
        _ => integer::oracle(op, sources),
    }
}

/// Applies an oracle for one element to each half of a pair.
pub(super) fn pairwise(sources: &[u64], one: impl Fn(&[u64]) -> Option<Want>) -> Option<[Want; 2]> {
    let low: Vec<u64> = sources.iter().map(|s| s & 0xffff).collect();
    let high: Vec<u64> = sources.iter().map(|s| s >> 16).collect();
    Some([one(&low)?, one(&high)?])
}

/// Two halves as one result.
pub(super) fn joined([low, high]: [Want; 2]) -> Want {
    match (&low, &high) {
        (Want::Bits(low), Want::Bits(high)) => Want::Bits(low | high << 16),
        _ => Want::Halves(Box::new([low, high])),
    }
}
