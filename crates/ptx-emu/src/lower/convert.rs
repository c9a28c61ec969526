//! Conversions between number formats.

use super::{Builder, Lowered, Modifiers, Operand, Reg, control::operand};
use crate::{
    alu::{
        convert::{BF16, Conversion, F16, F32, F64, Number, Round},
        integer,
        lanes::{d_to_w, w1, w2, w3},
    },
    ast::Instruction,
    op::Op,
};

impl<'a> Builder<'a, '_> {
    /// `cvt.pack`: two integers clamped and put side by side, above them the value of the third
    /// operand.
    pub(super) fn cvt_pack(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (a, b) = (self.src_w(operand(i, 1)?, "b32")?, self.src_w(operand(i, 2)?, "b32")?);
        let c = match i.operands.get(3) {
            Some(c) => self.src_w(c, "b32")?,
            None => self.const_w(0),
        };
        let d = self.dst_w(operand(i, 0)?)?;
        let f = match m.parts[2] {
            "u16" => w3!(integer::pack_clamped::<16, false>),
            "s16" => w3!(integer::pack_clamped::<16, true>),
            "u8" => w3!(integer::pack_clamped::<8, false>),
            "s8" => w3!(integer::pack_clamped::<8, true>),
            "u4" => w3!(integer::pack_clamped::<4, false>),
            "s4" => w3!(integer::pack_clamped::<4, true>),
            "u2" => w3!(integer::pack_clamped::<2, false>),
            _ => w3!(integer::pack_clamped::<2, true>),
        };
        self.push(f.op(d, &[a, b, c]));
        Ok(())
    }

    /// Conversions to and from pairs of 8-bit floats.
    fn cvt_quarter(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'a>,
        to: &str,
        from: &str,
    ) -> Lowered<()> {
        use crate::alu::half::{
            E4m3, E5m2, F16Type, Half, from_quarters, pair1, relu_f16, to_quarter,
        };
        macro_rules! from_f32 {
            ($q:ty, $relu:literal) => {
                w2!(|a, b| {
                    to_quarter::<$q, $relu>(f64::from(f32::from_bits(b)))
                        | to_quarter::<$q, $relu>(f64::from(f32::from_bits(a))) << 8
                })
            };
        }
        macro_rules! from_f16 {
            ($q:ty, $relu:literal) => {
                w1!(|a| {
                    to_quarter::<$q, $relu>(f64::from(F16Type::to_f32(a & 0xffff)))
                        | to_quarter::<$q, $relu>(f64::from(F16Type::to_f32(a >> 16))) << 8
                })
            };
        }
        macro_rules! to_f16 {
            ($q:ty) => {
                w1!(from_quarters::<$q>)
            };
        }
        let d = self.dst_w(operand(i, 0)?)?;
        let a = self.src_w(operand(i, 1)?, from)?;
        let relu = m.has("relu");
        let op = match (to, from, &m.flags[..], relu) {
            ("e4m3x2", "f32", ["rn", "satfinite", ..], _) => {
                let b = self.src_w(operand(i, 2)?, from)?;
                (if relu { from_f32!(E4m3, true) } else { from_f32!(E4m3, false) }).op(d, &[a, b])
            }
            ("e5m2x2", "f32", ["rn", "satfinite", ..], _) => {
                let b = self.src_w(operand(i, 2)?, from)?;
                (if relu { from_f32!(E5m2, true) } else { from_f32!(E5m2, false) }).op(d, &[a, b])
            }
            ("e4m3x2", "f16x2", ["rn", "satfinite", ..], _) => {
                (if relu { from_f16!(E4m3, true) } else { from_f16!(E4m3, false) }).op(d, &[a])
            }
            ("e5m2x2", "f16x2", ["rn", "satfinite", ..], _) => {
                (if relu { from_f16!(E5m2, true) } else { from_f16!(E5m2, false) }).op(d, &[a])
            }
            ("f16x2", "e4m3x2", _, false) => to_f16!(E4m3).op(d, &[a]),
            ("f16x2", "e5m2x2", _, false) => to_f16!(E5m2).op(d, &[a]),
            ("f16x2", "e4m3x2", _, true) => {
                let f = w1!(|a| pair1(relu_f16, from_quarters::<E4m3>(a)));
                f.op(d, &[a])
            }
            ("f16x2", "e5m2x2", _, true) => {
                let f = w1!(|a| pair1(relu_f16, from_quarters::<E5m2>(a)));
                f.op(d, &[a])
            }
            _ => return Err("the form of `cvt` is not known".to_owned()),
        };
        self.push(op);
        Ok(())
    }

    pub(super) fn cvt(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [to, from] = m.types[..] else {
            return Err("the form of `cvt` is not known".to_owned());
        };
        if [to, from].iter().any(|t| t.starts_with("e4m3") || t.starts_with("e5m2")) {
            return self.cvt_quarter(i, m, to, from);
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
            let (round, integral) = match *flag {
                "rn" => (Round::Nearest, false),
                "rz" => (Round::Zero, false),
                "rm" => (Round::Down, false),
                "rp" => (Round::Up, false),
                "rna" => (Round::Away, false),
                "rni" => (Round::Nearest, true),
                "rzi" => (Round::Zero, true),
                "rmi" => (Round::Down, true),
                "rpi" => (Round::Up, true),
                _ => continue,
            };
            (conversion.round, conversion.to_integral) = (round, integral);
        }
        let pair = matches!(to, "f16x2" | "bf16x2");
        let d = self.register(operand(i, 0)?)?;
        let a = self.any_source(operand(i, 1)?, from)?;
        let b = match (pair, i.operands.get(2)) {
            (true, Some(o)) => Some(self.any_source(o, from)?),
            (false, None) => None,
            _ => return Err("the form of `cvt` is not known".to_owned()),
        };
        if let Some(op) = fast_conversion(to, from, m, d, a, b) {
            self.push(op);
            return Ok(());
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

/// Conversions common enough for a lane function of their own.
fn fast_conversion(
    to: &str,
    from: &str,
    m: &Modifiers<'_>,
    d: Reg,
    a: Reg,
    b: Option<Reg>,
) -> Option<Op> {
    use crate::alu::{
        double,
        half::{Bf16Type, F16Type, Half},
        lanes::{copy_d, w_to_d},
        single,
    };
    let plain = m.flags.is_empty();
    let nearest = m.flags[..] == ["rn"];
    Some(match (to, from, d, a, b) {
        ("s64", "s32", Reg::D(d), Reg::W(a), None) if plain => {
            w_to_d!(|a| i64::from(a as i32) as u64).op(d, &[a])
        }
        ("u64" | "s64", "u32", Reg::D(d), Reg::W(a), None) if plain => {
            w_to_d!(u64::from).op(d, &[a])
        }
        ("u32" | "s32", "u64" | "s64", Reg::W(d), Reg::D(a), None) if plain => {
            d_to_w!(|a| a as u32).op(d, &[a])
        }
        ("u64" | "s64", "u64" | "s64", Reg::D(d), Reg::D(a), None) if plain => copy_d().op(d, &[a]),
        ("u16", "u32" | "s32", Reg::W(d), Reg::W(a), None)
        | ("u32" | "s32", "u16", Reg::W(d), Reg::W(a), None)
            if plain =>
        {
            w1!(|a| a & 0xffff).op(d, &[a])
        }
        ("s32", "s16", Reg::W(d), Reg::W(a), None)
        | ("s16", "u32" | "s32", Reg::W(d), Reg::W(a), None)
            if plain =>
        {
            w1!(|a| i32::from(a as u16 as i16) as u32).op(d, &[a])
        }
        ("f32", "s32", Reg::W(d), Reg::W(a), None) if nearest => {
            w1!(|a| (a as i32 as f32).to_bits()).op(d, &[a])
        }
        ("f32", "u32", Reg::W(d), Reg::W(a), None) if nearest => {
            w1!(|a| (a as f32).to_bits()).op(d, &[a])
        }
        ("f32", "f32", Reg::W(d), Reg::W(a), None) => {
            let f = match m.flags[..] {
                [] => w1!(|a| a),
                ["sat"] => w1!(|a| single::output::<false, true>(f32::from_bits(a))),
                ["rni"] => w1!(|a| single::integral(a, f32::round_ties_even)),
                ["rzi"] => w1!(|a| single::integral(a, f32::trunc)),
                ["rmi"] => w1!(|a| single::integral(a, f32::floor)),
                ["rpi"] => w1!(|a| single::integral(a, f32::ceil)),
                _ => return None,
            };
            f.op(d, &[a])
        }
        ("s32", "f32", Reg::W(d), Reg::W(a), None) => {
            // The cast saturates and turns NaN into 0, as the instruction does.
            let f = match m.flags[..] {
                ["rni"] => w1!(|a| f32::from_bits(a).round_ties_even() as i32 as u32),
                ["rzi"] => w1!(|a| f32::from_bits(a) as i32 as u32),
                ["rmi"] => w1!(|a| f32::from_bits(a).floor() as i32 as u32),
                ["rpi"] => w1!(|a| f32::from_bits(a).ceil() as i32 as u32),
                _ => return None,
            };
            f.op(d, &[a])
        }
        ("f64", "f32", Reg::D(d), Reg::W(a), None) if plain => {
            w_to_d!(double::of_single).op(d, &[a])
        }
        ("f32", "f64", Reg::W(d), Reg::D(a), None) if nearest => {
            d_to_w!(double::to_single).op(d, &[a])
        }
        ("f32", "f16", Reg::W(d), Reg::W(a), None) if plain => {
            w1!(|a| single::output::<false, false>(F16Type::to_f32(a & 0xffff))).op(d, &[a])
        }
        ("f32", "bf16", Reg::W(d), Reg::W(a), None) if plain => w1!(|a| a << 16).op(d, &[a]),
        ("f16", "f32", Reg::W(d), Reg::W(a), None) if nearest => {
            w1!(|a| F16Type::from_f32(f32::from_bits(a))).op(d, &[a])
        }
        ("bf16", "f32", Reg::W(d), Reg::W(a), None) if nearest => {
            w1!(|a| Bf16Type::from_f32(f32::from_bits(a))).op(d, &[a])
        }
        ("f16x2", "f32", Reg::W(d), Reg::W(a), Some(Reg::W(b))) if nearest => w2!(|a, b| {
            F16Type::from_f32(f32::from_bits(b)) | F16Type::from_f32(f32::from_bits(a)) << 16
        })
        .op(d, &[a, b]),
        ("bf16x2", "f32", Reg::W(d), Reg::W(a), Some(Reg::W(b))) if nearest => w2!(|a, b| {
            Bf16Type::from_f32(f32::from_bits(b)) | Bf16Type::from_f32(f32::from_bits(a)) << 16
        })
        .op(d, &[a, b]),
        _ => return None,
    })
}
