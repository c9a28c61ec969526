//! The first NaN and the first infinity that finite operands yield.

use crate::{
    alu::simd::Task,
    exec::{Machine, access::Registers, fault::Target},
    finding::{FindingKind, Severity},
    op::{D, Op, Reg, Use, visit},
    report::Stop,
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

impl Format {
    /// The format of an opcode's result, if it computes floats; moves and the like do not.
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
        // A conversion's first type is that of its result.
        parts.find_map(|part| match part {
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
        })?
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

/// What is still looked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Numbers {
    pub nan: bool,
    pub infinity: bool,
}

fn read(regs: &Registers<'_>, reg: Reg) -> D {
    match reg {
        Reg::W(r) => regs.w[r as usize].map(u64::from),
        Reg::D(r) => regs.d[r as usize],
        Reg::P(_) => [0; 32],
    }
}

impl Machine<'_> {
    /// Runs an operation and looks at the numbers it makes.
    #[inline(never)]
    pub(in crate::exec) fn observed(
        &mut self,
        op: Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        if !self.numbers.nan && !self.numbers.infinity {
            self.observing = self.count.is_some();
            return self.simple(op, regs, pc, mask);
        }
        let Some(format) = self.formats[pc as usize] else {
            return self.simple(op, regs, pc, mask);
        };
        let mut to = None;
        visit(self.program, op, &mut |role, reg| {
            if role == Use::Write {
                to = Some(reg);
            }
        });
        let width = self.width;
        match to {
            Some(Reg::W(r)) => {
                let before = regs.w[r as usize];
                self.simple(op, regs, pc, mask)?;
                let row = &regs.w[r as usize];
                if width.widely(AnyOdd(format, row)) {
                    self.check_numbers(op, (Reg::W(r), before.map(u64::from)), regs, pc, mask);
                }
            }
            Some(Reg::D(r)) => {
                let before = regs.d[r as usize];
                self.simple(op, regs, pc, mask)?;
                let row = &regs.d[r as usize];
                if width.widely(AnyOdd(format, row)) {
                    self.check_numbers(op, (Reg::D(r), before), regs, pc, mask);
                }
            }
            Some(Reg::P(_)) | None => return self.simple(op, regs, pc, mask),
        }
        Ok(())
    }

    /// Looks at the result of an operation, given its register and what that held before.
    fn check_numbers(
        &mut self,
        op: Op,
        (to, before): (Reg, D),
        regs: &Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        let Some(format) = self.formats[pc as usize] else { return };
        let mut operands = Vec::new();
        visit(self.program, op, &mut |role, reg| {
            if role == Use::Read && !matches!(reg, Reg::P(_)) {
                operands.push(if reg == to { before } else { read(regs, reg) });
            }
        });
        let result = read(regs, to);
        for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
            let Some(value) = format.odd(result[lane]) else { continue };
            let wanted = if value.is_nan() { self.numbers.nan } else { self.numbers.infinity };
            if !wanted || operands.iter().any(|o| format.odd(o[lane]).is_some()) {
                continue;
            }
            if value.is_nan() {
                self.numbers.nan = false;
            } else {
                self.numbers.infinity = false;
            }
            self.report_number(value, format, &operands, regs, pc, lane);
        }
    }

    fn report_number(
        &mut self,
        value: f64,
        format: Format,
        operands: &[D],
        regs: &Registers<'_>,
        pc: u32,
        lane: usize,
    ) {
        let show = |o: &D| match format {
            Format::F16 | Format::F16x2 => half::f16::from_bits(o[lane] as u16).to_string(),
            Format::Bf16 | Format::Bf16x2 => half::bf16::from_bits(o[lane] as u16).to_string(),
            Format::F32 => format!("{:?}", f32::from_bits(o[lane] as u32)),
            Format::F64 => format!("{:?}", f64::from_bits(o[lane])),
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
    use super::Format;

    #[test]
    fn the_format_is_that_of_the_result() {
        assert_eq!(Format::of("add.rn.f32"), Some(Format::F32));
        assert_eq!(Format::of("fma.rn.bf16x2"), Some(Format::Bf16x2));
        assert_eq!(Format::of("cvt.rn.f16.f32"), Some(Format::F16));
        assert_eq!(Format::of("cvt.rzi.s32.f32"), None);
        assert_eq!(Format::of("add.s32"), None);
        assert_eq!(Format::of("mov.f32"), None);
    }
}
