//! mbarriers and clusters.

use super::{Builder, Lowered, Modifiers, ModuleVariable, control::operand};
use crate::{
    ast::{Instruction, Operand, Space},
    op::{ArriveOp, Awaited, ClusterOp, Const, MbarrierKind, Op, R, Reg},
};

impl<'a> Builder<'a, '_> {
    fn push_cluster(&mut self, op: ClusterOp) {
        self.program.cluster_ops.push(op);
        self.push(Op::Cluster(self.program.cluster_ops.len() as u32 - 1));
    }

    /// The mbarrier's address is operand `at`.
    fn push_mbarrier(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        kind: MbarrierKind,
        at: usize,
    ) -> Lowered<()> {
        let address = self.address(operand(i, at)?, self.place(m))?;
        self.push_cluster(ClusterOp::Mbarrier(kind, address));
        Ok(())
    }

    /// An operation of an mbarrier with a number.
    pub(super) fn mbarrier(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        kind: fn(R) -> MbarrierKind,
    ) -> Lowered<()> {
        let number = self.src_w(operand(i, 1)?, "u32")?;
        self.push_mbarrier(i, m, kind(number), 0)
    }

    pub(super) fn mbarrier_inval(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.push_mbarrier(i, m, MbarrierKind::Invalidate, 0)
    }

    pub(super) fn mbarrier_arrive(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
    ) -> Lowered<()> {
        let state = match operand(i, 0)? {
            Operand::Name("_") => None,
            _ if m.has("shared::cluster") => {
                return Err("an arrival at another block's mbarrier returns no state".to_owned());
            }
            state => Some(self.dst_d(state)?),
        };
        let number = i.operands.get(2).map(|o| self.src_w(o, "u32")).transpose()?;
        let expects = m.has("expect_tx");
        let arrive = ArriveOp {
            state,
            count: number.filter(|_| !expects),
            expect: number.filter(|_| expects),
            drop: m.has("arrive_drop"),
            incomplete: m.has("noComplete"),
        };
        self.push_mbarrier(i, m, MbarrierKind::Arrive(arrive), 1)
    }

    pub(super) fn mbarrier_wait(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let done = self.dst_p(operand(i, 0)?)?;
        let phase = operand(i, 2)?;
        let awaited = if m.has("parity") {
            Awaited::Parity(self.src_w(phase, "u32")?)
        } else {
            Awaited::State(self.src_d(phase)?)
        };
        self.push_mbarrier(i, m, MbarrierKind::Wait(done, awaited), 1)
    }

    pub(super) fn mbarrier_pending(
        &mut self,
        i: &Instruction<'a>,
        _: &Modifiers<'_>,
    ) -> Lowered<()> {
        let to = self.dst_w(operand(i, 0)?)?;
        let state = self.src_d(operand(i, 1)?)?;
        self.push_cluster(ClusterOp::PendingCount(to, state));
        Ok(())
    }

    pub(super) fn copy_arrive(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.push_mbarrier(i, m, MbarrierKind::CopyArrive(m.has("noinc")), 0)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn cluster_barrier(
        &mut self,
        _: &Instruction<'a>,
        _: &Modifiers<'_>,
        op: ClusterOp,
    ) -> Lowered<()> {
        self.push_cluster(op);
        Ok(())
    }

    /// `%reserved_smem_*`: where the system's part of shared memory lies, which cooperative groups
    /// use for groups of several warps.
    pub(super) fn reserved_shared(&mut self, name: &str) -> Option<R> {
        let offset = match name.strip_prefix("%reserved_smem_offset_")? {
            "begin" | "0" => 0,
            "1" => RESERVED_BYTES as u64 / 2,
            "end" => RESERVED_BYTES as u64,
            "cap" => return Some(self.const_w(RESERVED_BYTES as u32)),
            _ => return None,
        };
        let index = *self.program.reserved.get_or_insert_with(|| {
            self.program.variables.push(ModuleVariable {
                name: String::new(),
                label: "reserved shared memory".to_owned(),
                space: Space::Shared,
                bytes: RESERVED_BYTES,
                element_bytes: 4,
                align: 128,
                is_extern: false,
                is_initialised: true,
                init: Vec::new(),
                relocations: Vec::new(),
            });
            self.program.variables.len() as u32 - 1
        });
        Some(self.constant(0, Const::Variable(index, offset)))
    }

    /// `isspacep` of shared memory.
    pub(super) fn is_shared(&mut self, to: R, address: R, m: &Modifiers<'_>) {
        self.push_cluster(ClusterOp::IsShared(to, address, m.has("shared::cluster")));
    }

    /// A register that holds an address.
    fn window_address(&mut self, o: &Operand<'a>, m: &Modifiers<'_>) -> Lowered<Reg> {
        Ok(match m.ty() {
            "u64" => Reg::D(self.src_d(o)?),
            _ => Reg::W(self.src_w(o, "u32")?),
        })
    }

    pub(super) fn mapa(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let generic = !m.has("shared::cluster");
        let address = self.window_address(operand(i, 1)?, m)?;
        let rank = self.src_w(operand(i, 2)?, "u32")?;
        let d = operand(i, 0)?;
        let to = match address {
            Reg::D(_) => Reg::D(self.dst_d(d)?),
            _ => Reg::W(self.dst_w(d)?),
        };
        self.push_cluster(ClusterOp::Map { to, address, rank, generic });
        Ok(())
    }

    pub(super) fn getctarank(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let generic = !m.has("shared::cluster");
        let address = self.window_address(operand(i, 1)?, m)?;
        let to = self.dst_w(operand(i, 0)?)?;
        self.push_cluster(ClusterOp::Rank { to, address, generic });
        Ok(())
    }
}

/// Bytes of shared memory that the system keeps of each block.
const RESERVED_BYTES: usize = 1024;
