//! Bytes of asynchronous copies that complete on mbarriers, and how they become visible.
//!
//! The bytes of a copy lie in shared memory from its issue on, marked as pending. A wait that the
//! phase's completion lets through takes the marks away; who reads before finds them.

use std::ops::Range;

use super::{
    super::{Machine, Shared, access::Registers},
    Broken, Mbarriers, phase_key,
};
use crate::{
    memory::{INITIALISED, PENDING, WRITTEN},
    op::StateSpace,
    report::LaunchError,
};

/// Bytes that completed on a phase that nobody has waited for.
#[derive(Debug)]
pub(super) struct Landing {
    /// Offset of the mbarrier.
    bar: usize,
    /// Parity of the phase.
    parity: bool,
    range: Range<usize>,
}

/// Landings that are kept; older ones count as seen.
const MAX_LANDINGS: usize = 4096;

impl Mbarriers {
    fn add(&mut self, landing: Landing) -> Option<Landing> {
        self.landings.push(landing);
        (self.landings.len() > MAX_LANDINGS).then(|| self.landings.remove(0))
    }
}

impl Shared {
    /// The phase of the mbarrier at `bar` with this parity is over, and somebody knows.
    pub(super) fn land(&mut self, bar: usize, parity: bool) {
        let mut rest = Vec::new();
        for landing in std::mem::take(&mut self.mbarriers.landings) {
            if (landing.bar, landing.parity) == (bar, parity) {
                self.show(&landing);
            } else {
                rest.push(landing);
            }
        }
        self.mbarriers.landings = rest;
    }

    fn show(&mut self, landing: &Landing) {
        for flags in &mut self.flags[landing.range.clone()] {
            if *flags & PENDING != 0 {
                // Undefined bytes come without the mark of a write.
                let defined = *flags & WRITTEN != 0;
                *flags = if defined { INITIALISED | WRITTEN } else { 0 };
            }
        }
    }
}

impl Machine<'_> {
    /// Completes bytes that were put into `range` of the shared memory that holds the mbarrier.
    pub(in crate::exec) fn complete_tx(
        &mut self,
        address: u64,
        range: Range<usize>,
        bytes: u32,
        regs: &Registers<'_>,
        pc: u32,
        lane: usize,
    ) -> Result<(), LaunchError> {
        let place = StateSpace::Shared;
        let fault = |machine: &Self, why: &str| {
            machine.mbarrier_fault(why, place, address, regs, pc, 1 << lane)
        };
        let spot = self.spot(place, address).map_err(|why| fault(self, &why))?;
        self.check_known(spot, (place, address), regs, lane);
        let shared = self.shared_of(spot.peer);
        let mut bar = shared.mbarrier(spot.at).map_err(|broken| match broken {
            Broken::Never => "an asynchronous copy on no initialised mbarrier",
            Broken::Overwritten => {
                "an asynchronous copy on an mbarrier whose bytes were overwritten"
            }
        });
        let parity = bar.as_ref().is_ok_and(|bar| bar.parity);
        let done = match &mut bar {
            Ok(bar) => bar.complete(bytes).and_then(|()| bar.settled()).map_err(|e| e.to_string()),
            Err(why) => Err((*why).to_owned()),
        };
        if let Ok(bar) = bar {
            shared.set_mbarrier(spot.at, bar);
            let old = shared.mbarriers.add(Landing { bar: spot.at, parity, range });
            if let Some(old) = old {
                shared.show(&old);
            }
        }
        done.map_err(|why| fault(self, &why))?;
        self.progress.changes += 1;
        let key = phase_key(parity, spot.at);
        self.mbarrier_arrived(key, spot.peer, regs.warp);
        Ok(())
    }
}
