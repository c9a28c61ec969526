//! Proof that a warp loops for ever.
//!
//! Now and then a warp runs one operation at a time and is compared with its former self. If all
//! its registers and places come back while no memory changed, it will go round for ever: for good
//! if the loop touches no memory, else until somebody changes memory. (Time is no way out: a loop
//! that reads a clock does not come back to the same registers.)

use super::{
    Machine,
    warp::{Group, SLICE, Wait, Warp},
};
use crate::{
    op::{D, W},
    report::LaunchError,
};

/// A warp's state as far as its future depends on it.
struct Snapshot {
    /// Program counter, lanes, depth of calls and whether it can run, of each group.
    places: Vec<(u32, u32, usize, bool)>,
    r32: Vec<W>,
    r64: Vec<D>,
    pred: Vec<u32>,
    carry: u32,
}

fn places(warp: &Warp) -> Vec<(u32, u32, usize, bool)> {
    let place = |g: &Group| (g.pc, g.mask, g.callers.len(), g.wait == Wait::None);
    let mut places: Vec<_> = warp.groups.iter().map(place).collect();
    places.sort_unstable();
    places
}

impl Snapshot {
    fn of(warp: &Warp) -> Self {
        Self {
            places: places(warp),
            r32: warp.r32.clone(),
            r64: warp.r64.clone(),
            pred: warp.pred.clone(),
            carry: warp.carry,
        }
    }

    fn is(&self, warp: &Warp) -> bool {
        warp.groups.len() == self.places.len()
            && warp.groups.iter().any(|g| g.pc == self.places[0].0)
            && places(warp) == self.places
            && warp.pred == self.pred
            && warp.carry == self.carry
            && warp.r32 == self.r32
            && warp.r64 == self.r64
    }
}

/// Whether the slice with this number is spent on the proof.
pub(super) fn is_due(slice: u32) -> bool {
    matches!(slice, 4 | 32) || slice % 256 == 255
}

impl Machine<'_> {
    /// Runs the warp for a slice and looks for a loop without end.
    pub(super) fn probe(&mut self, warp: &mut Warp) -> Result<(), LaunchError> {
        let before = Snapshot::of(warp);
        let changes = self.progress.changes;
        self.progress.touched = false;
        for _ in 0..SLICE {
            self.run_slice(warp, &mut 1)?;
            if self.progress.preempt || self.progress.changes != changes || !warp.runnable() {
                return Ok(());
            }
            if !before.is(warp) {
                continue;
            }
            if self.progress.touched {
                warp.spins_since = Some(changes);
                self.progress.waited = true;
                return Ok(());
            }
            let line = warp.groups.iter().find(|g| g.wait == Wait::None);
            let line = line.and_then(|g| self.program.place_of(g.pc).0);
            let message = format!(
                "endless loop: registers repeat and no memory is read; {}",
                self.describe_all(std::slice::from_ref(warp))
            );
            return Err(LaunchError::Deadlock { message, line, at_barrier: false });
        }
        Ok(())
    }
}
