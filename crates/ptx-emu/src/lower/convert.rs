//! Conversions between number formats.

use super::{Builder, Lowered, Modifiers, Operand, Reg, control::operand};
use crate::{
    alu::{
        convert::{BF16, Conversion, F16, F32, F64, Number, Round},
        double,
        half::{self, Bf16Type, F16Type, Half as _},
        lanes::{LaneFunction, copy_d, copy_w, d_to_w, w_to_d, w1, w2},
        single,
    },
    ast::Instruction,
    op::Op,
};

impl<'a> Builder<'a, '_> {
    pub(super) fn cvt(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [to, from] = m.types[..] else {
            return Err("the form of `cvt` is not known".to_owned());
        };
        let d = self.register(operand(i, 0)?)?;
        let a = self.any_source(operand(i, 1)?, from)?;
        let b = i.operands.get(2).map(|b| self.any_source(b, from)).transpose()?;
        let f = lane_function(to, from, &m.flags);
        if let Some(op) = f.and_then(|f| f.fitting_op(d, [a].into_iter().chain(b))) {
            self.push(op);
            return Ok(());
        }
        let mut conversion = Conversion {
            to: number(to).ok_or("the destination type is not known")?,
            from: number(from).ok_or("the source type is not known")?,
            round: Round::Zero,
            to_integral: false,
            ftz: m.has("ftz"),
            sat: m.has("sat"),
            relu: m.has("relu"),
            satfinite: m.has("satfinite"),
        };
        for flag in &m.flags {
            conversion.round = match flag.trim_end_matches('i') {
                "rn" => Round::Nearest,
                "rz" => Round::Zero,
                "rm" => Round::Down,
                "rp" => Round::Up,
                "rna" => Round::Away,
                _ => continue,
            };
            conversion.to_integral = flag.ends_with('i');
        }
        let index = self.program.conversions.len() as u32;
        self.program.conversions.push((conversion, d, a, b));
        self.push(Op::Convert(index));
        Ok(())
    }

    /// A source register of either class, or a literal of the type's class.
    fn any_source(&mut self, o: &Operand<'a>, ty: &str) -> Lowered<Reg> {
        if let Ok(reg) = self.register(o) {
            return Ok(reg);
        }
        Ok(match crate::parse::type_bytes(ty) {
            Some(8) => Reg::D(self.src_d(o)?),
            _ => Reg::W(self.src_w(o, ty)?),
        })
    }
}

/// The type as `cvt` sees it; pairs stand for their element.
fn number(ty: &str) -> Option<Number> {
    Some(match ty {
        "u8" | "b8" => Number::Int(8, false),
        "s8" => Number::Int(8, true),
        "u16" | "b16" => Number::Int(16, false),
        "s16" => Number::Int(16, true),
        "u32" | "b32" => Number::Int(32, false),
        "s32" => Number::Int(32, true),
        "u64" | "b64" => Number::Int(64, false),
        "s64" => Number::Int(64, true),
        "f16" | "f16x2" => Number::Float(F16),
        "bf16" | "bf16x2" => Number::Float(BF16),
        "f32" => Number::Float(F32),
        "f64" => Number::Float(F64),
        "tf32" => Number::Tf32,
        _ => return None,
    })
}

/// The lane function of a conversion that is common enough for one.
fn lane_function(to: &str, from: &str, flags: &[&str]) -> Option<LaneFunction> {
    Some(match (to, from, flags) {
        ("s64", "s32", []) => w_to_d!(|a| i64::from(a as i32) as u64),
        ("u64" | "s64", "u32", []) => w_to_d!(u64::from),
        ("u32" | "s32", "u64" | "s64", []) => d_to_w!(|a| a as u32),
        ("u64" | "s64", "u64" | "s64", []) => copy_d(),
        ("u16", "u32" | "s32", []) | ("u32" | "s32", "u16", []) => w1!(|a| a & 0xffff),
        ("s32", "s16", []) | ("s16", "u32" | "s32", []) => {
            w1!(|a| i32::from(a as u16 as i16) as u32)
        }
        ("f32", "s32", ["rn"]) => w1!(|a| (a as i32 as f32).to_bits()),
        ("f32", "u32", ["rn"]) => w1!(|a| (a as f32).to_bits()),
        ("f32", "f32", []) => copy_w(),
        ("f32", "f32", ["sat"]) => w1!(|a| single::output::<false, true>(f32::from_bits(a))),
        ("f32", "f32", ["rni"]) => w1!(|a| single::integral(a, f32::round_ties_even)),
        ("f32", "f32", ["rzi"]) => w1!(|a| single::integral(a, f32::trunc)),
        ("f32", "f32", ["rmi"]) => w1!(|a| single::integral(a, f32::floor)),
        ("f32", "f32", ["rpi"]) => w1!(|a| single::integral(a, f32::ceil)),
        // The cast saturates and turns NaN into 0, as the instruction does.
        ("s32", "f32", ["rni"]) => w1!(|a| f32::from_bits(a).round_ties_even() as i32 as u32),
        ("s32", "f32", ["rzi"]) => w1!(|a| f32::from_bits(a) as i32 as u32),
        ("s32", "f32", ["rmi"]) => w1!(|a| f32::from_bits(a).floor() as i32 as u32),
        ("s32", "f32", ["rpi"]) => w1!(|a| f32::from_bits(a).ceil() as i32 as u32),
        ("f64", "f32", []) => w_to_d!(double::of_single),
        ("f32", "f64", ["rn"]) => d_to_w!(double::to_single),
        ("f32", "f16", []) => {
            w1!(|a| single::output::<false, false>(F16Type::to_f32(a & 0xffff)))
        }
        ("f32", "bf16", []) => w1!(|a| a << 16),
        ("f16", "f32", ["rn"]) => w1!(half::of_single::<F16Type>),
        ("bf16", "f32", ["rn"]) => w1!(half::of_single::<Bf16Type>),
        ("f16x2", "f32", ["rn"]) => w2!(half::of_singles::<F16Type>),
        ("bf16x2", "f32", ["rn"]) => w2!(half::of_singles::<Bf16Type>),
        _ => return None,
    })
}
