//! The roofline of a case.

use kgen_device::Device;
use kgen_measure::roofline::{Chip, Peaks, Pipe, Work};
use kgen_ops::op::OpDef;
use kgen_record::{Case, DType, Precision, Roofline};

use crate::{Error, bound::rounds_factors};

/// Bounds the time of a case; `None` where nothing is known of the device.
///
/// `floor_us`: time of an empty kernel in the mode in which the case is timed.
pub(super) fn of(
    op: &OpDef,
    case: &Case,
    precision: Precision,
    floor_us: f64,
    device: &dyn Device,
) -> Result<Option<Roofline>, Error> {
    let target = device.target();
    let session = device.session();
    let calibrated = |of: fn(&kgen_measure::Calibration) -> Option<f64>| {
        session.and_then(|session| of(&session.calibration)).map(|gbs| gbs * 1e9)
    };
    let clock = session.and_then(|session| session.fingerprint.max_sm_mhz);
    let peaks = Peaks {
        chip: Chip {
            compute_capability: (target.cc_major, target.cc_minor),
            sm_count: target.sm_count,
            // An unknown clock excludes nothing.
            max_sm_mhz: clock.unwrap_or(f64::NAN),
            l2_bytes: target.l2_bytes,
        },
        datasheet_bandwidth: target.peak_bandwidth,
        read_bandwidth: calibrated(|calibration| calibration.read_gbs),
        copy_bandwidth: calibrated(|calibration| calibration.copy_gbs),
        triad_bandwidth: calibrated(|calibration| calibration.triad_gbs),
        launch_floor_us: Some(floor_us),
    };
    Ok(Roofline::of(&peaks, &work(op, case, precision)?))
}

#[expect(clippy::cast_precision_loss, reason = "sizes of tensors")]
fn work(op: &OpDef, case: &Case, precision: Precision) -> Result<Work, Error> {
    let all = op.work(case);
    let written: f64 =
        op.infer(case)?.iter().map(|spec| spec.numel() as f64 * spec.dtype.size() as f64).sum();
    let write_bytes = written.min(all.bytes);
    Ok(Work {
        read_bytes: all.bytes - write_bytes,
        write_bytes,
        // A product that a sum follows is a product with a vector in truth: only the bytes are sure.
        flops: if all.least_flops > 0.0 { all.flops } else { 0.0 },
        least_flops: all.least_flops,
        pipe: pipe(op, case.dtype, precision),
    })
}

/// Returns the arithmetic that a good kernel uses: tensor cores where products are summed and the
/// task allows their precision.
fn pipe(op: &OpDef, dtype: DType, precision: Precision) -> Pipe {
    match dtype {
        DType::F64 => Pipe::F64,
        DType::F16 | DType::BF16 if op.engine.sums_products() => Pipe::F16,
        DType::F8E4M3 | DType::F8E5M2 if op.engine.sums_products() => Pipe::F8,
        DType::I8 | DType::U8 if op.engine.sums_products() => Pipe::I8,
        DType::F32 if rounds_factors(op, precision) => match precision {
            Precision::Low => Pipe::F16,
            _ => Pipe::Tf32,
        },
        _ => Pipe::F32,
    }
}

#[cfg(test)]
mod tests {
    use kgen_ops::{op, suite};

    use super::*;

    #[test]
    fn a_product_that_need_not_be_made_is_no_floor() {
        let flops = |graph: &str| {
            let text = format!(
                "format = 1\nname = \"mine\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\n\
                x = \"[n, n]\"\nw = \"[n, n]\"\n[reference]\ngraph = \"\"\"\n{graph}\n\"\"\"\n\
                [[cases]]\nn = 64\n"
            );
            let op = op::custom(&text).unwrap();
            let suite = suite::of_op(op.clone(), "mine.toml").unwrap().strict().unwrap();
            let case = suite.cases("mine", None, 1).unwrap().swap_remove(0);
            work(&op, &case, Precision::Strict).unwrap().flops
        };
        assert!(flops("h = mm(x, w)\nout = sum(h, [1])").abs() < 1.0);
        assert!(flops("h = mm(x, w)\nout = relu(h)") > 2.0 * 64.0 * 64.0 * 63.0);
    }
}
