//! Several tables of one op, and types that an op lacks.

use super::parse;
use crate::suite::{Loaded, Suite, load::from_file, load_lenient};

const HEAD: &str = "format = 1\nname = \"x\"\n";

/// Returns the text of a table with cases of `self` alone, and further keys.
fn table(op: &str, keys: &str, cases: &[&str]) -> String {
    let cases: Vec<String> = cases.iter().map(|case| format!("{{ self = \"{case}\" }}")).collect();
    format!("[[ops]]\nname = \"{op}\"\n{keys}\ncases = [{}]\n", cases.join(", "))
}

fn ids(suite: &Suite, op: &str) -> Vec<String> {
    suite.cases(op, None, 1).unwrap().into_iter().map(|case| case.id).collect()
}

fn loaded(tables: &str) -> Loaded {
    from_file("my.toml", &format!("{HEAD}{tables}")).unwrap()
}

#[test]
fn tables_of_one_op_join_in_order_and_equal_cases_are_one() {
    let first = table("relu", "dtypes = [\"f32\"]", &["[3]", "[2]"]);
    let second = table("aten.relu.default", "dtypes = [\"f16\", \"f32\"]", &["[2]", "[5]"]);
    let between = table("gelu", "", &["[3]"]);
    let suite = parse("my.toml", &format!("{HEAD}{first}{between}{second}")).unwrap();
    assert_eq!(suite.ops(), ["relu", "gelu"]);
    let wanted =
        ["f32[3]/normal", "f32[2]/normal", "f32[5]/normal", "f16[2]/normal", "f16[5]/normal"];
    assert_eq!(ids(&suite, "relu"), wanted);
}

#[test]
fn a_timed_case_does_not_repeat_a_small_one() {
    let small = table("relu", "dtypes = [\"f32\"]", &["[64]"]);
    let timed = "[[ops]]\nname = \"relu\"\ndtypes = [\"f32\"]\n\
        cases = [{ self = \"[64]\", class = \"realistic\" }, { self = \"[64]\" }]\n";
    let suite = parse("my.toml", &format!("{HEAD}{small}{timed}{timed}")).unwrap();
    assert_eq!(ids(&suite, "relu"), ["f32[64]/normal", "f32[64]/normal#2"]);
}

#[test]
fn one_name_with_two_definitions_is_a_mistake_with_both_lines() {
    let mine = |function: &str| {
        format!(
            "[[ops]]\ndefinition = '''\nformat = 1\nname = \"mine\"\nsemantics = \"x\"\n\
            dtypes = [\"f32\"]\n[tensors]\nx = \"[n]\"\n[reference]\n\
            graph = \"out = {function}(x)\"\n[[cases]]\nn = 3\n'''\n"
        )
    };
    let same = format!("{}{}", mine("abs"), mine("abs"));
    assert_eq!(ids(&loaded(&same).strict().unwrap(), "mine"), ["f32[3]/normal"]);
    let Loaded { suite, errors, .. } = loaded(&format!("{}{}", mine("abs"), mine("neg")));
    assert_eq!(ids(&suite, "mine"), ["f32[3]/normal"]);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let wanted = "suite my.toml, line 16: op `mine` is another than the op of that name on line 3";
    assert_eq!(errors, [wanted]);
}

#[test]
fn types_that_an_op_lacks_are_skipped_with_a_note() {
    let tables = format!(
        "{}{}[[ops]]\nname = \"silu\"\ncases = [{{ self = \"[4]\", dtypes = [\"i32\"] }},\n\
        {{ self = \"[5]\", dtypes = [\"f32\", \"i32\"] }}]\n",
        table("gelu", "dtypes = [\"i32\", \"f32\"]", &["[3]", "[2]"]),
        table("relu", "dtypes = [\"i32\", \"f32\"]", &["[3]"]),
    );
    let Loaded { suite, errors, skipped, .. } = loaded(&tables);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(ids(&suite, "gelu"), ["f32[3]/normal", "f32[2]/normal"]);
    assert_eq!(ids(&suite, "relu"), ["i32[3]/normal", "f32[3]/normal"]);
    assert_eq!(ids(&suite, "silu"), ["f32[5]/normal"]);
    let notes: Vec<String> = skipped.iter().map(ToString::to_string).collect();
    let note = |line, op| {
        format!(
            "suite my.toml, line {line}: op `{op}` has no dtype i32 (it has: f32, f16, bf16): skipped"
        )
    };
    assert_eq!(notes, [note(3, "gelu"), note(13, "silu"), note(14, "silu")]);
}

#[test]
fn an_op_without_a_type_is_a_mistake() {
    for (keys, case, wanted) in [
        (
            "dtypes = [\"i32\", \"i64\"]",
            "",
            "line 3: op `gelu` has no dtype i32, i64 (it has: f32, f16, bf16)",
        ),
        ("dtypes = []", "", "line 3: op `gelu` is given no dtype (it has: f32, f16, bf16)"),
        ("", ", dtypes = [\"i32\"]", "line 3: op `gelu` has no dtype i32 (it has: f32, f16, bf16)"),
    ] {
        let text = format!(
            "{HEAD}[[ops]]\nname = \"gelu\"\n{keys}\ncases = [{{ self = \"[3]\"{case} }}]\n"
        );
        let error = parse("my.toml", &text).unwrap_err().to_string();
        assert_eq!(error, format!("suite my.toml, {wanted}"));
    }
}

#[test]
fn a_kind_leaves_types_out_without_a_word() {
    let kind =
        "[[ops]]\nkind = \"unary\"\ndtypes = [\"f32\", \"i32\"]\ncases = [{ self = \"[2]\" }]\n";
    let Loaded { suite, errors, skipped, .. } = loaded(kind);
    assert!(errors.is_empty() && skipped.is_empty(), "{errors:?} {skipped:?}");
    assert_eq!(ids(&suite, "silu"), ["f32[2]/normal"]);
    assert_eq!(ids(&suite, "relu"), ["f32[2]/normal", "i32[2]/normal"]);
}

#[test]
fn the_suites_of_the_binary_name_no_type_that_an_op_lacks() {
    for name in ["smoke", "sweep"] {
        assert_eq!(load_lenient(name).unwrap().skipped, [], "{name}");
    }
}
