//! Values that a read should not have seen, as long as nobody uses them.
//!
//! A pipeline reads ahead into a stage that others may be filling, and throws the values away after
//! its last step. Such a read of shared memory is a fault only once its value matters; until then it
//! is followed like an undefined one ([`super::taint`]). At the launch's end it is information.

use std::collections::HashMap;

use super::{races::Record, taint::NEVER_WRITTEN};
use crate::{
    exec::{
        Machine,
        access::{Home, Registers},
        findings::Key,
        transfer::Action,
        warp::Warp,
    },
    finding::{Finding, Severity},
    lower::targets,
    op::{Op, Reg, Use, WarpSyncKind, visit},
};

/// Marks origins that are numbers of [`Unused`] and not operations.
const READ_AHEAD: u32 = 1 << 31;

/// A finding about a read whose value does not matter so far.
pub(in crate::exec) struct Unused {
    key: Key,
    finding: Finding,
    used: bool,
}

/// The lanes that read such a value, and its origin.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::exec) struct ReadAhead {
    pub lanes: u32,
    origin: u32,
}

impl ReadAhead {
    /// Adds another finding about the same read.
    pub(in crate::exec) fn and(self, other: Self) -> Self {
        let origin = if self.lanes == 0 { other.origin } else { self.origin };
        Self { lanes: self.lanes | other.lanes, origin }
    }
}

/// Lanes and the places where they stand, if no call is under way.
type Standing = Vec<(u32, Option<u32>)>;

/// Places of the warps of a block.
#[derive(Debug, Default)]
pub(in crate::exec) struct Places {
    warps: Vec<Standing>,
    /// Whether the value of a read is unused for a lane at a place; no place is the end.
    known: HashMap<(u32, Option<u32>), bool>,
}

impl Places {
    /// Notes where the lanes of a warp stand.
    pub(in crate::exec) fn note(&mut self, warp: &Warp) {
        let at = warp.index as usize;
        if at >= self.warps.len() {
            self.warps.resize_with(at + 1, Vec::new);
        }
        let standing = &mut self.warps[at];
        standing.clear();
        let place = |pc: u32, outermost: bool| outermost.then_some(pc);
        standing.extend(warp.groups.iter().map(|g| (g.mask, place(g.pc, g.callers.is_empty()))));
    }
}

/// Offsets from a function's entry that can be reached, starting points included.
fn reach(
    from: &[usize],
    n: usize,
    next: impl Fn(usize) -> Vec<usize>,
    stops: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; n];
    let mut work = from.to_vec();
    while let Some(at) = work.pop() {
        if at < n && !std::mem::replace(&mut reached[at], true) && !stops(at) {
            work.extend(next(at));
        }
    }
    reached
}

impl Machine<'_> {
    /// Whether a value that was read before is never used: neither on a way from the read to the
    /// place where its thread stands now, nor from there on. In doubt it is.
    pub(in crate::exec) fn never_used(&mut self, read: Record, lane: u32) -> bool {
        if !self.sanitizer.checks.taint {
            return false;
        }
        let Some(standing) = self.block.places.warps.get(usize::from(read.warp)) else {
            return false;
        };
        let place = match standing.iter().find(|(mask, _)| (mask >> lane) & 1 == 1) {
            None => None,
            Some((_, Some(pc))) => Some(*pc),
            Some((_, None)) => return false,
        };
        if let Some(known) = self.block.places.known.get(&(read.pc, place)) {
            return *known;
        }
        let unused = self.unused_from(read.pc, place);
        self.block.places.known.insert((read.pc, place), unused);
        unused
    }

    fn unused_from(&self, read: u32, place: Option<u32>) -> bool {
        let program = self.program;
        let code = &program.code[self.context.kernel];
        let inside = |pc: u32| (code.entry..code.end).contains(&pc);
        if !inside(read) || place.is_some_and(|pc| !inside(pc)) {
            return false;
        }
        let (entry, n) = (code.entry as usize, (code.end - code.entry) as usize);
        let (read, place) = (read as usize - entry, place.map(|pc| pc as usize - entry));
        let op = |at: usize| program.ops[entry + at];
        let next = |at: usize| -> Vec<usize> {
            let mut list = targets(program, op(at));
            list.iter_mut().for_each(|to| *to -= entry);
            list.extend(op(at).falls_through().then_some(at + 1));
            list
        };
        let guarded = |at: usize| at > 0 && matches!(op(at - 1), Op::Guard(..));
        let touches = |at: usize, reg: Reg, write: bool| {
            let mut found = false;
            visit(program, op(at), &mut |role, r| {
                found |= r == reg && (role == Use::Write) == write;
            });
            found
        };
        let mut results = Vec::new();
        visit(program, op(read), &mut |role, reg| {
            results.extend((role == Use::Write).then_some(reg));
        });
        if let Op::WarpSync(index) = op(read)
            && let WarpSyncKind::Matrix(matrix) = program.syncs[index as usize].kind
        {
            program.matrices[matrix as usize]
                .visit(&mut |role, reg| results.extend((role == Use::Write).then_some(reg)));
        }
        results.iter().all(|&reg| {
            let ends = |at: usize| at == read || (touches(at, reg, true) && !guarded(at));
            let live = reach(&[read + 1], n, next, ends);
            let later = place.map(|at| reach(&[at], n, next, ends));
            let mut uses = (0..n).filter(|at| live[*at] && touches(*at, reg, false));
            !uses.any(|at| {
                let onward = reach(&next(at), n, next, |at| at == read);
                let before = match place {
                    Some(place) => onward[place] || place == at,
                    None => (0..n).any(|at| onward[at] && matches!(op(at), Op::Return | Op::Exit)),
                };
                before || later.as_ref().is_some_and(|later| later[at])
            })
        })
    }

    /// Whether the value that the action under way reads can be followed to its uses.
    pub(in crate::exec) fn follows(&self, action: &Action<'_>, home: Home) -> bool {
        let loads = match self.program.ops[self.pc as usize] {
            Op::Memory(_) => true,
            Op::WarpSync(index) => {
                matches!(self.program.syncs[index as usize].kind, WarpSyncKind::Matrix(_))
            }
            _ => false,
        };
        let plain = matches!(action, Action::Memory(m) if !m.store && !m.volatile);
        self.sanitizer.checks.taint && loads && plain && matches!(home, Home::Shared)
    }

    /// Keeps a finding about a read until the value is used, with other occurrences of it.
    pub(in crate::exec) fn read_ahead(
        &mut self,
        key: Key,
        lanes: u32,
        range: Option<(i64, i64)>,
        finding: impl FnOnce(&Self) -> Finding,
    ) -> ReadAhead {
        let n = u64::from(lanes.count_ones());
        let known = self.sanitizer.unused.iter().position(|unused| unused.key == key);
        if known.is_none_or(|at| self.sanitizer.unused[at].used)
            && (self.sanitizer.findings.again(key, n, range) || self.sanitizer.findings.full())
        {
            return ReadAhead::default();
        }
        let at = known.unwrap_or(self.sanitizer.unused.len());
        if let Some(Unused { finding, .. }) = self.sanitizer.unused.get_mut(at) {
            finding.n_threads += n;
            if let (Some(all), Some((low, high))) = (&mut finding.elements, range) {
                *all = (all.0.min(low), all.1.max(high));
            }
        } else {
            let finding = finding(self);
            self.sanitizer.unused.push(Unused { key, finding, used: false });
        }
        ReadAhead { lanes, origin: READ_AHEAD | at as u32 }
    }

    /// Marks the registers that received the values.
    pub(in crate::exec) fn mark_read_ahead(
        &mut self,
        action: &Action<'_>,
        regs: &mut Registers<'_>,
        ahead: ReadAhead,
    ) {
        let Action::Memory(m) = action else { return };
        if ahead.lanes == 0 {
            return;
        }
        self.sanitizer.undefined.loaded |= ahead.lanes;
        self.sanitizer.undefined.ahead = Some(ahead.origin);
        for reg in m.regs.iter().flatten() {
            regs.taint.mark(regs.frame.base, *reg, ahead.lanes, ahead.origin);
        }
    }

    /// The value of such an origin matters: its finding is an error. False for other origins.
    pub(in crate::exec) fn used_after_all(&mut self, origin: u32) -> bool {
        if origin & READ_AHEAD == 0 || origin == NEVER_WRITTEN {
            return false;
        }
        let at = (origin & !READ_AHEAD) as usize;
        self.make_error(at);
        true
    }

    fn make_error(&mut self, at: usize) {
        if let Some(unused) = self.sanitizer.unused.get_mut(at)
            && !std::mem::replace(&mut unused.used, true)
        {
            let (key, finding) = (unused.key, unused.finding.clone());
            self.keep(key, finding);
        }
    }

    /// Another occurrence of a finding is an error: so is the first one that was kept.
    pub(in crate::exec) fn error_after_all(&mut self, key: Key) {
        let known = self.sanitizer.unused.iter().position(|unused| unused.key == key);
        known.into_iter().for_each(|at| self.make_error(at));
    }

    /// Adds what was never used to the findings.
    pub(in crate::exec) fn report_unused(&mut self) {
        for Unused { key, mut finding, .. } in
            std::mem::take(&mut self.sanitizer.unused).into_iter().filter(|unused| !unused.used)
        {
            if self.sanitizer.findings.again(key, finding.n_threads, finding.elements) {
                continue;
            }
            finding.severity = Severity::Info;
            finding.message.push_str("; the value read is never used");
            finding.hint = None;
            self.sanitizer.findings.add(key, finding);
        }
    }
}
