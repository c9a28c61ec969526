use super::*;

/// A wrong output whose elements differ where `got` and `expected` do.
struct Output {
    shape: Vec<usize>,
    dtype: DType,
    expected: Vec<f64>,
    got: Vec<f64>,
    inputs: Vec<(String, Vec<f64>)>,
    sensitivity: Vec<f64>,
    n_unwritten: u64,
}

impl Output {
    fn new(shape: &[usize], got: impl Fn(&[f64], usize) -> f64) -> Self {
        let n: usize = shape.iter().product();
        let expected: Vec<f64> = (0..n).map(value).collect();
        Self {
            shape: shape.to_vec(),
            dtype: DType::F32,
            got: (0..n).map(|index| got(&expected, index)).collect(),
            expected,
            inputs: Vec::new(),
            sensitivity: Vec::new(),
            n_unwritten: 0,
        }
    }

    fn describe(&self) -> Option<String> {
        let differs = |&index: &usize| !same(DType::F32, self.expected[index], self.got[index]);
        let indices: Vec<usize> = (0..self.expected.len()).filter(differs).collect();
        describe(&Wrong {
            indices: &indices,
            shape: &self.shape,
            dtype: self.dtype,
            sampled: None,
            expected: &self.expected,
            got: &self.got,
            sensitivity: &self.sensitivity,
            inputs: &self.inputs,
            n_unwritten: self.n_unwritten,
        })
    }
}

/// A value of either sign that no two small indices share.
fn value(index: usize) -> f64 {
    let x = f64::from(u32::try_from(index).unwrap());
    kgen_record::tensor::round_to(DType::F32, 3.0 * (0.7 * x + 0.3).sin() + 0.01 * x)
}

fn check(shape: &[usize], got: impl Fn(&[f64], usize) -> f64, words: &str) {
    assert_eq!(Output::new(shape, got).describe().as_deref(), Some(words));
}

/// Wrong at some places, in no other way that could be named.
fn check_place(shape: &[usize], bad: impl Fn(usize) -> bool, place: &str) {
    let got = |y: &[f64], i: usize| if bad(i) { y[i] + 5.0 + value(7 * i + 3) } else { y[i] };
    let words = Output::new(shape, got).describe().unwrap_or_default();
    assert_eq!(words.split("; ").next(), Some(place), "{words}");
}

#[test]
fn places_are_recognised() {
    check_place(&[1023], |i| i >= 1020, "all elements from flat index 1020 to the end: the tail");
    check_place(&[8], |_| true, "all elements");
    check_place(&[8], |i| i < 4, "all of the first 4 elements");
    check_place(&[3, 4], |i| i / 4 == 2, "all of row 2 of 3, nothing else");
    check_place(&[3, 4], |i| i / 4 == 1, "all of row 1 of 3, nothing else");
    check_place(&[3, 4], |i| i % 4 == 3, "all of column 3 of 4, nothing else");
    check_place(&[9, 4], |i| i / 4 % 2 == 0, "whole rows: one index in 2, beginning with 0");
    check_place(&[16], |i| i % 4 == 1, "one index in 4, beginning with 1");
    check_place(
        &[40, 200],
        |i| i % 200 >= 128,
        "all columns from 128 to the last (199), the last tile of 128, which is not full",
    );
    check_place(
        &[64, 256],
        |i| i / 256 >= 32 && (64..128).contains(&(i % 256)),
        "all rows from 32 to the last (63), tile 1 of 2 if tiles have 32, columns 64 to 127, tile \
         1 of 4 if tiles have 64",
    );
    check_place(
        &[1024],
        |i| (256..512).contains(&i),
        "flat indices 256 to 511, tile 1 of 4 if tiles have 256",
    );
    check_place(
        &[1024],
        |i| i / 128 == 1 || i / 128 == 5,
        "flat indices in 2 tiles, the first is 1 of 8 tiles of 128",
    );
    check_place(&[1001], |i| i % 8 > 5, "flat indices with index % 8 = 6, 7");
}

#[test]
fn scattered_elements_have_no_place() {
    let bad = [1, 2, 9];
    let got = |y: &[f64], i: usize| if bad.contains(&i) { y[i] + value(i + 50) } else { y[i] };
    assert_eq!(Output::new(&[16], got).describe(), None);
}

#[test]
fn values_are_recognised() {
    check(&[16], |_, _| 0.0, "all elements; all of them are 0");
    check(&[16], |_, _| 0.4, "all elements; all of them are 0.4");
    check(&[16], |_, _| f64::NAN, "all elements; all of them are NaN");
    check(&[16], |y, i| 2.0 * y[i], "all elements; got = 2 x expected");
    check(&[16], |y, i| y[i] / 16.0, "all elements; got = 1/16 x expected");
    check(&[31], |y, i| y[i] * 31.0 / 30.0, "all elements; got = 31/30 x expected");
    check(&[31], |y, i| y[i] * 1.2345, "all elements; got = 1.2345 x expected");
    check(&[16], |y, i| y[i] - 1.0, "all elements; got = expected - 1");
    check(&[16], |y, i| -y[i], "all elements; got = -expected: the sign is wrong");
    let lost = Output::new(&[64], |y, i| y[i].abs()).describe().unwrap();
    assert!(lost.ends_with("got = |expected|: the sign is lost"), "{lost}");
    let mut output = Output::new(&[16], |y, i| if i > 12 { f64::NAN } else { y[i] });
    output.n_unwritten = 3;
    assert!(output.describe().unwrap().ends_with("none of them was ever written"));
    let mut output = Output::new(&[16], |y, i| y[i]);
    output.expected[3] = f64::NAN;
    assert_eq!(
        output.describe().as_deref(),
        Some("each of them should be NaN, which is lost on the way")
    );
}

#[test]
fn values_in_other_places_are_recognised() {
    let ends = |output: &Output, words: &str| {
        let found = output.describe().unwrap();
        assert!(found.ends_with(words), "{found}");
    };
    ends(
        &Output::new(&[6, 6], |y, i| y[i % 6 * 6 + i / 6]),
        "transposed: got[i,j] = expected[j,i]",
    );
    ends(
        &Output::new(&[4, 6], |y, i| y[i % 4 * 6 + i / 4]),
        "transposed: the output holds expected[j,i] in row-major order",
    );
    ends(&Output::new(&[17], |y, i| y[16 - i]), "reversed: got[i] = expected[n - 1 - i]");
    ends(&Output::new(&[17], |y, i| y[(i + 1) % 17]), "shifted: got[i] = expected[i + 1]");
    ends(&Output::new(&[17], |y, i| y[(i + 16) % 17]), "shifted: got[i] = expected[i - 1]");
    ends(
        &Output::new(&[3, 7], |y, i| y[i / 7 * 7 + (i + 2 - i / 7 * 7) % 7]),
        "shifted along the last dimension: got[.., j] = expected[.., j + 2]",
    );
    ends(
        &Output::new(&[5, 7], |y, i| y[(i + 7) % 35]),
        "shifted by a row: got[i, ..] = expected[i + 1, ..]",
    );
    ends(&Output::new(&[20], |y, i| y[i * 7 % 20]), "the right values, but in other places");
    let mut copy = Output::new(&[20], |_, i| value(i + 100));
    copy.inputs = vec![("self".to_owned(), (100..120).map(value).collect())];
    ends(&copy, "they are those of the input `self`");
}

/// Rounds to some bits behind the point.
fn rounded(x: f64, bits: i32) -> f64 {
    let step = (x.abs().log2().floor() - f64::from(bits)).exp2();
    (x / step).round_ties_even() * step
}

#[test]
fn lower_precision_is_recognised() {
    let ends = |output: &Output, words: &str| {
        let found = output.describe().unwrap();
        assert!(found.ends_with(words), "{found}");
    };
    ends(
        &Output::new(&[64], |y, i| rounded(y[i], 7)),
        "every result is a bf16 number: it is rounded on the way",
    );
    ends(
        &Output::new(&[64], |y, i| rounded(y[i], 10)),
        "every result is a f16 or TF32 number: it is rounded on the way",
    );
    // Products of rounded factors.
    let mut tf32 = Output::new(&[64], |y, i| y[i] * (1.0 + 2f64.powi(-13) * value(i + 9)));
    tf32.sensitivity = tf32.expected.iter().map(|y| y.abs() * 2f64.powi(-24)).collect();
    ends(&tf32, "errors are of the size that TF32 or f16 (11 bits) inputs or intermediates make");
    let mut bf16 = Output::new(&[64], |y, i| y[i] * (1.0 + 2f64.powi(-10) * value(i + 9)));
    bf16.sensitivity = bf16.expected.iter().map(|y| y.abs() * 2f64.powi(-24)).collect();
    ends(&bf16, "errors are of the size that bf16 (8 bits) inputs or intermediates make");
    let mut truncated = Output::new(&[64], |y, i| {
        let step = (y[i].abs().log2().floor() - 7.0).exp2();
        (y[i] / step).trunc() * step
    });
    truncated.dtype = DType::BF16;
    ends(
        &truncated,
        "each is within one unit in the last place toward zero: results are truncated instead of \
         rounded to nearest",
    );
}
