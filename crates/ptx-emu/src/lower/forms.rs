//! The table of instruction forms with its products: families, decoder, printer.
//!
//! An opcode that no row of [`table`] accepts is not known, however close it comes to one: a
//! modifier is never ignored. Their order is free ([`arrange`]).

mod arrange;
#[macro_use]
mod lanes;
mod pattern;
mod table;

use std::{collections::HashMap, rc::Rc, sync::LazyLock};

use self::pattern::Pattern;
pub use self::table::InstructionGroup;
use super::{Builder, Lowered, Modifiers};
use crate::ast::Instruction;

/// How much of a result the PTX ISA defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// Every bit.
    Exact,
    /// Up to this error.
    Approx(&'static str),
}

/// The lowering of a row's instructions.
type Lower = for<'a, 'p> fn(&mut Builder<'a, 'p>, &Instruction<'a>, &Modifiers<'a>) -> Lowered<()>;

/// A row as it stands in the table.
pub(super) struct Entry {
    family: InstructionGroup,
    pattern: &'static str,
    operands: &'static str,
    sm: u32,
    bits: Bits,
    lower: Lower,
}

/// A row of the instruction table.
pub struct InstructionForm {
    entry: &'static Entry,
    pattern: Pattern,
}

impl std::fmt::Debug for InstructionForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("InstructionForm").field(&self.entry.pattern).finish()
    }
}

impl InstructionForm {
    /// The family it counts as.
    #[must_use]
    pub fn family(&self) -> InstructionGroup {
        self.entry.family
    }

    /// The opcodes, in the notation of the table: `add{.sat}?.s32`.
    #[must_use]
    pub fn pattern(&self) -> &'static str {
        self.entry.pattern
    }

    /// The mnemonic.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.pattern.base
    }

    /// The operands, separated by spaces.
    ///
    /// `T` is a value of the opcode's last type, `U` of its first, `D` of twice the width of the
    /// last; `H`, `W`, `L`, `Q` have 16, 32, 64 and 128 bits; `P` is a predicate, `!P` a predicate
    /// that may be negated, `a|b` a pair of destinations; `4W` is a vector, `V` as many `T` as
    /// `.v2` or `.v4` says; `A` is an address, `I` a small integer, `C` the cache policy that
    /// `.L2::cache_hint` asks for. `?` marks an optional operand; lower-case words name anything
    /// else.
    #[must_use]
    pub fn operands(&self) -> &'static str {
        self.entry.operands
    }

    /// The first architecture that has it, as in `sm_80`.
    #[must_use]
    pub fn sm(&self) -> u32 {
        self.entry.sm
    }

    /// How much of the result is defined.
    #[must_use]
    pub fn bits(&self) -> Bits {
        self.entry.bits
    }

    /// Number of opcodes the row stands for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.pattern.count()
    }

    /// Opcode number `n` of the row, below [`InstructionForm::count`].
    #[must_use]
    pub fn opcode(&self, n: u64) -> String {
        self.pattern.opcode(n)
    }
}

/// Rows and, by mnemonic, their numbers.
struct Table {
    rows: Vec<InstructionForm>,
    by_mnemonic: HashMap<&'static str, Vec<u16>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let row =
        |entry: &'static Entry| InstructionForm { entry, pattern: Pattern::new(entry.pattern) };
    let rows: Vec<InstructionForm> = table::ENTRIES.iter().map(row).collect();
    let mut by_mnemonic: HashMap<_, Vec<u16>> = HashMap::new();
    for (n, row) in rows.iter().enumerate() {
        by_mnemonic.entry(row.mnemonic()).or_default().push(n as u16);
    }
    Table { rows, by_mnemonic }
});

/// All rows of the table.
#[must_use]
pub fn rows() -> &'static [InstructionForm] {
    &TABLE.rows
}

/// The row that accepts an opcode, and its modifiers in the row's order.
fn number_of<'a>(name: &str, modifiers: &[&'a str]) -> Option<(u16, Vec<&'a str>)> {
    let numbers = TABLE.by_mnemonic.get(name)?;
    let pattern = |n: u16| &TABLE.rows[n as usize].pattern;
    let as_written = numbers.iter().find(|n| pattern(**n).accepts(modifiers));
    if let Some(n) = as_written {
        return Some((*n, modifiers.to_vec()));
    }
    if modifiers.len() > MAX_MODIFIERS {
        return None;
    }
    numbers.iter().find_map(|n| Some((*n, pattern(*n).arrange(modifiers)?)))
}

/// More modifiers than any row has.
const MAX_MODIFIERS: usize = 20;

/// The row that stands for an opcode such as `add.s32`, if the emulator knows it. Modifiers may stand
/// in any order; types, layouts and state spaces keep theirs.
#[must_use]
pub fn find(opcode: &str) -> Option<&'static InstructionForm> {
    let parts: Vec<&str> = opcode.split('.').collect();
    number_of(parts[0], &parts[1..]).map(|(n, _)| &TABLE.rows[n as usize])
}

#[derive(Debug)]
pub(super) struct Decoded<'a> {
    /// The row's number; `None` if no row accepts the opcode.
    pub(super) row: Option<u16>,
    pub(super) modifiers: Modifiers<'a>,
}

/// The function that lowers instructions of a row.
pub(super) fn lowering(row: u16) -> Lower {
    TABLE.rows[row as usize].entry.lower
}

/// Whether an instruction of the row may have `n` operands.
pub(super) fn takes(row: u16, n: usize, m: &Modifiers<'_>) -> bool {
    let row = &TABLE.rows[row as usize];
    if row.entry.operands.ends_with('*') {
        return true;
    }
    let (mut least, mut most) = (0, 0);
    for operand in row.entry.operands.split(' ').filter(|o| !o.is_empty()) {
        let absent = operand == "C" && !m.has("L2::cache_hint");
        least += usize::from(!absent && (!operand.ends_with('?') || operand.contains('|')));
        most += usize::from(!absent);
    }
    (least..=most).contains(&n)
}

/// Decodes opcodes, each distinct one once.
#[derive(Debug, Default)]
pub(super) struct Decoder<'a> {
    seen: HashMap<&'a str, Rc<Decoded<'a>>>,
}

impl<'a> Decoder<'a> {
    pub(super) fn decode(&mut self, opcode: &'a str) -> Rc<Decoded<'a>> {
        let decode = || {
            let parts: Vec<&str> = opcode.split('.').collect();
            let Some((row, arranged)) = number_of(parts[0], &parts[1..]) else {
                let modifiers = Modifiers::new(parts[0], &parts[1..]);
                return Rc::new(Decoded { row: None, modifiers });
            };
            Rc::new(Decoded { row: Some(row), modifiers: Modifiers::new(parts[0], &arranged) })
        };
        self.seen.entry(opcode).or_insert_with(decode).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{InstructionGroup, find, rows};

    #[test]
    fn rows_do_not_overlap() {
        for (n, row) in rows().iter().enumerate() {
            let step = (row.count() / 500).max(1);
            for at in (0..row.count()).step_by(step as usize) {
                let opcode = row.opcode(at);
                let found = find(&opcode).expect("a row accepts its own opcodes");
                assert!(
                    std::ptr::eq(found, &raw const rows()[n]),
                    "`{opcode}` is in `{}` and in `{}`",
                    found.pattern(),
                    row.pattern()
                );
            }
        }
    }

    #[test]
    fn families_print_apart() {
        let names: std::collections::HashSet<_> =
            InstructionGroup::ALL.iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), InstructionGroup::ALL.len());
    }
}
