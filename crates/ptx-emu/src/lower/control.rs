//! Control flow, calls and the dispatch over opcodes.

use super::{Builder, Lowered, Modifiers, forms};
use crate::{
    ast::{Instruction, Operand},
    op::{BarrierKind, BarrierOp, Op, Window},
};

impl<'a> Builder<'a, '_> {
    /// Lowers an instruction with its guard.
    pub(super) fn guarded(&mut self, i: &Instruction<'a>) -> Lowered<()> {
        let decoded = self.decoder.decode(i.opcode);
        let (Some(row), m) = (decoded.row, &decoded.modifiers) else {
            return Err(super::UNKNOWN.to_owned());
        };
        self.origin.form = row;
        if !forms::takes(row, i.operands.len(), m) {
            return Err(format!("{} operands are not what it takes", i.operands.len()));
        }
        let lower = forms::lowering(row);
        match i.guard {
            Some((name, negated)) if m.name != "bra" => {
                let (p, _) = self.src_p(&Operand::Name(name))?;
                // Anything but a branch may become several operations: branch around them.
                let skip = self.new_label();
                self.push(Op::Branch(p, !negated, skip));
                lower(self, i, m)?;
                self.labels[skip as usize] = self.ops.len();
                Ok(())
            }
            _ => lower(self, i, m),
        }
    }

    /// An instruction without operands that matter here.
    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn plain(&mut self, _: &Instruction<'a>, _: &Modifiers<'_>, op: Op) -> Lowered<()> {
        self.push(op);
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn fence(&mut self, _: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.program.fences = true;
        // An acquire takes effect with the read before it, and publishes nothing.
        self.push(if m.has("acquire") { Op::Nop } else { Op::Fence });
        Ok(())
    }

    pub(super) fn active_mask(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let d = self.dst_w(operand(i, 0)?)?;
        self.push(Op::ActiveMask(d));
        Ok(())
    }

    pub(super) fn branch(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let Operand::Name(name) = operand(i, 0)? else {
            return Err("expected a label".to_owned());
        };
        let label = self.find_label(name).ok_or(format!("label `{name}` is not known"))?;
        let op = match i.guard {
            Some((name, negated)) => {
                Op::Branch(self.src_p(&Operand::Name(name))?.0, negated, label)
            }
            None => Op::Jump(label),
        };
        self.push(op);
        Ok(())
    }

    pub(super) fn branch_table(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let index = self.src_w(operand(i, 0)?, "u32")?;
        let Operand::Name(name) = operand(i, 1)? else {
            return Err("expected a table of labels".to_owned());
        };
        let targets = self.branch_targets.get(name).ok_or(format!("`{name}` is not known"))?;
        let labels: Option<Vec<u32>> = targets.iter().map(|t| self.find_label(t)).collect();
        self.program.branch_tables.push(labels.ok_or("a label of the table is not known")?);
        self.push(Op::BranchTable(index, self.program.branch_tables.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn barrier(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let (kind, at) = if m.has("red") {
            let (p, negated) = self.src_p(i.operands.last().ok_or("operands are missing")?)?;
            let first = operand(i, 0)?;
            let kind = if m.has("popc") {
                BarrierKind::Popc(self.dst_w(first)?, p, negated)
            } else {
                BarrierKind::Reduce(m.has("and"), self.dst_p(first)?, p, negated)
            };
            (kind, 1)
        } else if m.has("arrive") {
            (BarrierKind::Arrive, 0)
        } else {
            (BarrierKind::Sync, 0)
        };
        let id = self.src_w(operand(i, at)?, "u32")?;
        let last = i.operands.len() - usize::from(at == 1);
        let count = match i.operands.get(at + 1) {
            Some(o) if at + 1 < last => Some(self.src_w(o, "u32")?),
            _ => None,
        };
        self.program.barriers.push(BarrierOp { kind, id, count });
        self.push(Op::Barrier(self.program.barriers.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn isspacep(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let d = self.dst_p(operand(i, 0)?)?;
        let a = self.src_d(operand(i, 1)?)?;
        let window = match m.flags[..] {
            ["global"] => Window::Global,
            ["const"] => Window::Const,
            ["shared" | "shared::cta" | "shared::cluster"] => {
                self.is_shared(d, a, m);
                return Ok(());
            }
            ["local"] => Window::Local,
            ["param"] | ["param::entry"] => Window::Param,
            _ => return Err("state space is not known".to_owned()),
        };
        self.push(Op::IsSpace(d, a, window));
        Ok(())
    }
}

/// Operand number `n`.
pub(super) fn operand<'i, 'a>(i: &'i Instruction<'a>, n: usize) -> Lowered<&'i Operand<'a>> {
    i.operands.get(n).ok_or_else(|| "operands are missing".to_owned())
}
