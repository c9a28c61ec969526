//! Hints about a failure for this kind of op and on this device: one sentence where the facts leave
//! few causes.

use kgen_ops::op::OpFamily;
use kgen_record::{CaseOutcome, Fault, Level, Mismatch, Verdict};

use super::{Subject, failures::Group};

/// Times its bound up to which an error looks like rounding, not like a wrong value.
const ROUNDING: f64 = 64.0;

/// The hint where all cases that fail alike have strides.
const STRIDED: &str = "All of these have strided inputs: check that no access takes them for \
                       contiguous ones.";

/// The likely causes where small cases are right.
const LARGE_ONLY: &str = "Only realistic sizes fail: look for 32-bit index arithmetic that \
                          overflows, for a grid that is cut off at a limit, and for blocks that \
                          rely on the order in which they run.";

/// Returns hints from the wrong elements of a group.
pub(super) fn of_outputs(
    subject: &Subject<'_>,
    group: &Group<'_>,
    mismatch: &Mismatch,
) -> Vec<String> {
    let mut hints = in_common(subject, group);
    let ratio = mismatch.worst_ratio.0;
    // Special values and places that nobody wrote are explained by themselves.
    if mismatch.n_special == mismatch.n_wrong || 0 < mismatch.n_unwritten || !ratio.is_finite() {
        return hints;
    }
    if ratio <= ROUNDING && !mismatch.rule.contains("bit for bit") {
        hints.push(rounding(subject.family).to_owned());
    } else if hints.is_empty() {
        hints.extend(wrong_values(subject.family).map(str::to_owned));
    }
    hints
}

/// Returns hints from a fault, race or hang of a group.
pub(super) fn of_run(subject: &Subject<'_>, group: &Group<'_>) -> Vec<String> {
    let mut hints = in_common(subject, group);
    let first = group.cases[0];
    let fault = first.findings.first().and_then(|finding| finding.fault.as_ref());
    hints.extend(fault.and_then(place));
    if first.level == Level::Cuda
        && group.verdict == Verdict::Fault
        && fault.is_none_or(|fault| fault.line.is_none())
    {
        hints.push(
            "A GPU names no line. Compare what is different here from cases that passed: size, \
             grid, dtype."
                .to_owned(),
        );
    }
    hints
}

/// Returns the traits of failed cases that passed ones lack.
fn in_common(subject: &Subject<'_>, group: &Group<'_>) -> Vec<String> {
    let all = |is: fn(&kgen_record::CaseResult) -> bool| group.cases.iter().all(|case| is(case));
    let mut hints = Vec::new();
    let contiguous_passed = subject.evaluation.cases.iter().any(|case| {
        !is_strided(&case.args) && case.outcome == CaseOutcome::Judged(Verdict::Passed)
    });
    if all(|case| is_strided(&case.args)) && contiguous_passed {
        hints.push(STRIDED.to_owned());
    }
    let small_passed =
        subject.evaluation.cases.iter().any(|case| {
            !case.class.is_large() && case.outcome == CaseOutcome::Judged(Verdict::Passed)
        });
    let small_failed = subject.evaluation.failed().any(|case| !case.class.is_large());
    if all(|case| case.class.is_large()) && small_passed && !small_failed {
        hints.push(LARGE_ONLY.to_owned());
    }
    hints
}

/// Returns whether some tensor of a case is strided; `stride=[2,2]` is an argument of windows.
fn is_strided(args: &str) -> bool {
    args.contains("] stride=(")
}

/// Says where an access outside of a buffer lies.
fn place(fault: &Fault) -> Option<String> {
    let element = fault.element?;
    let n_elements = i64::try_from(fault.buffer_elements?).ok()?;
    let text = if element < 0 {
        "An element before the first: look for an offset (padding, a window, a negative index) \
         that is applied without a check, or for an index that overflows."
    } else if n_elements == 0 {
        "The buffer is empty: launch nothing, or nothing that reads it, for tensors without \
         elements."
    } else if element == n_elements {
        "The first bad element is the one behind the last: see whether every access is guarded by \
         the size, and whether a vector access reaches over the end."
    } else {
        return None;
    };
    Some(text.to_owned())
}

/// Names the usual cause of errors slightly beyond the bound.
const fn rounding(family: OpFamily) -> &'static str {
    if matches!(family, OpFamily::Attention) {
        "The values are almost right: accumulate scores, sums and output in f32, round only the \
         probabilities of f16 and bf16 inputs to the type of the inputs, use no TF32 unless the task \
         allows it, and round once at the store."
    } else if family.sums_products() {
        "The values are almost right: accumulate in f32, use no TF32 or 16-bit partial sums unless \
         the task allows it, and round once at the store."
    } else if family.reduces() {
        "The values are almost right: accumulate in f32 for every dtype, take a variance from \
         centred values, use accurate functions, and round once at the store."
    } else {
        "The values are almost right: compute in f32 for every dtype, without approximate functions \
         or a reciprocal in place of a division, and round once at the store."
    }
}

/// Says where ops of a family usually take the wrong value.
const fn wrong_values(family: OpFamily) -> Option<&'static str> {
    Some(match family {
        OpFamily::Contraction | OpFamily::Attention | OpFamily::Convolution => {
            "Whole values are wrong: check which factor is indexed by which dimension and stride, \
             that the last tile is filled with zeros, and both barriers around a shared tile."
        }
        OpFamily::Reduction | OpFamily::Norm | OpFamily::Softmax | OpFamily::Loss => {
            "Whole values are wrong: check which dimension is reduced, what lanes and warps without \
             elements contribute, and that every warp's part reaches the total."
        }
        OpFamily::Scan => {
            "Whole values are wrong: check the carry from one chunk to the next and what lanes \
             before the first element contribute."
        }
        OpFamily::Index => {
            "Whole values are wrong: check negative indices, duplicates, and which dimension the \
             index runs along."
        }
        OpFamily::Movement => {
            "Whole values are wrong: check the way from an output index to its input element for \
             every dimension, strides included."
        }
        OpFamily::Pool => {
            "Whole values are wrong: check the bounds of the windows (padding, dilation, ceil mode) \
             and the divisor."
        }
        OpFamily::Sort => {
            "Whole values are wrong: check the direction, the order of equal keys and of NaN, and \
             the padding."
        }
        OpFamily::Elementwise | OpFamily::Quantize | OpFamily::General => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::is_strided;

    #[test]
    fn an_argument_that_is_called_stride_makes_no_input_strided() {
        assert!(!is_strided("self=f32[2,3,9,9], kernel_size=[3,3], stride=[2,2]"));
        assert!(is_strided("self=f32[64,33] stride=(1,64)"));
    }
}
