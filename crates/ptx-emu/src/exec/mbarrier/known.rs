//! mbarriers that other blocks of the cluster use before they can know of them.
//!
//! `mbarrier.init` is a write like any other: a peer may rely on it only behind a release of the
//! block that made it. `barrier.cluster.arrive` is one, unless it is `.relaxed`; before that one
//! stands `fence.mbarrier_init.release.cluster` or another fence.
//!
//! Within a block a barrier is enough. A bulk copy that completes bytes on an mbarrier asks for no proxy
//! fence here: the PTX ISA does not say that the completion is an access of the asynchronous proxy to
//! the mbarrier's bytes, and a false alarm costs more than a miss.

use super::{
    super::{Machine, access::Registers, fault::Target},
    Spot,
};
use crate::{finding::FindingKind, op::StateSpace};

impl Machine<'_> {
    /// Something that may release what the running block did before: its mbarriers are known to
    /// other blocks from now on. Of which scope and of which thread it is does not count.
    pub(in crate::exec) fn publish_mbarriers(&mut self) {
        self.block.shared.mbarriers.unknown.clear();
    }

    /// Reports an operation on an mbarrier of another block that cannot know of it yet.
    pub(super) fn check_known(
        &mut self,
        spot: Spot,
        (place, address): (StateSpace, u64),
        regs: &Registers<'_>,
        lane: usize,
    ) {
        if spot.peer.is_none() {
            return;
        }
        let unknown = &mut self.shared_of(spot.peer).mbarriers.unknown;
        let Some(at) = unknown.iter().position(|at| *at == spot.at) else { return };
        unknown.swap_remove(at);
        let (kind, pc) = (FindingKind::Mbarrier, self.pc);
        let key = self.key(kind, pc, None);
        if self.sanitizer.findings.again(key, 1, None) || self.sanitizer.findings.full() {
            return;
        }
        let name = self.mbarrier_name(place, address);
        let what =
            format!("no release orders `mbarrier.init` before this use by another block: {name}");
        let mut finding = self.finding(kind, &what, Target::default(), regs, pc, 1 << lane);
        finding.hint = Some(
            "fence.mbarrier_init.release.cluster must follow the initialisation where \
             barrier.cluster.arrive is relaxed"
                .to_owned(),
        );
        self.keep(key, finding);
    }
}
