//! The page of instructions: the test that covers each row, and the opcodes that a GPU confirmed.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use emu_corpus::{golden::Golden, kernels};
use ptx_emu::isa::{self, Bits, InstructionForm};

use super::{cases, computes, in_memory};

/// Tests and confirmations of the rows, by their patterns.
#[derive(Default)]
struct Coverage {
    /// The strongest test.
    tests: HashMap<&'static str, String>,
    /// Opcodes whose results a GPU confirmed.
    confirmed: HashMap<&'static str, HashSet<String>>,
}

impl Coverage {
    /// Notes the opcodes in a text; those noted before keep their test.
    fn note(&mut self, text: &str, test: &str, confirmed: bool) {
        for opcode in opcodes(text) {
            let Some(row) = isa::find(opcode) else { continue };
            self.tests.entry(row.pattern()).or_insert_with(|| test.to_owned());
            if confirmed {
                let seen = self.confirmed.entry(row.pattern()).or_default();
                seen.insert(opcode.to_owned());
            }
        }
    }

    fn collect() -> Self {
        let mut all = Self::default();
        for row in isa::rows() {
            if computes(row) || in_memory(&row) || !cases(row).is_empty() {
                all.tests.insert(row.pattern(), "forms".to_owned());
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for line in include_str!("../../ptx/isa.txt").lines() {
            let mut words = line.splitn(3, ' ');
            let (golden, body) = (words.nth(1).unwrap_or(""), words.next().unwrap_or(""));
            let golden = golden.trim_start_matches('~');
            all.note(body, "isa", golden.bytes().all(|b| b.is_ascii_hexdigit()));
        }
        for name in include_str!("../../ptx/mma.txt").lines().filter(|n| n.starts_with("mma.")) {
            let opcode = name.split('/').next().unwrap_or(name);
            all.note(&format!("{opcode} ;"), "matrix", false);
        }
        for file in ["wmma", "rows"] {
            all.note(&read(&root.join(format!("tests/ptx/pass/{file}.ptx"))), "matrix", false);
        }
        all.note(&read(&root.join("tests/ptx/pass/tma.ptx")), "tma", false);
        for path in files(&root.join("tests/it"), "rs") {
            let name =
                path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            // Opcodes in strings.
            let text = read(&path).replace("\\n", "\n").replace('"', "\n");
            all.note(&text, &name, false);
        }
        let hopper = [
            ("wgmma", crate::hopper::wgmma::opcodes()),
            ("reduce", crate::hopper::reduce::opcodes()),
        ];
        for (test, opcodes) in hopper {
            opcodes.iter().for_each(|o| all.note(&format!("{o} ;"), test, false));
        }
        for folder in ["tests/ptx/pass", "tests/ptx/fail"] {
            texts(&root.join(folder)).iter().for_each(|text| all.note(text, "kernels", false));
        }
        for folder in ["../emu-corpus/ptx/sm_80", "../emu-corpus/ptx"] {
            texts(&root.join(folder)).iter().for_each(|text| all.note(text, "corpus", false));
        }
        all.recorded_matrices(root);
        all.recorded_kernels(root);
        all
    }

    /// Forms of matrix instructions that a GPU ran: opcodes, or kernels of the corpus files.
    fn recorded_matrices(&mut self, root: &Path) {
        let modules = ["wmma", "rows"].map(|f| read(&root.join(format!("tests/ptx/pass/{f}.ptx"))));
        for line in read(&root.join("tests/ptx/mma.golden")).lines() {
            let name = line.split(' ').next().unwrap_or("");
            if name.contains('.') {
                let opcode = name.split('/').next().unwrap_or(name);
                self.note(&format!("{opcode} ;"), "matrix", true);
            }
            for module in &modules {
                self.note(entry(module, name), "matrix", true);
            }
        }
    }

    /// Kernels whose outputs agreed with a GPU's.
    fn recorded_kernels(&mut self, root: &Path) {
        let all = kernels::all();
        for path in files(&root.join("../emu-corpus/golden"), "json") {
            let Ok(golden) = serde_json::from_str::<Golden>(&read(&path)) else { continue };
            let names: HashSet<&str> = golden.runs.iter().map(|run| run.kernel.as_str()).collect();
            for kernel in all.iter().filter(|k| names.contains(k.name)) {
                let text = kernel.ptx(90).unwrap_or_default();
                self.note(entry(&text, kernel.entry), "corpus", true);
            }
        }
    }
}

/// The words where an instruction may begin.
fn opcodes(text: &str) -> impl Iterator<Item = &str> {
    text.split([';', '{', '}', '\n']).filter_map(|statement| {
        let mut words = statement.split_whitespace();
        words
            .find(|word| !word.starts_with('@') && !word.ends_with(':'))
            .map(|word| word.trim_end_matches(','))
    })
}

/// The body of a kernel; empty if the module has none of that name.
fn entry<'t>(module: &'t str, name: &str) -> &'t str {
    let Some(at) = module.find(&format!(".entry {name}(")) else { return "" };
    let rest = &module[at..];
    &rest[..rest.find("\n}").unwrap_or(rest.len())]
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

fn texts(folder: &Path) -> Vec<String> {
    files(folder, "ptx").iter().map(|path| read(path)).collect()
}

const HEAD: &str = "# Instructions the emulator knows

Made from the table in `crates/ptx-emu/src/lower/forms/table.rs` by the test `forms::page`, which fails when this page is stale and
says how to renew it. An opcode that no row stands for stops a launch as `unsupported`.

* *Form*: opcodes; `{.a,.b}` is a choice, `?` makes it optional, `<int>` names a choice (`forms/pattern.rs`).
* *Operands*: `T` of the last type, `U` of the first, `D` twice as wide; `H`, `W`, `L`, `Q` of 16 to 128 bits; `P` a predicate; `V`, `4W`
  vectors; `A` an address; `I` an integer; `C` the cache policy that `.L2::cache_hint` asks for.
* *Result*: `exact` where every bit is defined, else the bound that the manual states.
* *Test*: the module of `crates/ptx-emu/tests/it` that holds the form against a host computation or runs kernels with it.
* *On hardware*: opcodes of the row in recorded runs on a GPU with which the emulator agrees.
";

/// The page.
fn page(coverage: &Coverage) -> String {
    let rows = isa::rows();
    let count =
        |row: &InstructionForm| coverage.confirmed.get(row.pattern()).map_or(0, HashSet::len);
    let tested = rows.iter().filter(|row| coverage.tests.contains_key(row.pattern())).count();
    let on_gpu = rows.iter().filter(|row| count(row) > 0).count();
    let opcodes: usize = coverage.confirmed.values().map(HashSet::len).sum();
    let mut out = format!(
        "{HEAD}\n{tested} of {} rows are tested; {on_gpu} rows with {opcodes} opcodes are confirmed by a GPU.\n",
        rows.len()
    );
    let mut family = None;
    for row in rows {
        if family != Some(row.family()) {
            family = Some(row.family());
            let head = "| Form | Operands | From | Result | Test | On hardware |\n|---|---|---|---|---|---|";
            writeln!(out, "\n## {}\n\n{head}", row.family().name()).expect("a string takes all");
        }
        let result = match row.bits() {
            Bits::Exact => "exact",
            Bits::Approx(bound) => bound,
        };
        let test = coverage.tests.get(row.pattern()).map_or("none", String::as_str);
        let hardware = match (count(row), row.count()) {
            (0, _) => "no".to_owned(),
            (n, all) if n as u64 == all => "yes".to_owned(),
            (n, all) => format!("{n} of {all}"),
        };
        let operands = row.operands().replace('|', "\\|");
        writeln!(
            out,
            "| `{}` | {operands} | sm_{} | {result} | {test} | {hardware} |",
            row.pattern(),
            row.sm()
        )
        .expect("a string takes all");
    }
    out
}

#[test]
fn every_row_is_tested() {
    let coverage = Coverage::collect();
    let untested: Vec<&str> = isa::rows()
        .iter()
        .map(InstructionForm::pattern)
        .filter(|p| !coverage.tests.contains_key(p))
        .collect();
    assert!(untested.is_empty(), "no test runs {}", untested.join("\n"));
}

#[test]
fn the_page_is_up_to_date() {
    let fresh = page(&Coverage::collect());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/isa.md");
    if read(&path) != fresh {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("isa.md");
        fs::write(&new, fresh).expect("the target folder can be written");
        panic!("docs/isa.md is stale: cp {} docs/isa.md", new.display());
    }
}
