//! Bytes of asynchronous copies between global and shared memory: bounds, marks and races.

use std::ops::Range;

use super::super::{
    Machine,
    access::{Home, Refusal, Registers},
    cluster::Holder,
    sanitize::{
        races::{Earlier, Races, Ranges, Touch},
        taint::Fate,
    },
    transfer::Places,
};
use crate::{
    finding::{Finding, FindingKind, Other},
    memory::{BufferId, INITIALISED, Memory, PENDING, WRITTEN, shared_address, shared_parts},
    op::{Op, StateSpace},
    tensor_map::Swizzle,
};

/// Bytes on their way, with the marks they had in memory.
#[derive(Debug, Default)]
pub(super) struct Payload {
    pub data: Vec<u8>,
    pub marks: Vec<u8>,
}

impl Payload {
    /// So many zeros, all of them defined.
    pub(super) fn zeros(bytes: usize) -> Self {
        Self { data: vec![0; bytes], marks: vec![INITIALISED; bytes] }
    }

    fn first_undefined(&self, range: Range<usize>) -> Option<usize> {
        let at = self.marks[range.clone()].iter().position(|m| m & INITIALISED == 0)?;
        Some(range.start + at)
    }
}

/// A part of the shared memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The block, if it is not the running one.
    pub peer: Option<usize>,
    /// Offset in its shared memory.
    pub at: usize,
}

impl Place {
    pub(super) fn home(self) -> Home {
        self.peer.map_or(Home::Shared, Home::Peer)
    }
}

/// The operation under way.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Issue {
    pub pc: u32,
    pub lane: usize,
}

impl Machine<'_> {
    fn refuse_bytes(
        &mut self,
        kind: FindingKind,
        place: StateSpace,
        address: u64,
        bytes: u32,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let at = [address; 32];
        let lanes = 1 << issue.lane;
        self.sanitizer.refusals.push(Refusal { kind, lanes, at, place, bytes });
        self.record_refusals(regs, issue.pc);
    }

    /// The place of `bytes` bytes of shared memory; none if they are not there, which then is
    /// reported.
    pub(super) fn shared_place(
        &mut self,
        address: u64,
        bytes: u64,
        align: u64,
        write: bool,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Option<Place> {
        let (slot, offset) = shared_parts(address);
        let (start, size) = self.layout.slots.get(slot).copied().flatten().unwrap_or((0, 0));
        let peer = match self.holder(address) {
            Holder::Own => Ok(None),
            Holder::Peer(rank) => {
                self.check_started(rank, regs, 1 << issue.lane);
                Ok(Some(rank))
            }
            Holder::Exited(_) | Holder::None => Err(FindingKind::Cluster),
        };
        let bounds =
            if write { FindingKind::OutOfBoundsWrite } else { FindingKind::OutOfBoundsRead };
        let (kind, at) = match peer {
            Err(kind) => (kind, address),
            Ok(_) if !offset.cast_unsigned().is_multiple_of(align) => {
                let bytes = align as u32;
                let place = StateSpace::Shared;
                self.refuse_bytes(FindingKind::Misaligned, place, address, bytes, regs, issue);
                return None;
            }
            Ok(_) if offset < start as i64 => (bounds, address),
            Ok(_) if offset as u64 + bytes > (start + size) as u64 => {
                // The first byte behind the end is the one to name.
                let end = shared_address(slot, start + size).max(address);
                (bounds, end)
            }
            Ok(peer) => return Some(Place { peer, at: offset as usize }),
        };
        self.refuse_bytes(kind, StateSpace::Shared, at, 16, regs, issue);
        None
    }

    /// Buffer and offset of bytes in global memory; none if they are not there, which then is
    /// reported.
    pub(super) fn global_place(
        &mut self,
        address: u64,
        bytes: u64,
        align: u64,
        write: bool,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Option<(usize, usize)> {
        let bounds =
            if write { FindingKind::OutOfBoundsWrite } else { FindingKind::OutOfBoundsRead };
        let (kind, at) = match self.memory.decode(address) {
            _ if !address.is_multiple_of(align) => {
                let (kind, place) = (FindingKind::Misaligned, StateSpace::Global);
                self.refuse_bytes(kind, place, address, align as u32, regs, issue);
                return None;
            }
            None if Memory::is_null(address) => (FindingKind::NullPointer, address),
            None => (bounds, address),
            Some((index, offset)) => {
                let buffer = &self.memory.buffers[index];
                let usable = buffer.live && !(write && buffer.read_only);
                let size = if usable { buffer.data.len() as i64 } else { 0 };
                if offset >= 0 && offset + bytes as i64 <= size {
                    return Some((index, offset as usize));
                }
                let end = Memory::address(BufferId(index as u32)).wrapping_add(size as u64);
                (bounds, if offset < 0 { address } else { end.max(address) })
            }
        };
        let unit = bytes.min(16) as u32;
        self.refuse_bytes(kind, StateSpace::Global, at, unit, regs, issue);
        None
    }

    /// Notes an access of a lane to a range of a memory.
    fn watch_range(
        &mut self,
        home: Home,
        range: Range<u64>,
        how: (bool, bool),
        regs: &Registers<'_>,
        lane: usize,
    ) {
        let ranges = Ranges { starts: &[range.start], bytes: range.end - range.start };
        self.watch_ranges(home, ranges, how, regs, lane);
    }

    fn watch_ranges(
        &mut self,
        home: Home,
        range: Ranges<'_>,
        (write, strong): (bool, bool),
        regs: &Registers<'_>,
        lane: usize,
    ) {
        let alone = self.cluster.len() == 1;
        if self.sanitizer.races.is_some() && self.is_early(regs.warp, 1 << lane) {
            for start in range.starts {
                let bytes = range.bytes as u32;
                self.check_early(home, &[*start; 32], bytes, (write, strong), regs, 1 << lane);
            }
        }
        let Some(races) = &mut self.sanitizer.races else { return };
        if races.overflow(&mut self.block.shared.shadow) {
            self.cluster.peers.iter_mut().for_each(|peer| peer.shared.shadow.clear());
        }
        let own = home == Home::Shared && alone;
        let touch = Touch { pc: self.pc, warp: regs.warp, write, strong, own };
        let order = &self.block.order;
        let found = match home {
            Home::Shared => {
                races.touch_ranges(touch, &mut self.block.shared.shadow, order, range, lane as u32)
            }
            Home::Peer(rank) => {
                let shadow = &mut self.cluster.peers[rank].shared.shadow;
                races.touch_ranges(touch, shadow, order, range, lane as u32)
            }
            Home::Buffer(index) => {
                let mut shadow = races.take(index);
                shadow.resize(self.memory.buffers[index].data.len());
                let found = races.touch_ranges(touch, &mut shadow, order, range, lane as u32);
                races.put_back(index, shadow);
                found
            }
            Home::Local | Home::Param => None,
        };
        if let Some((at, conflict)) = found {
            let places = Places::scattered([at; 32], 1 << lane);
            self.report_race(home, &places, 4, regs, (write, false), &conflict);
        }
    }

    /// Reads bytes of global memory into a part of a payload.
    pub(super) fn take_global(
        &mut self,
        address: u64,
        align: u64,
        payload: &mut Payload,
        part: Range<usize>,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let bytes = part.len() as u64;
        let Some((index, at)) = self.global_place(address, bytes, align, false, regs, issue) else {
            return;
        };
        let buffer = &self.memory.buffers[index];
        payload.data[part.clone()].copy_from_slice(&buffer.data[at..at + part.len()]);
        if let Some(flags) = &buffer.flags {
            payload.marks[part.clone()].copy_from_slice(&flags[at..at + part.len()]);
        }
        if let Some(first) = payload.first_undefined(part.clone()) {
            let at = address + (first - part.start) as u64;
            self.note_undefined(StateSpace::Global, at, regs, issue);
        }
        let range = at as u64..(at as u64 + bytes);
        self.watch_range(Home::Buffer(index), range, (false, false), regs, issue.lane);
    }

    /// Remembers the first read of undefined bytes by a copy.
    fn note_undefined(&mut self, place: StateSpace, at: u64, regs: &Registers<'_>, issue: Issue) {
        if !self.sanitizer.checks.taint {
            return;
        }
        let kind = FindingKind::UninitialisedRead;
        let refusal = Refusal { kind, lanes: 1 << issue.lane, at: [at; 32], place, bytes: 4 };
        self.note_origin(issue.pc, |machine| machine.refused(&refusal, regs, issue.pc));
    }

    /// Puts a payload into shared memory, where it is pending until its phase is waited for.
    pub(super) fn put_shared(
        &mut self,
        payload: &Payload,
        to: Place,
        swizzle: Swizzle,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        self.last_copy = Some(issue.pc);
        let range = to.at as u64..(to.at + payload.data.len()) as u64;
        self.watch_range(to.home(), range, (true, false), regs, issue.lane);
        let shared = self.shared_of(to.peer);
        let undefined = payload.marks.iter().any(|m| m & INITIALISED == 0);
        let chunks = payload.data.chunks(16).zip(payload.marks.chunks(16));
        for (n, (data, marks)) in chunks.enumerate() {
            let at = swizzle.apply((to.at + 16 * n) as u64) as usize;
            shared.data[at..at + data.len()].copy_from_slice(data);
            for (flag, mark) in shared.flags[at..at + data.len()].iter_mut().zip(marks) {
                *flag = if mark & INITIALISED == 0 { PENDING } else { PENDING | WRITTEN };
            }
            if undefined {
                let bytes = marks.iter().enumerate().filter(|(_, m)| *m & INITIALISED == 0);
                shared.origins.extend(bytes.map(|(i, _)| ((at + i) as u64, issue.pc)));
            }
        }
        self.progress.changes += 1;
    }

    /// Reads bytes of shared memory for a copy out of it.
    pub(super) fn take_shared(
        &mut self,
        from: Place,
        bytes: usize,
        swizzle: Swizzle,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Payload {
        let mut payload = Payload::zeros(bytes);
        let range = from.at as u64..(from.at + bytes) as u64;
        let ranges = Ranges { starts: &[range.start], bytes: bytes as u64 };
        self.check_sources(ranges, regs, issue);
        let shared = &self.block.shared;
        let chunks = payload.data.chunks_mut(16).zip(payload.marks.chunks_mut(16));
        for (n, (data, marks)) in chunks.enumerate() {
            let at = swizzle.apply((from.at + 16 * n) as u64) as usize;
            let end = at + data.len();
            data.copy_from_slice(&shared.data[at..end]);
            marks.copy_from_slice(&shared.flags[at..end]);
        }
        if let Some(first) = payload.first_undefined(0..bytes) {
            let at = swizzle.apply((from.at + first) as u64);
            let pending = self.block.shared.flags[at as usize] & PENDING != 0;
            let address = self.shared_address_of(at);
            if pending {
                payload.marks.fill(INITIALISED);
                let (kind, place) = (FindingKind::AsyncRead, StateSpace::Shared);
                if self.sanitizer.checks.initialisation {
                    self.refuse_bytes(kind, place, address, 16, regs, issue);
                }
            } else {
                self.note_undefined(StateSpace::Shared, address, regs, issue);
            }
        }
        payload
    }

    /// Finds writes of threads to ranges that an asynchronous operation is about to read, without a
    /// proxy fence between.
    pub(in crate::exec) fn check_sources(
        &mut self,
        ranges: Ranges<'_>,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let Some(races) = &self.sanitizer.races else { return };
        let program = self.program;
        let is_async = |pc: u32| {
            matches!(program.ops[pc as usize], Op::Bulk(_) | Op::Async(_) | Op::Cluster(_))
        };
        let shadow = &self.block.shared.shadow;
        let Some(found) = races.unfenced(shadow, ranges, &self.block.order, is_async) else {
            return;
        };
        let what = "an asynchronous operation reads shared memory that threads wrote without \
                    `fence.proxy.async` between";
        let hint = "let the threads that wrote execute fence.proxy.async.shared::cta before the \
                    barrier in front of this operation";
        self.report_earlier(FindingKind::AsyncProxy, what, hint, found, regs, issue);
    }

    /// Ends the read of ranges that an asynchronous operation issued when `number` was the next
    /// record: nobody may have written to them since.
    pub(in crate::exec) fn end_sources(
        &mut self,
        ranges: Ranges<'_>,
        number: u32,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        if self.sanitizer.races.is_none() {
            return;
        }
        self.pc = issue.pc;
        let found = Races::written_since(&self.block.shared.shadow, ranges, number);
        let Some(found) = found else {
            return self.watch_ranges(Home::Shared, ranges, (false, false), regs, issue.lane);
        };
        let what = "shared memory is overwritten while an asynchronous operation may still read it";
        let hint = "wait for the operation before the shared memory is used again: \
                    cp.async.bulk.wait_group.read after a store, wgmma.wait_group after a product, \
                    and a barrier where another thread writes";
        self.report_earlier(FindingKind::SharedRace, what, hint, found, regs, issue);
    }

    /// Reports an earlier write that an asynchronous operation must not find.
    fn report_earlier(
        &mut self,
        kind: FindingKind,
        what: &str,
        hint: &str,
        found: Earlier,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let Some(races) = &self.sanitizer.races else { return };
        let (record, block) = races.who(found.cell);
        let key = self.key(kind, issue.pc, Some(record.pc));
        if self.sanitizer.findings.again(key, 1, None) || self.sanitizer.findings.full() {
            return;
        }
        let address = self.shared_address_of(found.at);
        let lanes = 1 << issue.lane;
        let at = [address; 32];
        let refusal = Refusal { kind, lanes, at, place: StateSpace::Shared, bytes: 4 };
        let target = self.target(&refusal, address);
        let name = match (&target.label, target.element) {
            (Some(label), Some(element)) => format!(": `{label}`[{element}]"),
            _ => String::new(),
        };
        let (line, instruction) = self.program.place_of(record.pc);
        let written = line.map(|line| format!(", written at line {line}")).unwrap_or_default();
        let text = format!("{what}{name}{written}");
        let mut finding: Finding = self.finding(kind, &text, target, regs, issue.pc, lanes);
        let what = "the write".to_owned();
        let block = Some(self.coordinates(block));
        finding.other = Some(Other { what, line, instruction, block, thread: None });
        finding.hint = Some(hint.to_owned());
        self.keep(key, finding);
    }

    /// Writes a part of a payload to global memory; with a reduction, combines it.
    pub(super) fn put_global(
        &mut self,
        (address, align): (u64, u64),
        payload: &Payload,
        part: Range<usize>,
        reduction: Option<crate::op::Reduction>,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let bytes = part.len() as u64;
        let Some((index, at)) = self.global_place(address, bytes, align, true, regs, issue) else {
            return;
        };
        if payload.first_undefined(part.clone()).is_some() && self.sanitizer.checks.taint {
            self.undefined_used(issue.pc, Fate::Stored, regs, issue.pc, 1 << issue.lane);
        }
        let range = at as u64..(at as u64 + bytes);
        let strong = reduction.is_some();
        self.watch_range(Home::Buffer(index), range, (true, strong), regs, issue.lane);
        let buffer = &mut self.memory.buffers[index];
        let to = &mut buffer.data[at..at + part.len()];
        match reduction {
            None => to.copy_from_slice(&payload.data[part.clone()]),
            Some(reduction) => combine(reduction, to, &payload.data[part.clone()]),
        }
        if let Some(flags) = &mut buffer.flags {
            for flag in &mut flags[at..at + part.len()] {
                // A sum with a value that nobody wrote stays undefined.
                let kept = if strong { *flag & INITIALISED } else { INITIALISED };
                *flag = kept | WRITTEN;
            }
        }
        self.progress.changes += 1;
    }

    /// Combines a payload with shared memory.
    pub(super) fn combine_shared(
        &mut self,
        payload: &Payload,
        to: Place,
        reduction: crate::op::Reduction,
        regs: &Registers<'_>,
        issue: Issue,
    ) {
        let range = to.at as u64..(to.at + payload.data.len()) as u64;
        self.watch_range(to.home(), range, (true, true), regs, issue.lane);
        let shared = self.shared_of(to.peer);
        combine(reduction, &mut shared.data[to.at..to.at + payload.data.len()], &payload.data);
        self.progress.changes += 1;
    }
}

/// Combines the elements of `from` with those of `to`.
fn combine(reduction: crate::op::Reduction, to: &mut [u8], from: &[u8]) {
    let size = reduction.bytes as usize;
    let read = |bytes: &[u8]| {
        let mut le = [0; 8];
        le[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(le)
    };
    for (to, from) in to.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
        let new = (reduction.f)(read(to), read(from));
        to.copy_from_slice(&new.to_le_bytes()[..size]);
    }
}
