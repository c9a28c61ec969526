//! Blocks of a cluster that come too early to each other's shared memory, or leave it too early.
//!
//! A block's shared memory is there from its start to its end. Nothing but an order, such as that of the
//! cluster's barrier, tells another block that it has started, and the block that nobody still looks
//! at its memory.

use crate::{
    exec::{
        Machine,
        access::Registers,
        fault::Target,
        warp::{Frame, Warp},
    },
    finding::{FindingKind, Other},
};

impl Machine<'_> {
    /// Reports lanes that use shared memory of another block which need not have started.
    pub(in crate::exec) fn check_started(&mut self, rank: usize, regs: &Registers<'_>, lanes: u32) {
        if self.sanitizer.races.is_none() || self.block.order.acquired > 0 {
            return;
        }
        let (kind, pc) = (FindingKind::Cluster, self.pc);
        let key = self.key(kind, pc, None);
        let n = u64::from(lanes.count_ones());
        if self.sanitizer.findings.again(key, n, None) || self.sanitizer.findings.full() {
            return;
        }
        let what = format!(
            "shared memory of block {rank} of the cluster is used, and nothing says that the block has \
             started"
        );
        let mut finding = self.finding(kind, &what, Target::default(), regs, pc, lanes);
        finding.hint = Some("the cluster's barrier must come before".to_owned());
        self.keep(key, finding);
    }

    /// Reports a block that ends before other blocks are known to be done with its shared memory.
    pub(in crate::exec) fn check_leaving(&mut self, warps: &mut [Warp]) {
        let (Some(races), Some(warp)) = (&self.sanitizer.races, warps.first_mut()) else { return };
        if self.cluster.len() == 1 {
            return;
        }
        let Some((record, block)) = races.stranger(&self.block.shared.shadow, &self.block.order)
        else {
            return;
        };
        let (kind, pc) = (FindingKind::Cluster, record.pc);
        let key = self.key(kind, pc, None);
        if self.sanitizer.findings.again(key, 1, None) || self.sanitizer.findings.full() {
            return;
        }
        let regs = &Registers::new(warp, Frame::default());
        let what = "a block ends while another one of its cluster may still use its shared memory";
        let mut finding = self.finding(kind, what, Target::default(), regs, pc, 1);
        let (line, instruction) = self.program.place_of(pc);
        finding.other = Some(Other {
            what: "use".to_owned(),
            line,
            instruction,
            block: Some(self.coordinates(block)),
            thread: None,
        });
        finding.hint = Some("the cluster's barrier must come before the blocks end".to_owned());
        self.keep(key, finding);
    }
}
