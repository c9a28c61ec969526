//! The messages that users get for common mistakes, by their full text.

use std::{fmt::Write as _, fs, path::Path};

use super::flow::{RELU, kgen};

/// A suite with one case, so that a mistake is reported once.
const SUITE: &str = "\
format = 1
name = 'one'
dtypes = ['f32']
[[ops]]
name = 'relu'
cases = [{ self = '[7]' }]
";

/// Command lines whose files `lay_out` writes.
const MISTAKES: &[&str] = &[
    "show rleu",
    "generate --feedback compile,profil",
    "list --config typo.toml",
    "eval plan.cu --op relu --suite one.toml --seed 7",
    "eval source.cu --op relu --suite one.toml --seed 7",
    "run --backend cublas --ops mm --device emu",
    "generate --ops relu --provider anthropic",
    "report torn",
    "list --suite unknown.toml",
    "list --suite shape.toml",
    "generate --ops relu --dtypes f8",
];

fn lay_out(folder: &Path) {
    let files = [
        ("typo.toml", "[run]\nmax_atempts = 3\n".to_owned()),
        ("one.toml", SUITE.to_owned()),
        ("plan.cu", RELU.replace("x.numel", "x.nummel")),
        ("source.cu", RELU.replace("(T_out)0", "zero")),
        ("torn/run.json", "{\"format\": {".to_owned()),
        ("unknown.toml", SUITE.replace("'relu'", "'rleu'")),
        ("shape.toml", SUITE.replace("'[7]'", "[2, -3]")),
    ];
    fs::create_dir(folder.join("torn")).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// Masks the seconds that an evaluation took.
fn masked(text: &str) -> String {
    let mask = |line: &str| match line.split_once(" s, seed ") {
        Some((head, tail)) => {
            let head = head.rsplit_once(' ').map_or(head, |(head, _)| head);
            format!("{head} [seconds] s, seed {tail}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(mask).collect()
}

#[test]
fn mistakes_of_users_have_these_messages() {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path());
    let mut all = String::new();
    for mistake in MISTAKES {
        let args: Vec<&str> = mistake.split(' ').collect();
        let output = kgen(folder.path(), &args).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = masked(&String::from_utf8(text).unwrap());
        let code = output.status.code().unwrap();
        writeln!(all, "$ kgen {mistake}\n{text}[exit code {code}]\n").unwrap();
    }
    insta::assert_snapshot!(all);
}
