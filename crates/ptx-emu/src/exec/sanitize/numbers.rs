//! The first NaN and the first infinity that finite operands yield.

use crate::{
    alu::simd::Task,
    exec::{
        Machine,
        access::{Registers, each_lane},
        fault::Target,
    },
    finding::{FindingKind, Severity},
    op::{D, Op, Reg, Use, visit},
    report::LaunchError,
};

/// Format of the numbers that an operation makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// Formats of an operation's result and of its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formats {
    result: Format,
    /// `None` where the operands are integers.
    operands: Option<Format>,
}

impl Formats {
    /// The formats of an opcode, if it computes floats; moves and the like do not.
    pub(crate) fn of(opcode: &str) -> Option<Self> {
        let mut parts = opcode.split('.');
        let mnemonic = parts.next()?;
        let computes = [
            "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin",
            "cos", "tanh", "cvt",
        ];
        if !computes.contains(&mnemonic) {
            return None;
        }
        let mut types = parts.filter_map(Format::of_type);
        let result = types.next()??;
        // A conversion's second type is that of its operands; a pair of halves is made of two f32.
        let operands = if mnemonic == "cvt" { types.next()? } else { Some(result) };
        Some(Self { result, operands })
    }
}

impl Format {
    /// The format that a part of an opcode names; `Some(None)` for other types.
    fn of_type(part: &str) -> Option<Option<Self>> {
        match part {
            "f16" => Some(Some(Self::F16)),
            "f16x2" => Some(Some(Self::F16x2)),
            "bf16" => Some(Some(Self::Bf16)),
            "bf16x2" => Some(Some(Self::Bf16x2)),
            "f32" => Some(Some(Self::F32)),
            "f64" => Some(Some(Self::F64)),
            integer
                if integer.starts_with(['s', 'u', 'b', 'e', 't'])
                    && integer.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                Some(None)
            }
            _ => None,
        }
    }

    /// Whether a number in any of the registers is not finite.
    #[inline(always)]
    fn any_odd<T: Copy + Into<u64>>(self, row: &[T; 32]) -> bool {
        // Exponents of one half or number, and of the other half.
        let (low, high) = match self {
            Self::F16 => (0x7c00, 0),
            Self::F16x2 => (0x7c00, 0x7c00_0000),
            Self::Bf16 => (0x7f80, 0),
            Self::Bf16x2 => (0x7f80, 0x7f80_0000),
            Self::F32 => (0x7f80_0000, 0),
            Self::F64 => (0x7ff0_0000_0000_0000, 0),
        };
        // A plain loop, which is inlined whatever its place.
        let mut any = false;
        for bits in row {
            let bits: u64 = (*bits).into();
            any |= (bits & low == low) | ((high != 0) & (bits & high == high));
        }
        any
    }

    /// The value in a register's bits, or of its worse half; `None` if it is finite.
    fn odd(self, bits: u64) -> Option<f64> {
        let f16 = |b: u64| half::f16::from_bits(b as u16).to_f64();
        let bf16 = |b: u64| half::bf16::from_bits(b as u16).to_f64();
        let worse = |a: f64, b: f64| if a.is_finite() { b } else { a };
        let value = match self {
            Self::F16 => f16(bits),
            Self::Bf16 => bf16(bits),
            Self::F16x2 => worse(f16(bits), f16(bits >> 16)),
            Self::Bf16x2 => worse(bf16(bits), bf16(bits >> 16)),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        };
        (!value.is_finite()).then_some(value)
    }
}

/// [`Format::any_odd`] as a task.
struct AnyOdd<'r, T>(Format, &'r [T; 32]);

impl<T: Copy + Into<u64>> Task for AnyOdd<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.0.any_odd(self.1)
    }
}

/// The numbers still looked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Numbers {
    pub nan: bool,
    pub infinity: bool,
}

impl Machine<'_> {
    /// Runs an operation and looks at the numbers it makes.
    #[inline(never)]
    pub(in crate::exec) fn observed(
        &mut self,
        op: &Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        if !self.observers.numbers.nan && !self.observers.numbers.infinity {
            self.observers.active = self.observers.count.is_some();
            return self.simple(op, regs, pc, mask);
        }
        let Some(formats) = self.observers.formats[pc as usize] else {
            return self.simple(op, regs, pc, mask);
        };
        let mut to = None;
        visit(self.program, *op, &mut |role, reg| {
            if role == Use::Write {
                to = Some(reg);
            }
        });
        let width = self.width;
        match to {
            Some(Reg::W(r)) => {
                let before = regs.rows.w[r as usize];
                self.simple(op, regs, pc, mask)?;
                let row = &regs.rows.w[r as usize];
                if width.widely(AnyOdd(formats.result, row)) {
                    self.check_numbers(*op, (Reg::W(r), before.map(u64::from)), regs, pc, mask);
                }
            }
            Some(Reg::D(r)) => {
                let before = regs.rows.d[r as usize];
                self.simple(op, regs, pc, mask)?;
                let row = &regs.rows.d[r as usize];
                if width.widely(AnyOdd(formats.result, row)) {
                    self.check_numbers(*op, (Reg::D(r), before), regs, pc, mask);
                }
            }
            Some(Reg::P(_)) | None => return self.simple(op, regs, pc, mask),
        }
        Ok(())
    }

    /// Looks at the result of an operation, given its register and the value that it held before.
    fn check_numbers(
        &mut self,
        op: Op,
        (to, before): (Reg, D),
        regs: &Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        let Some(formats) = self.observers.formats[pc as usize] else { return };
        let mut operands = Vec::new();
        visit(self.program, op, &mut |role, reg| {
            if role == Use::Read && !matches!(reg, Reg::P(_)) {
                operands.push(if reg == to { before } else { regs.row(reg) });
            }
        });
        let result = regs.row(to);
        for lane in each_lane(mask) {
            let Some(value) = formats.result.odd(result[lane]) else { continue };
            let wanted = if value.is_nan() {
                self.observers.numbers.nan
            } else {
                self.observers.numbers.infinity
            };
            let odd = |o: &D| formats.operands.is_some_and(|from| from.odd(o[lane]).is_some());
            if !wanted || operands.iter().any(odd) {
                continue;
            }
            if value.is_nan() {
                self.observers.numbers.nan = false;
            } else {
                self.observers.numbers.infinity = false;
            }
            self.report_number(value, formats.operands, &operands, regs, pc, lane);
        }
    }

    fn report_number(
        &mut self,
        value: f64,
        format: Option<Format>,
        operands: &[D],
        regs: &Registers<'_>,
        pc: u32,
        lane: usize,
    ) {
        let show = |o: &D| match format {
            None => (o[lane] as i64).to_string(),
            Some(Format::F16 | Format::F16x2) => half::f16::from_bits(o[lane] as u16).to_string(),
            Some(Format::Bf16 | Format::Bf16x2) => {
                half::bf16::from_bits(o[lane] as u16).to_string()
            }
            Some(Format::F32) => format!("{:?}", f32::from_bits(o[lane] as u32)),
            Some(Format::F64) => format!("{:?}", f64::from_bits(o[lane])),
        };
        let values: Vec<String> = operands.iter().map(show).collect();
        let name = if value.is_nan() { "NaN" } else { "infinity" };
        let what = format!("the first {name} comes from finite operands {}", values.join(", "));
        let kind = FindingKind::NonFinite;
        let mut finding = self.finding(kind, &what, Target::default(), regs, pc, 1 << lane);
        finding.severity = Severity::Info;
        self.keep((kind, pc, u32::from(value.is_nan())), finding);
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Formats};

    #[test]
    fn the_formats_are_those_of_result_and_operands() {
        let of = |opcode| Formats::of(opcode).map(|formats| (formats.result, formats.operands));
        let same = |format| Some((format, Some(format)));
        assert_eq!(of("add.rn.f32"), same(Format::F32));
        assert_eq!(of("fma.rn.bf16x2"), same(Format::Bf16x2));
        assert_eq!(of("cvt.rn.f16.f32"), Some((Format::F16, Some(Format::F32))));
        assert_eq!(of("cvt.f32.bf16"), Some((Format::F32, Some(Format::Bf16))));
        assert_eq!(of("cvt.rn.f32.s64"), Some((Format::F32, None)));
        assert_eq!(of("cvt.rzi.s32.f32"), None);
        assert_eq!(of("add.s32"), None);
        assert_eq!(of("mov.f32"), None);
    }
}
