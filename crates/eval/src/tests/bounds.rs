//! Kernels that are wrong by little are beyond the bound.

use kgen_record::Verdict;

use super::{judged, passes};

const GRADIENT: &str = include_str!("../../../../suites/baselines/upsample_bilinear2d_backward.cu");

/// A gradient of an enlarged image.
const ENLARGED: &str = "[{ grad_output = \"[1, 2, 33, 41]\", output_size = [33, 41], \
                        input_size = [1, 2, 13, 17], align_corners = false }]";

#[test]
fn a_gradient_of_interpolation_with_a_shifted_place_fails() {
    passes("upsample_bilinear2d_backward", "[\"f32\"]", ENLARGED, GRADIENT);
    for (right, wrong) in [
        ("fmaxf(step * (at + 0.5f) - 0.5f, 0.0f)", "fmaxf(step * (at + 0.5f) - 0.4999f, 0.0f)"),
        ("fmaxf(step * (at + 0.5f) - 0.5f, 0.0f)", "fmaxf(step * (at + 0.4999f) - 0.5f, 0.0f)"),
        ("share(gradient, column.weight", "share(gradient, 0.9999f * column.weight"),
        ("share(line, 1.0f - row.weight", "share(line, 1.0001f - row.weight"),
    ] {
        assert!(GRADIENT.contains(right), "{right}");
        let kernel = GRADIENT.replace(right, wrong);
        let evaluation = judged("upsample_bilinear2d_backward", "[\"f32\"]", ENLARGED, &kernel);
        assert_eq!(evaluation.verdict, Verdict::WrongOutput, "{wrong}");
    }
}
