//! Device functions and the device runtime.

use super::{
    Machine,
    access::Registers,
    warp::{Frame, Group, MAX_LOCAL, Warp, register_bytes},
};
use crate::{
    coverage::ENTERED,
    finding::FindingKind,
    lower::function_address,
    memory::{INITIALISED, Memory, window_base, window_of},
    op::{Builtin, CallTarget, Code, Const, Window},
    report::LaunchError,
};

/// Most bytes of a warp's registers in all frames of a stack.
const MAX_STACK_REGISTERS: usize = 64 << 20;

/// Lays a function's constants and zeroed registers down at `frame`.
pub(super) fn prepare(warp: &mut Warp, code: &Code, frame: Frame, resolve: impl Fn(Const) -> u64) {
    let [w, d, p] = frame.base.map(|b| b as usize);
    let [nw, nd, np] = code.registers.map(|n| n as usize);
    if warp.r32.len() < w + nw {
        warp.r32.resize(w + nw, [0; 32]);
    }
    if warp.r64.len() < d + nd {
        warp.r64.resize(d + nd, [0; 32]);
    }
    if warp.pred.len() < p + np {
        warp.pred.resize(p + np, 0);
    }
    for (i, c) in code.consts_w.iter().enumerate() {
        warp.r32[w + code.first_const[0] as usize + i] = [resolve(*c) as u32; 32];
    }
    for (i, c) in code.consts_d.iter().enumerate() {
        warp.r64[d + code.first_const[1] as usize + i] = [resolve(*c); 32];
    }
}

/// Writes a value into a lane's part of the running function's frame.
fn write_local(regs: &mut Registers<'_>, lane: usize, at: u32, value: &[u8]) {
    let place = lane * regs.local.stride + (regs.frame.local + at) as usize;
    let range = place..place + value.len();
    if let Some(bytes) = regs.local.bytes.get_mut(range.clone()) {
        bytes.copy_from_slice(value);
    }
    if let Some(flags) = regs.local.flags.get_mut(range) {
        flags.fill(INITIALISED);
    }
}

impl Machine<'_> {
    /// Value of a constant in this launch.
    pub(super) fn resolve(&self, c: Const) -> u64 {
        match c {
            Const::Value(v) => v,
            Const::Variable(index, offset) => {
                self.context.variable_addresses[index as usize].wrapping_add(offset)
            }
        }
    }

    /// Enters the function that the call at the group's program counter names.
    pub(super) fn enter(
        &mut self,
        warp: &mut Warp,
        mut group: Group,
        call_index: u32,
    ) -> Result<(), LaunchError> {
        let program = self.program;
        let call = &program.calls[call_index as usize];
        let function = match call.target {
            CallTarget::Direct(index) => index,
            CallTarget::Indirect(r) => {
                let row = warp.r64[(group.frame.base[1] + r) as usize];
                let lane = group.mask.trailing_zeros() as usize & 31;
                let same = (0..32).filter(|i| (group.mask >> i) & 1 == 1 && row[*i] == row[lane]);
                let lanes = same.fold(0_u32, |m, i| m | 1 << i);
                if lanes != group.mask {
                    let mut rest = group.clone();
                    rest.mask &= !lanes;
                    warp.groups.push(rest);
                    group.mask = lanes;
                }
                let index =
                    (0..program.code.len() as u32).find(|i| function_address(*i) == row[lane]);
                match index {
                    Some(index) => index,
                    None => {
                        return Err(self.unsupported(group.pc, "the called address is no function"));
                    }
                }
            }
        };
        let caller = &program.code[group.frame.function as usize];
        let code = &program.code[function as usize];
        if code.params.len() != call.args.len() || code.results.len() < call.results.len() {
            return Err(self.unsupported(group.pc, "the call does not match the function"));
        }
        let frame = Frame {
            base: std::array::from_fn(|i| group.frame.base[i].saturating_add(caller.registers[i])),
            local: group.frame.local + caller.frame_bytes,
            function,
            return_pc: group.pc + 1,
            call: call_index,
        };
        let needed = (frame.local + code.frame_bytes) as usize;
        let end = std::array::from_fn(|i| frame.base[i].saturating_add(code.registers[i]));
        if needed > MAX_LOCAL
            || group.callers.len() > 2000
            || register_bytes(end) > MAX_STACK_REGISTERS
        {
            let regs = Registers::new(warp, group.frame);
            let what = format!("stack overflow at {} nested calls", group.callers.len());
            return Err(self.fault_here(
                FindingKind::StackOverflow,
                &what,
                &regs,
                group.pc,
                group.mask,
            ));
        }
        // Lanes of other groups may stand in frames at the same place, so nothing is zeroed here.
        warp.local.reserve(needed);
        let resolved = |c| self.resolve(c);
        prepare(warp, code, frame, resolved);
        forget_local(warp, group.mask, frame.local, code.frame_bytes);
        self.enter_undefined(warp, function, frame.base, group.mask);
        for (&from, &(to, size)) in call.args.iter().zip(&code.params) {
            copy_local(warp, group.mask, group.frame.local + from, frame.local + to, size);
        }
        group.callers.push(group.frame);
        group.frame = frame;
        group.pc = code.entry;
        self.observers.coverage.mark(code.entry, ENTERED);
        warp.groups.push(group);
        Ok(())
    }

    pub(super) fn leave(&mut self, warp: &mut Warp, mut group: Group) {
        let Some(caller) = group.callers.pop() else { return };
        let code = &self.program.code[group.frame.function as usize];
        let call = &self.program.calls[group.frame.call as usize];
        for (&to, &(from, size)) in call.results.iter().zip(&code.results) {
            copy_local(warp, group.mask, group.frame.local + from, caller.local + to, size);
        }
        group.pc = group.frame.return_pc;
        group.frame = caller;
        warp.groups.push(group);
    }

    /// A function of the device runtime.
    pub(super) fn builtin(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let builtin = &self.program.builtins[index as usize];
        let argument = |lane: usize, n: usize, bytes: usize| {
            let at = builtin.args.get(n).map_or(0, |a| regs.frame.local + a) as usize;
            read_local(regs, lane, at, bytes)
        };
        match builtin.kind {
            Builtin::AssertFail => {
                let lane = mask.trailing_zeros() as usize & 31;
                let text = self.string(argument(lane, 0, 8), regs, lane);
                let what = format!("assertion `{text}` failed");
                return Err(self.fault_here(FindingKind::Assertion, &what, regs, pc, mask));
            }
            Builtin::Printf => {
                for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                    // A finding that nobody keeps gets no text: a flood would cost more than the
                    // rest.
                    if self.context.limits.printf_bytes <= self.stdout.len() {
                        break;
                    }
                    let format = self.string(argument(lane, 0, 8), regs, lane);
                    let args = argument(lane, 1, 8);
                    let text = self.formatted(&format, args, regs, lane);
                    let room = self.context.limits.printf_bytes.saturating_sub(self.stdout.len());
                    let cut = (0..=room.min(text.len())).rev().find(|n| text.is_char_boundary(*n));
                    self.stdout.push_str(&text[..cut.unwrap_or(0)]);
                }
                if let Some(at) = builtin.results.first() {
                    for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                        write_local(regs, lane, *at, &0_u32.to_le_bytes());
                    }
                }
            }
            Builtin::Malloc => {
                let Some(at) = builtin.results.first() else { return Ok(()) };
                for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                    let n = builtin.args.first().map_or(0, |a| regs.frame.local + a) as usize;
                    let address = self.memory.malloc(read_local(regs, lane, n, 8));
                    write_local(regs, lane, *at, &address.to_le_bytes());
                }
            }
            Builtin::Free => {
                for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                    let n = builtin.args.first().map_or(0, |a| regs.frame.local + a) as usize;
                    let address = read_local(regs, lane, n, 8);
                    if !self.memory.free_heap(address) {
                        let what = format!("free of {address:#x}, which `malloc` did not give");
                        let kind = FindingKind::InvalidFree;
                        return Err(self.fault_here(kind, &what, regs, pc, 1 << lane));
                    }
                }
            }
        }
        Ok(())
    }

    /// Bytes at a generic address; fewer than asked at a buffer's end.
    fn peek(&self, address: u64, bytes: usize, regs: &Registers<'_>, lane: usize) -> u64 {
        let mut value = 0;
        for i in 0..bytes {
            let at = address.wrapping_add(i as u64);
            let byte = match window_of(at) {
                Window::Local => {
                    let offset = at.wrapping_sub(window_base(Window::Local)) as usize;
                    read_local(regs, lane, offset, 1)
                }
                Window::Global | Window::Const => {
                    let place = self.memory.decode(at);
                    let byte = place.and_then(|(index, offset)| {
                        let offset = usize::try_from(offset).ok()?;
                        self.memory.buffers[index].data.get(offset).copied()
                    });
                    u64::from(byte.unwrap_or(0))
                }
                Window::Shared | Window::Param => 0,
            };
            value |= byte << (8 * i);
        }
        value
    }

    /// The C string at an address, at most 4096 bytes of it.
    fn string(&self, address: u64, regs: &Registers<'_>, lane: usize) -> String {
        if Memory::is_null(address) {
            return "(null)".to_owned();
        }
        let bytes = (0..4096).map(|i| self.peek(address.wrapping_add(i), 1, regs, lane) as u8);
        let bytes: Vec<u8> = bytes.take_while(|b| *b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// `printf` of the format with arguments packed at `args`.
    fn formatted(&self, format: &str, args: u64, regs: &Registers<'_>, lane: usize) -> String {
        let mut out = String::new();
        let mut at = args;
        let mut next = |bytes: u64| {
            at = at.next_multiple_of(bytes);
            let value = self.peek(at, bytes as usize, regs, lane);
            at += bytes;
            value
        };
        let mut rest = format;
        while let Some(percent) = rest.find('%') {
            out.push_str(&rest[..percent]);
            rest = &rest[percent + 1..];
            let end = rest.find(|c: char| {
                c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'z' | 'j' | 't' | 'L')
                    || c == '%'
            });
            let Some(end) = end else {
                out.push('%');
                break;
            };
            let spec = &rest[..end];
            let kind = rest.as_bytes()[end];
            rest = &rest[end + 1..];
            let wide = spec.contains("ll") || spec.contains('l') || spec.contains(['z', 'j', 't']);
            let flags: String =
                spec.chars().filter(|c| !matches!(c, 'h' | 'l' | 'z' | 'j' | 't' | 'L')).collect();
            let piece = match kind {
                b'%' => "%".to_owned(),
                b'd' | b'i' if wide => (next(8) as i64).to_string(),
                b'd' | b'i' => (next(4) as i32).to_string(),
                b'u' => next(if wide { 8 } else { 4 }).to_string(),
                b'x' => format!("{:x}", next(if wide { 8 } else { 4 })),
                b'X' => format!("{:X}", next(if wide { 8 } else { 4 })),
                b'o' => format!("{:o}", next(if wide { 8 } else { 4 })),
                b'c' => char::from(next(4) as u8).to_string(),
                b'p' => format!("0x{:x}", next(8)),
                b's' => self.string(next(8), regs, lane),
                b'e' | b'E' => format!("{:e}", f64::from_bits(next(8))),
                b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    float_text(f64::from_bits(next(8)), kind, &flags)
                }
                other => format!("%{spec}{}", other as char),
            };
            out.push_str(&pad(&piece, &flags));
        }
        out.push_str(rest);
        out
    }
}

fn float_text(value: f64, kind: u8, flags: &str) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let precision = flags.split_once('.').map(|(_, p)| p.parse().unwrap_or(0).min(1024));
    match kind {
        b'g' | b'G' if precision.is_none() => format!("{value}"),
        _ => format!("{value:.*}", precision.unwrap_or(6)),
    }
}

fn pad(text: &str, flags: &str) -> String {
    let width = flags.split('.').next().unwrap_or("");
    let left = width.contains('-');
    let digits = width.trim_start_matches(['-', '+', ' ', '#']);
    let zeros = digits.starts_with('0') && !left;
    let width: usize = digits.parse().unwrap_or(0);
    let width = width.min(4096);
    if left {
        format!("{text:<width$}")
    } else if zeros {
        let (sign, number) = text.strip_prefix('-').map_or(("", text), |n| ("-", n));
        let width = width.saturating_sub(sign.len());
        format!("{sign}{number:0>width$}")
    } else {
        format!("{text:>width$}")
    }
}

fn read_local(regs: &Registers<'_>, lane: usize, at: usize, bytes: usize) -> u64 {
    let place = lane * regs.local.stride + at;
    let mut value = 0;
    for i in 0..bytes {
        let byte = if at + i < regs.local.stride { regs.local.bytes.get(place + i) } else { None };
        value |= u64::from(byte.copied().unwrap_or(0)) << (8 * i);
    }
    value
}

fn copy_local(warp: &mut Warp, mask: u32, from: u32, to: u32, size: u32) {
    let stride = warp.local.stride;
    for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
        let from = lane * stride + from as usize;
        let to = lane * stride + to as usize;
        warp.local.bytes.copy_within(from..from + size as usize, to);
        warp.local.flags.copy_within(from..from + size as usize, to);
    }
}

/// A new frame's local memory is uninitialised, whatever an earlier call left there.
fn forget_local(warp: &mut Warp, mask: u32, at: u32, bytes: u32) {
    let stride = warp.local.stride;
    for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
        let from = lane * stride + at as usize;
        warp.local.flags[from..from + bytes as usize].fill(0);
    }
}
