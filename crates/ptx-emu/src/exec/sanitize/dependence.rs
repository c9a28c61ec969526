//! Dependent launches: accesses that come before `griddepcontrol.wait`.
//!
//! A launch with programmatic stream serialisation may begin while the one before it runs, and sees
//! its writes for certain only behind the wait. Here launches run one after another, so the
//! accesses themselves tell nothing: those of a thread that has not waited, and that no barrier or
//! atomic orders after one that has, are compared with the shadows that the launch before left.
//! Whether that launch let this one begin early makes no difference: without the wait its writes
//! need not be visible even after its end.

use std::sync::Arc;

use super::races::{Races, Record};
use crate::{
    exec::{
        Machine, Source,
        access::{Home, Refusal, Registers, each_lane},
    },
    finding::{Finding, FindingKind, Other},
    lower::Program,
    memory::{BufferId, Memory},
    op::{GridControl, StateSpace},
};

/// The accesses of a launch that later ones may overlap.
#[derive(Debug)]
pub(crate) struct Before {
    kernel: String,
    program: Arc<Program>,
    /// Those of its parts.
    races: Vec<Races>,
    orderly: bool,
}

impl Before {
    /// Whether the launches that it overlaps may still run when the next one begins.
    pub(crate) fn has_predecessors(&self) -> bool {
        !self.orderly
    }

    fn touched(
        &self,
        buffer: usize,
        place: (u64, u64),
        how: (bool, bool),
    ) -> Option<(Record, bool)> {
        self.races.iter().find_map(|races| races.touched(buffer, place, how))
    }
}

/// An access of a launch before, and whether it was a write.
struct Former<'b> {
    before: &'b Before,
    record: Record,
    wrote: bool,
}

impl Machine<'_> {
    /// Accesses of the launch, for those that overlap it; none if they were not watched.
    pub(in crate::exec) fn left_behind(&mut self, source: Source<'_>) -> Option<Before> {
        let mut races = std::mem::take(&mut self.sanitizer.parts);
        races.extend(self.sanitizer.races.take().map(|races| *races));
        if races.is_empty() {
            return None;
        }
        let kernel = source.launch.kernel.clone();
        let program = Arc::clone(source.module.program());
        Some(Before { kernel, program, races, orderly: self.sanitizer.orderly })
    }

    /// `griddepcontrol`.
    pub(in crate::exec) fn grid_control(
        &mut self,
        control: GridControl,
        regs: &Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        let order = &mut self.block.order;
        if control == GridControl::LaunchDependents {
            order.grid.triggered = true;
            return;
        }
        self.sanitizer.orderly |= !order.grid.triggered;
        let Some(races) = &mut self.sanitizer.races else { return };
        let warp = regs.warp as usize;
        if self.context.before.is_empty() || mask & !order.grid.behind[warp] == 0 {
            return;
        }
        order.grid.behind[warp] |= mask;
        let wait = races.waited(pc, regs.warp, order);
        order.grid.waits.push(wait);
    }

    /// Whether lanes of a warp have not waited for the launch before, as far as is known.
    #[inline(always)]
    pub(in crate::exec) fn is_early(&self, warp: u32, mask: u32) -> bool {
        !self.context.before.is_empty() && mask & !self.block.order.grid.behind[warp as usize] != 0
    }

    /// Reports accesses of lanes that have not waited to memory that the launch before works on.
    #[inline(never)]
    pub(in crate::exec) fn check_early(
        &mut self,
        home: Home,
        at: &[u64; 32],
        bytes: u32,
        how: (bool, bool),
        regs: &Registers<'_>,
        mask: u32,
    ) {
        let Home::Buffer(index) = home else { return };
        let warp = regs.warp as usize;
        let early = mask & !self.block.order.grid.behind[warp];
        let (mut lanes, mut first) = (0, None);
        for lane in each_lane(early) {
            let place = (at[lane], u64::from(bytes));
            // The last launch is the one to name.
            let former = self.context.before.iter().rev().find_map(|before| {
                let (record, wrote) = before.touched(index, place, how)?;
                Some(Former { before, record, wrote })
            });
            if let Some(former) = former {
                lanes |= 1 << lane;
                first.get_or_insert(former);
            }
        }
        let Some(former) = first else { return };
        let order = &mut self.block.order;
        let races = self.sanitizer.races.as_ref();
        if races.is_some_and(|races| races.happened(&order.grid.waits, regs.warp, order)) {
            order.grid.behind[warp] |= mask;
            return;
        }
        let kind = FindingKind::GlobalRace;
        let base = Memory::address(BufferId(index as u32));
        let (place, at) = (StateSpace::Global, at.map(|at| base.wrapping_add(at)));
        let refusal = Refusal { kind, lanes, at, place, bytes };
        let (key, range) = (self.key(kind, self.pc, None), self.range(&refusal));
        let n = u64::from(lanes.count_ones());
        if self.sanitizer.findings.again(key, n, range) || self.sanitizer.findings.full() {
            return;
        }
        let finding = self.early(&refusal, how.0, &former, regs);
        self.keep(key, Finding { elements: range, ..finding });
    }

    fn early(
        &self,
        refusal: &Refusal,
        write: bool,
        former: &Former<'_>,
        regs: &Registers<'_>,
    ) -> Finding {
        let target = self.target(refusal, refusal.address());
        let verb = |write: bool| if write { "write" } else { "read" };
        let (this, that) = (verb(write), verb(former.wrote));
        let buffer = target.label.clone().unwrap_or_default();
        let element = target.element.unwrap_or(0);
        let kernel = &former.before.kernel;
        let pc = former.record.pc;
        // Forgotten records have no place.
        let known = !former.record.is_forgotten();
        let (line, instruction) =
            if known { former.before.program.place_of(pc) } else { (None, String::new()) };
        let at_line = line.map(|line| format!(" at line {line}")).unwrap_or_default();
        let text = format!(
            "race on global `{buffer}`[{element}]: this {this} is not behind `griddepcontrol.wait`, and \
             nothing orders it after the {that}{at_line} by `{kernel}`, the launch before"
        );
        let (kind, lanes) = (refusal.kind, refusal.lanes);
        let mut finding = self.finding(kind, &text, target, regs, self.pc, lanes);
        finding.access_bytes = refusal.bytes;
        let what = format!("{that} by `{kernel}`, the launch before");
        finding.other = Some(Other { what, line, instruction, block: None, thread: None });
        finding.hint = Some(
            "a launch with pdl begins before the one before it has ended: griddepcontrol.wait \
             (cudaGridDependencySynchronize) must come before the first access to its buffers"
                .to_owned(),
        );
        finding
    }
}
