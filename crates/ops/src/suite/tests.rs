mod cheats;
mod evaluation;
mod extents;
mod opinfo;
mod tables;
#[expect(
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "drawn values are exact, and extents are small"
)]
mod values;

use std::{collections::BTreeSet, sync::LazyLock};

use super::{Error, Suite, load, load::from_file};
use crate::{
    op::{find, generate},
    record::{Case, CaseClass, HostTensor},
    reference::Reference,
};

/// Reads the text of a suite file in which nothing may be wrong.
fn parse(origin: &str, text: &str) -> Result<Suite, Error> {
    from_file(origin, text)?.strict()
}

/// Returns the suite of every op, which all tests share: it takes long to load.
pub(crate) fn opinfo() -> &'static Suite {
    static OPINFO: LazyLock<Suite> = LazyLock::new(|| load("opinfo").unwrap());
    &OPINFO
}

/// Returns the suite `smoke`, which all tests share.
pub(crate) fn smoke() -> &'static Suite {
    static SMOKE: LazyLock<Suite> = LazyLock::new(|| load("smoke").unwrap());
    &SMOKE
}

fn inputs(case: &Case, seed: u64) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, seed, &case.id, &name)).collect()
}

#[test]
fn the_example_of_the_documentation_is_a_suite() {
    let page = include_str!("../../../../docs/suites.md");
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let suite = parse("suites.md", text).unwrap();
    assert_eq!(suite.ops().len(), 2);
    assert_eq!(suite.cases("scaled_mm", None, 1).unwrap().len(), 1);
}

#[test]
fn every_smoke_case_infers_generates_and_evaluates() {
    let suite = smoke();
    for op in suite.ops() {
        let cases = suite.cases(op, None, 11).unwrap();
        let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids.len(), cases.len(), "{op}");
        for case in cases.iter().filter(|case| case.class != CaseClass::Realistic) {
            let op_def = find(op).unwrap();
            let outputs = op_def.infer(case).unwrap();
            let inputs = inputs(case, 3);
            let reference = Reference::new(op_def, case, &inputs).unwrap();
            let values = reference.evaluate().unwrap();
            let bounds = reference.bounds(&values).unwrap();
            assert_eq!(values.len(), outputs.len(), "{op} {}", case.id);
            for ((values, bound), spec) in values.iter().zip(&bounds).zip(&outputs) {
                assert_eq!(values.len(), spec.numel(), "{op} {}", case.id);
                assert_eq!(bound.s.len(), spec.numel(), "{op} {}", case.id);
                assert!(bound.s.iter().all(|s| s.is_finite() && *s >= 0.0), "{op} {}", case.id);
                let magnitudes = bound.magnitude.iter().flatten();
                assert!(
                    magnitudes.clone().all(|magnitude| magnitude.is_finite()),
                    "{op} {}",
                    case.id
                );
                assert!([0, spec.numel()].contains(&magnitudes.count()), "{op} {}", case.id);
            }
        }
    }
}

#[test]
fn every_smoke_op_covers_what_the_judge_relies_on() {
    let suite = smoke();
    for op in suite.ops() {
        let cases = suite.cases(op, None, 11).unwrap();
        for dtype in suite.dtypes(op).unwrap() {
            let of: Vec<&Case> = cases.iter().filter(|case| case.dtype == *dtype).collect();
            let count = |class| of.iter().filter(|case| case.class == class).count();
            assert!(count(CaseClass::Realistic) >= 2, "{op} {dtype}");
            assert!(count(CaseClass::Drawn) >= 2, "{op} {dtype}");
            assert!(count(CaseClass::Layout) >= 1, "{op} {dtype}");
            let fixed = of.len() - count(CaseClass::Realistic) - count(CaseClass::Drawn);
            assert!((10..=22).contains(&fixed), "{op} {dtype}: {fixed}");
            let numels: Vec<usize> =
                of.iter().filter_map(|case| Some(case.tensors().next()?.1.spec.numel())).collect();
            assert!(numels.contains(&0), "{op} {dtype}");
            assert!(numels.contains(&1), "{op} {dtype}");
            let small = of.iter().filter(|case| case.class != CaseClass::Realistic);
            for case in small {
                let most = case.tensors().map(|(_, tensor)| tensor.spec.numel()).max();
                assert!(most.unwrap() <= 13_000, "{op} {}", case.id);
            }
        }
    }
}

#[test]
fn drawn_cases_follow_the_seed_and_are_no_public_cases() {
    let suite = smoke();
    let drawn = |seed| -> Vec<Case> {
        let cases = suite.cases("relu", None, seed).unwrap();
        cases.into_iter().filter(|case| case.class == CaseClass::Drawn).collect()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let public = suite.public_cases("relu").unwrap();
    assert!(!public.is_empty());
    assert!(public.iter().all(|case| case.class != CaseClass::Drawn));
}

#[test]
fn a_mistake_in_a_suite_file_names_file_op_case_and_key() {
    let relu = |case: &str| {
        let text =
            format!("format = 1\nname = \"x\"\n[[ops]]\nname = \"relu\"\ncases = [{case}]\n");
        parse("my.toml", &text).unwrap_err().to_string()
    };
    let prefix = "suite my.toml, line 5: op `relu`, case 1: ";
    let table = [
        (
            "{ self = \"[1]\", shape = 3 }",
            "key `shape`: unknown key (known: self, class, distributions, dtypes, draws, axes, grid, \
             max_elements)",
        ),
        ("{}", "argument `self` is missing"),
        (
            "{ self = 3 }",
            "argument `self` must be a tensor, written as a shape such as \"[127, 1023]\"",
        ),
        ("{ self = \"3\" }", "key `self`: `3` is no shape such as \"[127, 1..64]\""),
        (
            "{ self = \"[k]\" }",
            "key `self`: `k` is no extent: use a number, a range `1..64` or a name of `axes`",
        ),
        ("{ self = \"[5..1]\" }", "key `self`: range `5..1` is empty"),
        (
            "{ self = \"[3] transposed\" }",
            "argument `self`: layout `transposed` needs at least 2 dimensions, the shape has 1",
        ),
        (
            "{ self = \"[3] sideways\" }",
            "key `self`: unknown layout `sideways` (known: contiguous, transposed, gap, offset, \
             expanded, channels_last)",
        ),
        ("{ self = \"[1..3]\", draws = 99 }", "key `draws`: must be 1 to 16"),
        (
            "{ self = \"[1..3]\", class = \"edge\" }",
            "key `class`: a case with ranges is of class `drawn`",
        ),
    ];
    for (case, message) in table {
        assert_eq!(relu(case), format!("{prefix}{message}"), "{case}");
    }
}

#[test]
fn a_wrong_suite_file_is_an_error_that_names_it() {
    let error = |text: &str| parse("my.toml", text).unwrap_err().to_string();
    let head = "format = 1\nname = \"x\"\n";
    assert!(error("format = [").starts_with("suite my.toml: TOML parse error at line 1"));
    assert!(error(&format!("{head}colour = 1\nops = []")).contains("unknown field `colour`"));
    assert_eq!(error(&format!("{head}ops = []")), "suite my.toml: it has no ops");
    assert_eq!(
        error("format = 7\nname = \"x\"\nops = []"),
        "suite my.toml: format 7 is not supported (this kgen reads format 1)"
    );
    let unknown = error(&format!("{head}[[ops]]\nname = \"rellu\"\ncases = []"));
    let wanted = "suite my.toml, line 3: unknown op `rellu` (did you mean `relu`";
    assert!(unknown.starts_with(wanted), "{unknown}");
    assert_eq!(
        load("smok").unwrap_err().to_string(),
        "no suite `smok` (built in: smoke+opinfo, smoke, opinfo, huggingface, sweep; a suite file is given by its path)"
    );
    assert_eq!(load("none.toml").unwrap_err().to_string(), "failed to read suite file none.toml");
    assert!(smoke().cases("mmm", None, 0).is_err());
}

#[test]
fn cases_that_were_asked_for_before_are_those_of_a_new_suite() {
    let known = load("smoke").unwrap();
    for seed in [1, 2, 1] {
        let new = load("smoke").unwrap();
        for op in known.ops() {
            let check = |cases: &dyn Fn(&Suite) -> Vec<Case>| {
                assert_eq!(cases(&known), cases(&new), "{op}");
            };
            let dtypes = &known.dtypes(op).unwrap()[..1];
            check(&|suite| suite.public_cases(op).unwrap());
            check(&|suite| suite.cases(op, None, seed).unwrap());
            check(&|suite| suite.cases(op, Some(dtypes), seed).unwrap());
        }
    }
}

#[test]
fn ops_of_a_kind_have_its_cases_but_for_those_that_a_table_names() {
    let head = "format = 1\nname = \"x\"\n";
    let kind = "[[ops]]\nkind = \"unary\"\n\
        cases = [{ self = \"[3]\" }, { self = \"i64[4]\", dtypes = [\"f32\"] }]\n";
    let own = "[[ops]]\nname = \"exp\"\ncases = [{ self = \"[5]\" }]\n";
    let suite = parse("my.toml", &format!("{head}{kind}{own}")).unwrap();
    let ids = |op: &str| -> Vec<String> {
        suite.public_cases(op).unwrap().into_iter().map(|case| case.id).collect()
    };
    assert_eq!(ids("exp")[0], "f32[5]/normal");
    assert_eq!(ids("tanh")[..2], ["f32[3]/normal", "f32i64[4]/normal"]);
    // Element types that an op does not take are left out: silu takes no integers.
    assert_eq!(ids("silu"), ["f32[3]/normal", "f16[3]/normal", "bf16[3]/normal"]);
    for other in ["add", "glu", "eq.Scalar", "prelu", "threshold"] {
        assert!(suite.op(other).is_err(), "{other}");
    }
    let unknown =
        parse("my.toml", &format!("{head}[[ops]]\nkind = \"odd\"\ncases = []")).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "suite my.toml, line 3: op `odd` is no kind of ops (known: unary, binary, gradient)"
    );
}

#[test]
fn a_drawn_case_that_is_there_already_is_drawn_anew() {
    let text = "format = 1\nname = \"x\"\ndtypes = [\"f32\"]\n[[ops]]\nname = \"relu\"\n\
        cases = [{ self = \"[1..3]\", draws = 3 }, { self = \"[2]\" }, { self = \"[4..4]\", draws = 2 }]\n";
    let suite = parse("my.toml", text).unwrap();
    for seed in 0..20 {
        let cases = suite.cases("relu", None, seed).unwrap();
        let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        // A range of one extent has one case.
        assert!(ids.contains("f32[2]/normal") && ids.contains("f32[4]/normal"), "{ids:?}");
        assert!(ids.iter().all(|id| !id.contains('#')), "{ids:?}");
        assert_eq!(ids.len(), cases.len());
    }
}
