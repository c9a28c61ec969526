//! Loads, stores, atomics and address conversions.

use super::{Builder, Lowered, Modifiers, Symbol, control::operand};
use crate::{
    alu::{
        double,
        half::{self, Bf16Type, F16Type},
        lanes::copy_d,
        single,
    },
    ast::{Instruction, Operand, Space},
    op::{Address, AtomicKind, AtomicOp, MemoryOp, Op, Reg, StateSpace, Window},
};

impl<'a> Builder<'a, '_> {
    /// The state space that the opcode names.
    pub(super) fn place(&self, m: &Modifiers<'_>) -> StateSpace {
        for flag in &m.flags {
            return match *flag {
                "global" | "const" => StateSpace::Global,
                "shared" | "shared::cta" | "shared::cluster" => StateSpace::Shared,
                "local" => StateSpace::Local,
                "param" | "param::func" | "param::entry" => {
                    if self.function.is_entry {
                        StateSpace::Param
                    } else {
                        StateSpace::Local
                    }
                }
                _ => continue,
            };
        }
        StateSpace::Generic
    }

    /// An address operand of an access to `place`.
    pub(super) fn address(&mut self, o: &Operand<'a>, place: StateSpace) -> Lowered<Address> {
        let Operand::Address(base, offset) = o else {
            return Err("expected an address".to_owned());
        };
        let offset = *offset as u64;
        let Some(name) = base else { return Ok(Address { place, base: None, offset }) };
        match self.symbol(name) {
            Some(Symbol::Register(reg @ (Reg::W(_) | Reg::D(_)))) => {
                Ok(Address { place, base: Some(reg), offset })
            }
            Some(Symbol::Register(Reg::P(_)) | Symbol::Wide(_) | Symbol::Vector(..)) => {
                Err(format!("`{name}` is no address"))
            }
            Some(Symbol::Frame(at)) => {
                let offset = offset.wrapping_add(u64::from(at));
                Ok(Address { place: StateSpace::Frame, base: None, offset })
            }
            Some(Symbol::KernelParam(at)) => {
                let offset = offset.wrapping_add(u64::from(at));
                Ok(Address { place: StateSpace::Param, base: None, offset })
            }
            None => {
                let index = self.variable(name).ok_or(format!("`{name}` is not known"))?;
                let space = self.program.variables[index as usize].space;
                let place = match (place, space) {
                    (StateSpace::Generic, Space::Shared) => StateSpace::Shared,
                    (place, _) => place,
                };
                let base = self.constant(1, crate::op::Const::Variable(index, offset));
                Ok(Address { place, base: Some(Reg::D(base)), offset: 0 })
            }
        }
    }

    /// The registers of a data operand; `None` is a sink, which only a result may be.
    fn element_registers(
        &mut self,
        o: &Operand<'a>,
        bytes: u32,
        result: bool,
    ) -> Lowered<Vec<Option<Reg>>> {
        let list = match o {
            Operand::Vector(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        if bytes == 16 {
            // A sink stands for both halves.
            return match o {
                Operand::Name("_") if result => Ok(vec![None; 2]),
                _ => Ok(self.wide(o)?.map(|r| Some(Reg::D(r))).to_vec()),
            };
        }
        list.iter()
            .map(|o| match o {
                Operand::Name("_") if result => Ok(None),
                _ if self.is_register(o) => match self.register(o)? {
                    Reg::W(_) if bytes == 8 => Err("the register is too narrow".to_owned()),
                    Reg::P(_) => Err("a predicate cannot be loaded or stored".to_owned()),
                    reg => Ok(Some(reg)),
                },
                _ if result => Err("expected a register".to_owned()),
                literal if bytes == 8 => Ok(Some(Reg::D(self.src_d(literal)?))),
                literal => Ok(Some(Reg::W(self.src_w(literal, "b32")?))),
            })
            .collect()
    }

    fn is_register(&self, o: &Operand<'a>) -> bool {
        match o {
            Operand::Name(name) => self.symbol(name).is_some(),
            _ => matches!(o, Operand::Lane(..)),
        }
    }

    fn access(
        &mut self,
        m: &Modifiers<'_>,
        address: &Operand<'a>,
        data: &Operand<'a>,
        store: bool,
    ) -> Lowered<()> {
        let bytes = crate::parse::type_bytes(m.ty()).ok_or("the type is not known here")?;
        let place = self.place(m);
        let address = self.address(address, place)?;
        let regs = self.element_registers(data, bytes, !store)?;
        count(&regs, bytes, m)?;
        let bytes = bytes.min(8);
        let signed = m.ty().starts_with('s');
        let strong = ["volatile", "relaxed", "acquire", "release", "mmio", "cv"];
        let volatile = strong.iter().any(|f| m.has(f));
        let release = self.releases(m);
        self.program.memory.push(MemoryOp {
            store,
            bytes,
            signed,
            volatile,
            release,
            address,
            regs,
        });
        self.push(Op::Memory(self.program.memory.len() as u32 - 1));
        Ok(())
    }

    /// Whether the access makes known those before it.
    fn releases(&mut self, m: &Modifiers<'_>) -> bool {
        let release = m.has("release") || m.has("acq_rel");
        self.program.fences |= release || m.has("acquire");
        release
    }

    pub(super) fn load(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.access(m, operand(i, 1)?, operand(i, 0)?, false)
    }

    pub(super) fn store(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.access(m, operand(i, 0)?, operand(i, 1)?, true)
    }

    pub(super) fn atomic(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let returns = m.name == "atom";
        let bytes = crate::parse::type_bytes(m.ty()).ok_or("the type is not known here")?;
        let operation = m.flags.iter().find(|f| ATOMICS.contains(f)).ok_or(super::UNKNOWN)?;
        let kind = if *operation == "cas" {
            AtomicKind::Cas
        } else {
            // Sums in shared memory keep subnormal numbers; those in global memory do not.
            let f = match (*operation, m.ty(), self.place(m)) {
                ("add", "f32", StateSpace::Shared) => add_f32_exactly,
                (operation, ty, _) => {
                    atomic_function(operation, ty).ok_or("the atomic is not known")?
                }
            };
            AtomicKind::Binary(f)
        };
        let at = usize::from(returns);
        let place = self.place(m);
        let address = self.address(operand(i, at)?, place)?;
        let present = |regs: Vec<Option<Reg>>| -> Lowered<Vec<Reg>> {
            count(&regs, bytes, m)?;
            regs.into_iter().map(|r| r.ok_or("an operand is missing".to_owned())).collect()
        };
        let a = self.element_registers(operand(i, at + 1)?, bytes, false)?;
        let a = present(a)?;
        let b = match kind {
            AtomicKind::Cas => {
                let b = self.element_registers(operand(i, at + 2)?, bytes, false)?;
                present(b)?
            }
            AtomicKind::Binary(_) => Vec::new(),
        };
        let dest =
            if returns { self.element_registers(operand(i, 0)?, bytes, true)? } else { Vec::new() };
        if returns {
            count(&dest, bytes, m)?;
        }
        let release = self.releases(m);
        let op = AtomicOp { kind, bytes: bytes.min(8), address, dest, a, b, release };
        self.program.atomics.push(op);
        self.push(Op::Atomic(self.program.atomics.len() as u32 - 1));
        Ok(())
    }

    /// Cache policies are hints: any value is as good as another.
    pub(super) fn create_policy(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let policy = self.constant(1, crate::op::Const::Value(0));
        let d = self.dst_d(operand(i, 0)?)?;
        self.push(copy_d().op(d, &[policy]));
        Ok(())
    }

    pub(super) fn cvta(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let to = m.has("to");
        let (d, o) = (operand(i, 0)?, operand(i, 1)?);
        let window = match m.flags.iter().find(|f| **f != "to") {
            Some(&"global") => Window::Global,
            Some(&"const") => Window::Const,
            Some(&"shared" | &"shared::cta" | &"shared::cluster") => Window::Shared,
            Some(&"local") => Window::Local,
            Some(&"param" | &"param::entry") if self.function.is_entry => Window::Param,
            Some(&"param") => Window::Local,
            _ => return Err("the state space is not known".to_owned()),
        };
        let a = self.src_d(o)?;
        let d = self.dst_d(d)?;
        let base = crate::memory::window_base(window);
        self.push(Op::AddBase(d, a, if to { base.wrapping_neg() } else { base }));
        Ok(())
    }
}

/// Refuses another number of registers than the opcode's type asks for.
fn count(regs: &[Option<Reg>], bytes: u32, m: &Modifiers<'_>) -> Lowered<()> {
    let lanes = match ["v2", "v4", "v8"].iter().position(|v| m.has(v)) {
        _ if bytes == 16 => 2,
        Some(log) => 2 << log,
        None => 1,
    };
    if regs.len() != lanes {
        return Err(format!("{} registers where {lanes} are needed", regs.len()));
    }
    Ok(())
}

const ATOMICS: [&str; 10] = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];

fn low32(f: impl Fn(u32, u32) -> u32, old: u64, operand: u64) -> u64 {
    u64::from(f(old as u32, operand as u32))
}

/// A function of 16-bit floats of a type, or of those in both halves.
macro_rules! halves {
    ($ty:expr, $($path:ident)::+ [$($given:tt)*]) => {
        match $ty {
            "f16" => |a, b| low32($($path)::+::<F16Type, $($given)*>, a, b),
            "bf16" => |a, b| low32($($path)::+::<Bf16Type, $($given)*>, a, b),
            "f16x2" => |a, b| {
                low32(|a, b| half::pair2($($path)::+::<F16Type, $($given)*>, a, b), a, b)
            },
            _ => |a, b| {
                low32(|a, b| half::pair2($($path)::+::<Bf16Type, $($given)*>, a, b), a, b)
            },
        }
    };
}

/// A sum that keeps subnormal numbers, as those in shared memory do.
pub(super) fn add_f32_exactly(a: u64, b: u64) -> u64 {
    low32(single::add::<false, false>, a, b)
}

/// The new value, from the old one and the operand.
pub(super) fn atomic_function(operation: &str, ty: &str) -> Option<fn(u64, u64) -> u64> {
    Some(match (operation, ty) {
        ("exch", _) => |_, b| b,
        ("and", "b32" | "b64") => |a, b| a & b,
        ("or", "b32" | "b64") => |a, b| a | b,
        ("xor", "b32" | "b64") => |a, b| a ^ b,
        ("add", "u32" | "s32") => |a, b| u64::from((a as u32).wrapping_add(b as u32)),
        ("add", "u64" | "s64") => |a, b| a.wrapping_add(b),
        ("add", "f32") => |a, b| low32(single::add::<true, false>, a, b),
        ("add", "f64") => double::add,
        ("add", "f16" | "bf16" | "f16x2" | "bf16x2") => halves!(ty, half::add[false, false]),
        ("min", "f16" | "bf16" | "f16x2" | "bf16x2") => {
            halves!(ty, half::extreme[false, false, false, false])
        }
        ("max", "f16" | "bf16" | "f16x2" | "bf16x2") => {
            halves!(ty, half::extreme[true, false, false, false])
        }
        ("inc", "u32") => |a, b| if a as u32 >= b as u32 { 0 } else { a + 1 },
        ("dec", "u32") => |a, b| if a == 0 || a as u32 > b as u32 { b } else { a - 1 },
        ("min", "u32" | "u64") => |a, b| a.min(b),
        ("max", "u32" | "u64") => |a, b| a.max(b),
        ("min", "s32") => |a, b| u64::from((a as i32).min(b as i32) as u32),
        ("max", "s32") => |a, b| u64::from((a as i32).max(b as i32) as u32),
        ("min", "s64") => |a, b| (a as i64).min(b as i64) as u64,
        ("max", "s64") => |a, b| (a as i64).max(b as i64) as u64,
        _ => return None,
    })
}
