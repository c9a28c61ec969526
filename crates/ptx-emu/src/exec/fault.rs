//! Reports: which thread of which block did it to which element, and on which line.

use super::{
    Machine,
    access::{Refusal, Registers},
    findings::Key,
};
use crate::{
    finding::{Finding, FindingKind, Other, Severity},
    lower::opcode,
    memory::shared_parts,
    op::{Op, StateSpace},
    report::LaunchError,
};

/// The variable from which an address was computed.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub label: Option<String>,
    pub element: Option<i64>,
    pub elements: Option<u64>,
}

impl Machine<'_> {
    pub(super) fn unsupported(&self, pc: u32, reason: &str) -> LaunchError {
        let (instruction, line, message) = self.program.refusal(pc as usize, reason);
        LaunchError::Unsupported { instruction, line, message }
    }

    /// A finding that is no memory access and ends the launch.
    pub(super) fn fault_here(
        &self,
        kind: FindingKind,
        what: &str,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
    ) -> LaunchError {
        let finding = self.finding(kind, what, Target::default(), regs, pc, lanes);
        LaunchError::Fault(Box::new(finding))
    }

    /// The first occurrence of something that `lanes` did at `pc`.
    pub(super) fn finding(
        &self,
        kind: FindingKind,
        what: &str,
        target: Target,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
    ) -> Finding {
        let (line, instruction) = self.program.place_of(pc);
        let lane = lanes.trailing_zeros() as usize & 31;
        let thread = regs.tid.map(|axis| axis[lane]);
        let [bx, by, bz] = self.block.at;
        let [tx, ty, tz] = thread;
        let n_threads = lanes.count_ones();
        let at = line.map(|l| format!(", line {l}")).unwrap_or_default();
        let plural = if n_threads == 1 { "" } else { "s" };
        let opcode = opcode(&instruction);
        let message = format!(
            "{what}{at}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz}), \
             {n_threads} thread{plural} of the warp; {opcode}"
        );
        Finding {
            kind,
            severity: Severity::Error,
            kernel: self.context.launch.kernel.clone(),
            line,
            instruction,
            block: self.block.at,
            thread,
            buffer: target.label,
            element: target.element,
            buffer_elements: target.elements,
            access_bytes: 0,
            n_threads: u64::from(n_threads),
            elements: target.element.map(|e| (e, e)),
            other: None,
            hint: None,
            message,
        }
    }

    /// The key that separates findings of one kind: their lines.
    pub(super) fn key(&self, kind: FindingKind, pc: u32, other: Option<u32>) -> Key {
        let place = |pc: u32| match self.program.origins[pc as usize].line {
            0 => pc | 1 << 31,
            line => line,
        };
        (kind, place(pc), other.map_or(u32::MAX, place))
    }

    /// Keeps a first occurrence; after the first error the launch may only run a while longer.
    pub(super) fn keep(&mut self, key: Key, finding: Finding) {
        if finding.severity == Severity::Error && self.sanitizer.findings.errors == 0 {
            let end = self.lane_instructions.saturating_add(self.context.limits.after_error);
            self.context.limits.lane_instructions = self.context.limits.lane_instructions.min(end);
        }
        self.sanitizer.findings.add(key, finding);
    }

    pub(super) fn target(&self, refusal: &Refusal, address: u64) -> Target {
        let none = Target { label: None, element: None, elements: None };
        let by_size = |label: &str, offset: i64, element: usize, bytes: usize| {
            let element = element.max(1);
            Target {
                label: Some(label.to_owned()),
                element: Some(offset.div_euclid(element as i64)),
                elements: Some((bytes / element) as u64),
            }
        };
        match refusal.place {
            StateSpace::Global => {
                let Some((index, offset)) = self.memory.decode(address) else {
                    return none;
                };
                let buffer = &self.memory.buffers[index];
                by_size(&buffer.label, offset, buffer.element_bytes, buffer.data.len())
            }
            StateSpace::Shared => {
                let (slot, at) = shared_parts(address);
                let size = self.layout.slots.get(slot).copied().flatten();
                let label = self.shared_label(slot);
                let (Some((start, size)), Some((label, element))) = (size, label) else {
                    return none;
                };
                let offset = at - start as i64;
                // Dynamic shared memory is declared without a useful element: use the access.
                let element = if element <= 1 { refusal.bytes as usize } else { element };
                by_size(&label, offset, element, size)
            }
            StateSpace::Local | StateSpace::Frame => Target {
                label: Some("local memory".to_owned()),
                element: Some((address as i64).div_euclid(i64::from(refusal.bytes.max(1)))),
                elements: None,
            },
            StateSpace::Param | StateSpace::Generic => none,
        }
    }

    /// Records the accesses that were refused since the last call.
    pub(super) fn record_refusals(&mut self, regs: &Registers<'_>, pc: u32) {
        for refusal in std::mem::take(&mut self.sanitizer.refusals) {
            let key = self.key(refusal.kind, pc, None);
            let elements = self.range(&refusal);
            let n = u64::from(refusal.lanes.count_ones());
            if self.sanitizer.findings.again(key, n, elements) || self.sanitizer.findings.full() {
                continue;
            }
            let mut finding = self.refused(&refusal, regs, pc);
            finding.elements = elements;
            self.keep(key, finding);
        }
    }

    /// Least and greatest element of the lanes' accesses to the buffer of the first.
    pub(super) fn range(&self, refusal: &Refusal) -> Option<(i64, i64)> {
        let head = self.target(refusal, refusal.address());
        let mut range: Option<(i64, i64)> = None;
        for lane in (0..32).filter(|i| (refusal.lanes >> i) & 1 == 1) {
            let target = self.target(refusal, refusal.at[lane]);
            if let (Some(element), true) = (target.element, target.label == head.label) {
                range = Some(
                    range.map_or((element, element), |(a, b)| (a.min(element), b.max(element))),
                );
            }
        }
        range
    }

    /// The finding for a refused access.
    pub(super) fn refused(&self, refusal: &Refusal, regs: &Registers<'_>, pc: u32) -> Finding {
        let address = refusal.address();
        let target = self.target(refusal, address);
        let bytes = refusal.bytes;
        let write = matches!(self.program.ops[pc as usize], Op::Memory(i)
            if self.program.memory[i as usize].store);
        let verb = match self.program.ops[pc as usize] {
            Op::Atomic(_) => "atomic",
            _ if write || refusal.kind == FindingKind::OutOfBoundsWrite => "write",
            _ => "read",
        };
        let space = match refusal.place {
            StateSpace::Shared => "shared ",
            StateSpace::Local | StateSpace::Frame => "local ",
            StateSpace::Param => "parameter ",
            StateSpace::Global | StateSpace::Generic => "",
        };
        let freed = refusal.place == StateSpace::Global
            && matches!(self.memory.decode(address), Some((i, _)) if !self.memory.buffers[i].live);
        let place = match (&target.label, target.element, target.elements) {
            (Some(label), Some(element), Some(_)) if freed => {
                format!("`{label}`[{element}] (freed)")
            }
            (Some(label), Some(element), Some(n)) => {
                format!("`{label}`[{element}] ({n} elements)")
            }
            (Some(label), Some(_), None) => format!("{label}, byte {}", address.cast_signed()),
            _ => format!("address 0x{address:x}, which belongs to no buffer"),
        };
        let place = match refusal.place {
            StateSpace::Shared => format!("{place}{}", self.peer_name(address)),
            _ => place,
        };
        let what = match refusal.kind {
            FindingKind::Cluster => format!("shared {verb} of {bytes} bytes: {place}"),
            FindingKind::Misaligned => {
                let rest = address % u64::from(bytes.max(1));
                format!(
                    "misaligned {space}{verb} of {bytes} bytes: {place}, {rest} bytes past a \
                     multiple of {bytes}"
                )
            }
            FindingKind::UninitialisedRead => {
                format!("{verb} of {bytes} uninitialised {space}bytes: {place}")
            }
            FindingKind::AsyncRead => format!(
                "{verb} of {bytes} shared bytes before the asynchronous copy into them was waited \
                 for: {place}"
            ),
            FindingKind::NullPointer => {
                format!("{verb} of {bytes} bytes through a null pointer (address 0x{address:x})")
            }
            _ => format!("out-of-bounds {space}{verb} of {bytes} bytes: {place}"),
        };
        let mut finding = self.finding(refusal.kind, &what, target, regs, pc, refusal.lanes);
        finding.access_bytes = bytes;
        if refusal.place == StateSpace::Shared && finding.buffer_elements == Some(0) {
            finding.hint = Some("the launch gives too little dynamic shared memory".to_owned());
        }
        if let (FindingKind::AsyncRead, Some(copy)) = (refusal.kind, self.last_copy) {
            let (line, instruction) = self.program.place_of(copy);
            let what = "copy under way".to_owned();
            finding.other = Some(Other { what, line, instruction, block: None, thread: None });
            finding.hint = Some(
                "cp.async.wait_group or wait_all must come before the read, and a barrier where \
                 another thread made the copy"
                    .to_owned(),
            );
        }
        finding
    }

    /// Reports a constant that nobody set, once: as on the machine it holds zeros.
    #[inline(never)]
    pub(super) fn unset_constant(&mut self, index: usize, lanes: u32, regs: &Registers<'_>) {
        let Some(flags) = self.memory.buffers[index].flags.take() else { return };
        self.sanitizer.unset.push((index, flags));
        if !self.sanitizer.checks.initialisation {
            return;
        }
        let label = Some(self.memory.buffers[index].label.clone());
        let name = label.as_deref().unwrap_or("");
        let what = format!(
            "constant `{name}` is read, which neither the module nor the host gives a value: it \
             holds zeros"
        );
        let target = Target { label: label.clone(), ..Target::default() };
        let (kind, pc) = (FindingKind::UnsetConstant, self.pc);
        let mut finding = self.finding(kind, &what, target, regs, pc, lanes);
        finding.severity = Severity::Info;
        finding.hint =
            Some("the host sets it, as cudaMemcpyToSymbol does, before the launch".into());
        self.keep((kind, index as u32, u32::MAX), finding);
    }

    /// Name and element size of the shared variable in `slot`.
    pub(super) fn shared_label(&self, slot: usize) -> Option<(String, usize)> {
        let index = *self.layout.variables.get(slot)?;
        let variable = &self.program.variables[index? as usize];
        Some((variable.label.clone(), variable.element_bytes))
    }
}
