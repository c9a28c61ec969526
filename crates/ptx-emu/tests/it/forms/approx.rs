//! Approximate functions, within the error that the manual states.

use super::{
    number::{Format, Rounding, format},
    oracle::{Op, Want, joined, pairwise},
};

pub(super) fn oracle(op: &Op<'_>, s: &[u64]) -> Option<Vec<Want>> {
    let element = op.ty().trim_end_matches("x2");
    let f = format(element)?;
    if element == op.ty() {
        return Some(vec![one(op, f, s)?]);
    }
    Some(vec![joined(pairwise(s, |s| one(op, f, s))?)])
}

fn one(op: &Op<'_>, f: Format, s: &[u64]) -> Option<Want> {
    let ftz = op.has("ftz");
    // The f64 forms with `.ftz` read and write the upper halves only.
    let upper = f.bits == 64 && ftz;
    let input = |k: usize| {
        let bits = if upper { s[k] & !0xffff_ffff } else { s[k] };
        f.to_f64(if ftz { f.flush(bits) } else { bits })
    };
    let x = input(0);
    let value = match op.name {
        "div" => {
            let y = input(1);
            if op.has("approx") && y.abs() > 2_f64.powi(126) && y.is_finite() {
                // Beyond 2^126 the result is zero, or NaN under an infinity.
                return Some(match (x.is_nan(), x.is_infinite()) {
                    (false, false) => Want::Near(f, 0.0, 0.0),
                    _ => Want::Nan(f),
                });
            }
            x / y
        }
        "rcp" => 1.0 / x,
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "lg2" => x.log2(),
        "ex2" => x.exp2(),
        "tanh" => x.tanh(),
        _ => return None,
    };
    if value.is_nan() {
        return Some(Want::Nan(f));
    }
    if matches!(op.name, "sin" | "cos") && x.abs() > std::f64::consts::TAU {
        // Stated for one period only; the result is some number in the range.
        return Some(Want::Near(f, 0.0, 1.0));
    }
    let ulp = value.abs().max(2_f64.powi(1 - f.bias() as i32)) * 2_f64.powi(-(f.fraction as i32));
    let error = match (op.name, f.bits, f.fraction) {
        ("rcp" | "rsqrt", 64, _) => value.abs() * 2_f64.powi(-20),
        ("div" | "ex2", 32, _) => 2.0 * ulp,
        ("rcp", ..) => ulp,
        ("sqrt", ..) => value.abs() * 2_f64.powi(-23) + ulp / 2.0,
        ("rsqrt", ..) => value.abs() * 2_f64.powf(-22.9),
        ("sin" | "cos", ..) => 2_f64.powf(-20.5),
        ("lg2", ..) if (0.5..=2.0).contains(&x) => 2_f64.powi(-22),
        ("lg2", ..) => value.abs() * 2_f64.powi(-22),
        ("tanh", 32, _) => value.abs() * 2_f64.powi(-11),
        ("tanh", _, 10) => 2_f64.powf(-10.987),
        ("tanh", ..) => 2_f64.powi(-8),
        ("ex2", _, 10) => value * 2_f64.powf(-9.9) + ulp,
        _ => value.abs() * 2_f64.powi(-7),
    };
    // Results too small for a normal number are flushed, where the opcode says so.
    let tiny = 2_f64.powi(1 - f.bias() as i32);
    if value.abs() < tiny * (1.0 + 2_f64.powi(-(f.fraction as i32))) && (ftz || op.name == "ex2") {
        return Some(Want::Near(f, 0.0, tiny));
    }
    let nearest = f.round_f64(value, Rounding::NearestEven);
    if f.is_infinite(nearest) {
        return Some(Want::Bits(nearest));
    }
    Some(Want::Near(f, value, error))
}
