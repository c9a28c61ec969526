//! House rules that a compiler does not check: who prints, who spawns, who writes, how files begin.
//! Who may know whom is checked by Cargo: each layer is a crate.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Programs, benchmarks and tools beside kgen.
const OTHER_PROGRAMS: &[&str] = &[
    "crates/emu-check",
    "crates/emu-corpus",
    "crates/ops-check",
    "crates/ptx-emu/benches",
    "crates/ptx-emu/examples",
];

/// A source file without its comments and without its test modules.
struct SourceFile {
    path: PathBuf,
    text: String,
    code: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<SourceFile> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push(SourceFile { code: code_of(&path, &text), path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!sources.is_empty());
    sources
}

/// Drops comments and everything from an inline test module on; all of it in test files.
fn code_of(path: &Path, text: &str) -> String {
    let in_tests = path.components().any(|part| part.as_os_str() == "tests");
    if in_tests || path.file_name().is_some_and(|name| name == "tests.rs" || name == "testing.rs") {
        return String::new();
    }
    let before_tests = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    before_tests
        .lines()
        .map(|line| if line.trim_start().starts_with("//") { "" } else { line })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns all source files of the workspace.
fn all_files() -> Vec<SourceFile> {
    ["src", "crates"].iter().flat_map(|folder| rust_files(&root().join(folder))).collect()
}

/// Finds the files outside `homes` (folders or files) that hold one of `needles`.
fn strangers(homes: &[&str], needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in all_files() {
        let relative = source.path.strip_prefix(root()).unwrap();
        if homes.iter().any(|home| relative.starts_with(home)) {
            continue;
        }
        for needle in needles {
            if source.code.contains(needle) {
                found.push(format!("{} has `{needle}`", relative.display()));
            }
        }
    }
    found
}

#[test]
fn only_command_lines_print() {
    let prints = ["println!", "eprintln!", "print!(", "eprint!(", "io::stdout()", "io::stderr()"];
    // A worker's stdout is its protocol, which it moves away before a kernel can print.
    let homes = [
        "src/cli",
        "crates/worker/src/child",
        "crates/worker/src/pool/nodes/far.rs",
        "crates/ptx-emu/src/cli",
    ];
    let found = strangers(&[&homes[..], OTHER_PROGRAMS].concat(), &prints);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_process_spawns() {
    let homes = [&["crates/process"], OTHER_PROGRAMS].concat();
    let found = strangers(&homes, &["Command::new", "fork(", "posix_spawn"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_settings_env_reads_the_environment() {
    // `process` hands variables on to children without reading a meaning into them.
    let homes = ["crates/settings/src/env.rs", "crates/process/src/environment.rs"];
    let found = strangers(&[&homes[..], OTHER_PROGRAMS].concat(), &["env::var", "env::vars"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_store_writes_into_a_run() {
    // `compile` writes its cache, `worker` and `import` their scratch folders, `device` its locks, `serve` its jobs,
    // the command lines their results, none of them in a run.
    let writes = ["fs::write", "File::create", "OpenOptions", "fs::rename", "fs::create_dir"];
    let results = [
        "selftest.rs",
        "profile.rs",
        "profile",
        "export.rs",
        "export",
        "import.rs",
        "import",
        "man.rs",
        "experiment/slurm.rs",
        "bench",
        "dashboard.rs",
    ];
    let results = results.map(|file| format!("src/cli/commands/{file}"));
    let results: Vec<&str> =
        results.iter().map(String::as_str).chain(["src/cli/output.rs"]).collect();
    let scratch = [
        "crates/store",
        "crates/compile",
        "crates/import/src/tracer.rs",
        "crates/baseline/src/python.rs",
        "crates/worker",
        "crates/process",
        "crates/serve/src/store",
        "crates/history/src/store",
        "crates/device/src/lock.rs",
        "crates/ptx-emu/src/cli",
    ];
    let found = strangers(&[&scratch[..], &results, OTHER_PROGRAMS].concat(), &writes);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn crates_of_their_own_depend_on_no_crate_of_kgen() {
    for package in ["ptx-emu", "ops", "measure", "profile", "compare"] {
        let manifest =
            fs::read_to_string(root().join("crates").join(package).join("Cargo.toml")).unwrap();
        let needed = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let needed = needed.split("[dependencies]").nth(1).unwrap_or_default();
        let of_kgen: Vec<&str> = needed.lines().filter(|line| line.starts_with("kgen-")).collect();
        // A comparison is statistics, and those are where times are measured.
        let allowed = |line: &&str| package == "compare" && line.starts_with("kgen-measure");
        assert!(of_kgen.iter().all(allowed), "{package}: {of_kgen:?}");
    }
}

#[test]
fn files_stay_small_and_say_what_they_are_for() {
    let mut wrong = Vec::new();
    for source in all_files().into_iter().chain(rust_files(&root().join("tests"))) {
        let name = source.path.display();
        let n_lines = source.text.lines().count();
        if n_lines > 650 {
            wrong.push(format!("{name} has {n_lines} lines; split it"));
        }
        let is_test = source.code.is_empty();
        if !is_test && !source.text.starts_with("//!") {
            wrong.push(format!("{name} does not begin with `//!`"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn architecture_names_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md lacks crates/{name}");
    }
}

#[test]
fn every_dependency_has_its_reason_above_it_and_is_on_the_page() {
    let page = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = text.split("[workspace.dependencies]").nth(1).unwrap();
    let mut explained = false;
    let mut names = Vec::new();
    for line in section.lines().take_while(|line| !line.starts_with('[')) {
        if line.trim().is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if !line.contains("path =") {
            assert!(explained, "`{line}` has no comment above it");
            names.push(line.split(' ').next().unwrap());
        }
    }
    let table = page.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<&str> = rows.collect();
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names, "docs/dependencies.md and Cargo.toml differ");
}

#[test]
fn versions_stand_in_the_workspace_alone() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let mut in_dependencies = false;
        for line in text.lines() {
            if line.starts_with('[') {
                in_dependencies = line.contains("dependencies]");
            } else if in_dependencies && line.contains('=') {
                let inherited = line.contains("workspace = true");
                assert!(inherited, "{}: `{line}`", manifest.display());
            }
        }
    }
}

/// Phrases that comments avoid, in lower case.
const AVOIDED: &[&str] =
    &["told", "tells whether", "carry out", "carries out", "carried out", "settle", "settled"];

/// Returns the text of a comment line, without its slashes.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

#[test]
fn comments_name_their_subject_in_plain_words() {
    let folders = ["src", "crates", "tests", "examples", "benches"];
    let mut found = Vec::new();
    for source in folders.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let comments = source.text.lines().enumerate().filter_map(|(i, l)| Some((i, comment(l)?)));
        for (i, text) in comments {
            let words = format!(" {} ", text.to_lowercase().replace([',', '.', ';', ':'], " "));
            let has = |phrase: &&&str| words.contains(&format!(" {phrase} "));
            let avoided = AVOIDED.iter().find(has).copied();
            let avoided = avoided.or(text.starts_with("What ").then_some("What"));
            if let Some(avoided) = avoided {
                let name = source.path.display();
                found.push(format!("{name}:{}: `{avoided}` in `{text}`", i + 1));
            }
        }
    }
    assert!(found.is_empty(), "say the thing itself (docs/glossary.md): {found:#?}");
}

#[test]
fn documents_name_their_subject() {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let top = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root().join(name));
    let mut found = Vec::new();
    for path in docs.chain(top).filter(|path| path.extension().is_some_and(|name| name == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| {
            let line = line.trim_start_matches([' ', '*', '-', '#', '|']);
            line.starts_with("What ") && !line.ends_with('?')
        });
        found.extend(lines.map(|line| format!("{}: {line}", path.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn error_types_end_in_error() {
    let mut found = Vec::new();
    for source in all_files() {
        let mut is_error = false;
        for line in source.code.lines() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            is_error |= line.contains("derive(") && line.contains("thiserror::Error");
            let implemented = (line.starts_with("impl") && line.contains("Error for "))
                .then(|| words.iter().position(|w| *w == "for"));
            let declared =
                words.iter().position(|word| is_error && ["enum", "struct"].contains(word));
            is_error &= declared.is_none();
            let name = implemented.flatten().or(declared).and_then(|at| words.get(at + 1));
            if let Some(name) = name.filter(|name| !name.ends_with("Error")) {
                found.push(format!("{}: {name}", source.path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
