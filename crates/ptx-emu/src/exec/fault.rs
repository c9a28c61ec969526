//! Reports: which thread of which block did what to which element, and on which line.

use super::{
    Machine,
    access::{Refusal, Registers},
    warp::{Wait, Warp},
};
use crate::{
    lower::opcode,
    op::{Op, Place},
    report::{Fault, FaultKind, Stop},
};

/// What an address was computed from.
struct Target {
    label: Option<String>,
    element: Option<i64>,
    elements: Option<u64>,
}

impl Machine<'_> {
    pub(super) fn unsupported(&self, pc: u32, reason: &str) -> Stop {
        let (instruction, line, message) = self.program.refusal(pc as usize, reason);
        Stop::Unsupported { instruction, line, message }
    }

    /// A fault that is no memory access.
    pub(super) fn fault_here(
        &self,
        kind: FaultKind,
        what: &str,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
    ) -> Stop {
        let target = Target { label: None, element: None, elements: None };
        self.fault(kind, what, target, regs, pc, lanes, 0)
    }

    #[expect(clippy::too_many_arguments, reason = "every one is a field of the report")]
    fn fault(
        &self,
        kind: FaultKind,
        what: &str,
        target: Target,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
        access_bytes: u32,
    ) -> Stop {
        let (line, instruction) = self.program.place_of(pc);
        let lane = lanes.trailing_zeros() as usize & 31;
        let thread = regs.tid.map(|axis| axis[lane]);
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = thread;
        let n_threads = lanes.count_ones();
        let at = line.map(|l| format!(", line {l}")).unwrap_or_default();
        let plural = if n_threads == 1 { "" } else { "s" };
        let opcode = opcode(&instruction);
        let message = format!(
            "{what}{at}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz}), \
             {n_threads} thread{plural} of the warp; {opcode}"
        );
        Stop::Fault(Box::new(Fault {
            kind,
            kernel: self.launch.kernel.clone(),
            line,
            instruction,
            block: self.block,
            thread,
            buffer: target.label,
            element: target.element,
            buffer_elements: target.elements,
            access_bytes,
            n_threads,
            message,
        }))
    }

    fn target(&self, refusal: &Refusal) -> Target {
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
            Place::Global => {
                let Some((index, offset)) = self.memory.decode(refusal.address) else {
                    return none;
                };
                let buffer = &self.memory.buffers[index];
                by_size(&buffer.label, offset, buffer.element_bytes, buffer.data.len())
            }
            Place::Shared => {
                let slot = refusal.address >> 24;
                let base = slot << 24 | 1 << 23;
                let offset = refusal.address.wrapping_sub(base) as i64;
                let size = self.shared_map.get(slot as usize).copied().flatten();
                let label = self.shared_label(slot as usize);
                let (Some((_, size)), Some((label, element))) = (size, label) else { return none };
                // Dynamic shared memory is declared without a useful element: use the access.
                let element = if element <= 1 { refusal.bytes as usize } else { element };
                by_size(&label, offset, element, size)
            }
            Place::Local | Place::Frame => Target {
                label: Some("local memory".to_owned()),
                element: Some((refusal.address as i64).div_euclid(i64::from(refusal.bytes.max(1)))),
                elements: None,
            },
            Place::Param | Place::Generic => none,
        }
    }

    /// The report of a refused access.
    pub(super) fn refused(&self, refusal: &Refusal, regs: &Registers<'_>, pc: u32) -> Stop {
        let target = self.target(refusal);
        let bytes = refusal.bytes;
        let write = matches!(self.program.ops[pc as usize], Op::Memory(i)
            if self.program.memory[i as usize].store);
        let verb = match self.program.ops[pc as usize] {
            Op::Atomic(_) => "atomic",
            _ if write || refusal.kind == FaultKind::OutOfBoundsWrite => "write",
            _ => "read",
        };
        let space = match refusal.place {
            Place::Shared => "shared ",
            Place::Local | Place::Frame => "local ",
            Place::Param => "parameter ",
            Place::Global | Place::Generic => "",
        };
        let freed = refusal.place == Place::Global
            && matches!(self.memory.decode(refusal.address), Some((i, _)) if !self.memory.buffers[i].live);
        let place = match (&target.label, target.element, target.elements) {
            (Some(label), Some(element), Some(_)) if freed => {
                format!("`{label}`[{element}] (freed)")
            }
            (Some(label), Some(element), Some(n)) => {
                format!("`{label}`[{element}] ({n} elements)")
            }
            (Some(label), Some(_), None) => format!("{label}, byte {}", refusal.address as i64),
            _ => format!("address 0x{:x}, which belongs to no buffer", refusal.address),
        };
        let what = match refusal.kind {
            FaultKind::Misaligned => {
                let rest = refusal.address % u64::from(bytes.max(1));
                format!(
                    "misaligned {space}{verb} of {bytes} bytes: {place}, {rest} bytes past a \
                     multiple of {bytes}"
                )
            }
            FaultKind::UninitialisedRead => {
                format!("{verb} of {bytes} uninitialised {space}bytes: {place}")
            }
            FaultKind::NullPointer => {
                format!(
                    "{verb} of {bytes} bytes through a null pointer (address 0x{:x})",
                    refusal.address
                )
            }
            _ => format!("out-of-bounds {space}{verb} of {bytes} bytes: {place}"),
        };
        self.fault(refusal.kind, &what, target, regs, pc, refusal.lanes, bytes)
    }

    /// Where the warp's lanes are, a line per group.
    fn describe(&self, warp: &Warp) -> String {
        let mut parts = Vec::new();
        for group in &warp.groups {
            let (line, text) = self.program.place_of(group.pc);
            let n = group.mask.count_ones();
            let line = line.map(|l| format!("line {l}, ")).unwrap_or_default();
            let doing = match group.wait {
                Wait::None => "runs at",
                Wait::Warp => "waits for lanes at",
                Wait::Block(..) => "waits at the barrier of",
            };
            parts.push(format!(
                "warp {} ({n} threads) {doing} {line}{}",
                warp.index,
                opcode(&text)
            ));
        }
        parts.join("; ")
    }

    pub(super) fn first_line(&self, warps: &[Warp]) -> Option<u32> {
        warps.iter().flat_map(|w| &w.groups).find_map(|g| self.program.place_of(g.pc).0)
    }

    pub(super) fn describe_all(&self, warps: &[Warp]) -> String {
        let [x, y, z] = self.block;
        let waiting: Vec<String> =
            warps.iter().filter(|w| !w.groups.is_empty()).map(|w| self.describe(w)).collect();
        let more = waiting.len().saturating_sub(4);
        let mut text =
            format!("block ({x},{y},{z}): {}", waiting[..waiting.len() - more].join("; "));
        if more > 0 {
            text.push_str("; and more warps");
        }
        text
    }

    pub(super) fn out_of_budget(&self, warp: &Warp) -> Stop {
        let n = self.lane_instructions;
        let [x, y, z] = self.block;
        let line = warp.groups.iter().find_map(|g| self.program.place_of(g.pc).0);
        let message = format!(
            "the budget of {} lane instructions is spent; block ({x},{y},{z}): {}",
            self.limits.lane_instructions,
            self.describe(warp)
        );
        Stop::Budget { lane_instructions: n, message, line }
    }

    /// Name and element size of the shared variable in `slot`.
    fn shared_label(&self, slot: usize) -> Option<(String, usize)> {
        let index = *self.shared_names.get(slot)?;
        let variable = &self.program.variables[index? as usize];
        Some((variable.label.clone(), variable.element_bytes))
    }
}
