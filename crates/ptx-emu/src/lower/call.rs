//! Calls, and the parameters and results of device functions.
//!
//! A frame holds them all. Those that a function declares as registers are copied there and back,
//! and so are registers and literals that a call passes.

use super::{Builder, Lowered, Modifiers, Symbol, control::operand};
use crate::{
    alu::lanes::w_to_p,
    ast::{Instruction, Operand, Space, Variable},
    op::{Address, Builtin, BuiltinOp, CallOp, CallTarget, MemoryOp, Op, Reg, StateSpace},
};

/// Bytes that a register takes in a frame.
const SLOT: u32 = 8;

impl<'a> Builder<'a, '_> {
    /// Assigns frame slots or kernel offsets to the parameters and results.
    pub(super) fn parameters(&mut self) {
        if self.function.is_entry {
            let mut offset = 0_u32;
            for p in &self.function.params {
                offset = offset.next_multiple_of(p.align);
                self.scopes[0].insert(p.name, Symbol::KernelParam(offset));
                offset = offset.saturating_add(p.bytes as u32).min(super::MAX_FRAME);
            }
            return;
        }
        for p in &self.function.params {
            let at = self.frame_slot(p);
            self.code.params.push((at, p.bytes as u32));
            for (register, at, bytes) in self.formal(p, at) {
                self.load_slot(register, at, bytes);
            }
        }
        for p in &self.function.returns {
            let at = self.frame_slot(p);
            self.code.results.push((at, p.bytes as u32));
            let formal = self.formal(p, at);
            self.results.extend(formal);
        }
    }

    /// The registers that a parameter is, if it is one: each with its place and bytes in the frame.
    fn formal(&mut self, p: &Variable<'a>, at: u32) -> Vec<(Reg, u32, u32)> {
        if p.space != Space::Register {
            return Vec::new();
        }
        let bytes = p.element_bytes / p.lanes;
        let class = match bytes {
            0 => 2,
            1 | 2 | 4 => 0,
            8 => 1,
            // Uses of others are refused where they stand.
            _ => return Vec::new(),
        };
        let register = |r| [Reg::W, Reg::D, Reg::P][class](r);
        let registers: Vec<Reg> = (0..p.lanes).map(|_| register(self.temp(class))).collect();
        let first = registers[0];
        let symbol =
            if p.lanes == 1 { Symbol::Register(first) } else { Symbol::Vector(p.lanes, first) };
        self.vectors |= p.lanes > 1;
        self.scope().insert(p.name, symbol);
        let bytes = bytes.max(if class == 2 { 4 } else { 1 });
        (0..).zip(registers).map(|(n, register)| (register, at + n * bytes, bytes)).collect()
    }

    /// A new place in the frame for a register.
    fn slot(&mut self) -> u32 {
        self.slots(1)
    }

    /// The first of so many places.
    fn slots(&mut self, n: u32) -> u32 {
        let at = self.frame_bytes.next_multiple_of(4 * SLOT);
        self.frame_bytes = (at + n * SLOT).min(super::MAX_FRAME);
        at
    }

    fn frame_access(&mut self, store: bool, register: Reg, at: u32, bytes: u32) {
        let address = Address { place: StateSpace::Frame, base: None, offset: u64::from(at) };
        let bytes = if matches!(register, Reg::D(_)) { bytes.min(8) } else { bytes.min(4) };
        let op = MemoryOp::plain(store, bytes, address, vec![Some(register)]);
        self.program.memory.push(op);
        self.push(Op::Memory(self.program.memory.len() as u32 - 1));
    }

    /// Loads a register from a slot; a predicate is a number there.
    fn load_slot(&mut self, register: Reg, at: u32, bytes: u32) {
        let Reg::P(p) = register else { return self.frame_access(false, register, at, bytes) };
        let word = self.temp(0);
        self.frame_access(false, Reg::W(word), at, 4);
        self.push(w_to_p!(|a| a != 0).op(p, &[word]));
    }

    /// Stores bytes of a register to a slot; a predicate takes four.
    fn store_slot(&mut self, register: Reg, at: u32, bytes: u32) {
        let word = match register {
            Reg::P(p) => {
                let (word, one, zero) = (self.temp(0), self.const_w(1), self.const_w(0));
                self.push(Op::SelectW(word, one, zero, p));
                return self.frame_access(true, Reg::W(word), at, 4);
            }
            other => other,
        };
        self.frame_access(true, word, at, bytes);
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn ret(&mut self, _: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        self.push_return();
        Ok(())
    }

    /// Puts results that are registers into the frame, and returns.
    pub(super) fn push_return(&mut self) {
        for (register, at, bytes) in self.results.clone() {
            self.store_slot(register, at, bytes);
        }
        self.push(Op::Return);
    }

    /// The place of an argument in the frame; what is no variable is stored to one.
    fn argument(&mut self, o: &Operand<'a>, bytes: u32) -> Lowered<u32> {
        if let Operand::Name(name) = o {
            match self.symbol(name) {
                Some(Symbol::Frame(at)) => return Ok(at),
                Some(Symbol::KernelParam(_)) => {
                    return Err(format!("argument `{name}` is no `.param` variable"));
                }
                Some(Symbol::Register(register)) => {
                    let at = self.slot();
                    self.store_slot(register, at, SLOT);
                    return Ok(at);
                }
                Some(Symbol::Vector(lanes, first)) => {
                    let (at, each) = (self.slots(lanes), bytes / lanes);
                    if each == 0 {
                        return Err("a vector for an unknown parameter is not known".to_owned());
                    }
                    for n in 0..lanes {
                        self.store_slot(first.behind(n), at + n * each, each);
                    }
                    return Ok(at);
                }
                _ => {}
            }
        }
        let register =
            if bytes == 8 { Reg::D(self.src_d(o)?) } else { Reg::W(self.src_w(o, "b32")?) };
        let at = self.slot();
        self.store_slot(register, at, SLOT);
        Ok(at)
    }

    /// The place in the frame of a result, and the registers that it goes to from there.
    fn result(&mut self, o: &Operand<'a>) -> Lowered<(u32, Vec<Reg>)> {
        if let Operand::Name(name) = o {
            match self.symbol(name) {
                Some(Symbol::Frame(at)) => return Ok((at, Vec::new())),
                Some(Symbol::Vector(lanes, first)) => {
                    let registers = (0..lanes).map(|n| first.behind(n)).collect();
                    return Ok((self.slots(lanes), registers));
                }
                None if *name == "_" => return Ok((self.slots(4), Vec::new())),
                _ => {}
            }
        }
        let register = self.register(o)?;
        Ok((self.slot(), vec![register]))
    }

    pub(super) fn call(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let list = |n: usize| match i.operands.get(n) {
            Some(Operand::List(list)) => Some(list.as_slice()),
            _ => None,
        };
        let at = usize::from(list(0).is_some());
        let Operand::Name(name) = operand(i, at)? else {
            return Err("expected a function".to_owned());
        };
        let known = self.names.functions.get(name).copied();
        let sizes = |f: u32| self.program.signatures[f as usize].params.clone();
        let sizes = known.map(sizes).unwrap_or_default();
        let mut args = Vec::new();
        for (n, o) in list(at + 1).unwrap_or_default().iter().enumerate() {
            args.push(self.argument(o, sizes.get(n).map_or(0, |(_, size)| *size as u32))?);
        }
        let results = if at == 1 { list(0).unwrap_or_default() } else { &[] };
        let results = results.iter().map(|o| self.result(o)).collect::<Lowered<Vec<_>>>()?;
        if known.is_none() && results.iter().any(|(_, registers)| registers.len() > 1) {
            return Err("a vector from an unknown function is not known".to_owned());
        }
        self.push_call(name, known, args, results.iter().map(|(at, _)| *at).collect())?;
        let sizes = known.map(|f| self.program.signatures[f as usize].results.clone());
        for (n, (at, registers)) in results.into_iter().enumerate() {
            let size = sizes.as_ref().and_then(|s| s.get(n)).copied().unwrap_or(SLOT as usize);
            let each = size as u32 / (registers.len() as u32).max(1);
            for (k, register) in (0..).zip(registers) {
                self.load_slot(register, at + k * each, each);
            }
        }
        Ok(())
    }

    fn push_call(
        &mut self,
        name: &'a str,
        known: Option<u32>,
        args: Vec<u32>,
        results: Vec<u32>,
    ) -> Lowered<()> {
        let builtin = match name {
            "vprintf" => Some(Builtin::Printf),
            "__assertfail" => Some(Builtin::AssertFail),
            "malloc" if known.is_none() => Some(Builtin::Malloc),
            "free" if known.is_none() => Some(Builtin::Free),
            _ => None,
        };
        if let Some(kind) = builtin {
            self.program.builtins.push(BuiltinOp { kind, args, results });
            self.push(Op::Builtin(self.program.builtins.len() as u32 - 1));
            return Ok(());
        }
        let target = if let Some(index) = known {
            self.code.calls.push(Some(index));
            CallTarget::Direct(index)
        } else if let Some(Symbol::Register(Reg::D(r))) = self.symbol(name) {
            self.code.calls.push(None);
            CallTarget::Indirect(r)
        } else {
            return Err(format!("function `{name}` is not known"));
        };
        self.program.calls.push(CallOp { target, args, results });
        self.push(Op::Call(self.program.calls.len() as u32 - 1));
        Ok(())
    }
}
