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
            if let Some(register) = self.formal(p) {
                self.load_slot(register, at, p.bytes as u32);
            }
        }
        for p in &self.function.returns {
            let at = self.frame_slot(p);
            self.code.results.push((at, p.bytes as u32));
            if let Some(register) = self.formal(p) {
                self.results.push((register, at));
            }
        }
    }

    /// The register that a parameter is, if it is one.
    fn formal(&mut self, p: &Variable<'a>) -> Option<Reg> {
        if p.space != Space::Register {
            return None;
        }
        let register = match p.element_bytes {
            0 => Reg::P(self.temp(2)),
            1 | 2 | 4 => Reg::W(self.temp(0)),
            8 => Reg::D(self.temp(1)),
            // Uses of others are refused where they stand.
            _ => return None,
        };
        self.scope().insert(p.name, Symbol::Register(register));
        Some(register)
    }

    /// A new place in the frame for a register.
    fn slot(&mut self) -> u32 {
        let at = self.frame_bytes.next_multiple_of(SLOT);
        self.frame_bytes = (at + SLOT).min(super::MAX_FRAME);
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

    /// Stores a whole register to a slot.
    fn store_slot(&mut self, register: Reg, at: u32) {
        let word = match register {
            Reg::P(p) => {
                let (word, one, zero) = (self.temp(0), self.const_w(1), self.const_w(0));
                self.push(Op::SelectW(word, one, zero, p));
                Reg::W(word)
            }
            other => other,
        };
        self.frame_access(true, word, at, SLOT);
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn ret(&mut self, _: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        self.push_return();
        Ok(())
    }

    /// Puts results that are registers into the frame, and returns.
    pub(super) fn push_return(&mut self) {
        for (register, at) in self.results.clone() {
            self.store_slot(register, at);
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
                    self.store_slot(register, at);
                    return Ok(at);
                }
                _ => {}
            }
        }
        let register =
            if bytes == 8 { Reg::D(self.src_d(o)?) } else { Reg::W(self.src_w(o, "b32")?) };
        let at = self.slot();
        self.store_slot(register, at);
        Ok(at)
    }

    /// The place in the frame of a result, and the register that it goes to from there.
    fn result(&mut self, o: &Operand<'a>) -> Lowered<(u32, Option<Reg>)> {
        if let Operand::Name(name) = o
            && let Some(Symbol::Frame(at)) = self.symbol(name)
        {
            return Ok((at, None));
        }
        if *o == Operand::Name("_") {
            return Ok((self.slot(), None));
        }
        let register = self.register(o)?;
        Ok((self.slot(), Some(register)))
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
            args.push(self.argument(o, sizes.get(n).map_or(4, |(_, size)| *size as u32))?);
        }
        let results = if at == 1 { list(0).unwrap_or_default() } else { &[] };
        let results = results.iter().map(|o| self.result(o)).collect::<Lowered<Vec<_>>>()?;
        self.push_call(name, known, args, results.iter().map(|(at, _)| *at).collect())?;
        let sizes = known.map(|f| self.program.signatures[f as usize].results.clone());
        for (n, &(at, register)) in results.iter().enumerate() {
            let size = sizes.as_ref().and_then(|s| s.get(n)).copied().unwrap_or(SLOT as usize);
            if let Some(register) = register {
                self.load_slot(register, at, size as u32);
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
