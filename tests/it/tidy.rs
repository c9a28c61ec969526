//! The shape of the project as a test: who knows whom, who prints, who spawns, who writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Modules in the order of their layers, each with what it may know besides itself. Operators,
/// references and suites are a crate of their own below all of them.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("settings", &["record"]),
    ("process", &["record"]),
    ("kernel", &["record"]),
    ("compile", &["record", "settings", "process", "kernel"]),
    ("device", &["record", "settings", "process", "kernel", "compile"]),
    ("baseline", &["record", "settings", "process", "kernel", "compile", "device"]),
    ("eval", &["record", "settings", "process", "kernel", "compile", "device", "baseline"]),
    (
        "profile",
        &["record", "settings", "process", "kernel", "compile", "device", "baseline", "eval"],
    ),
    (
        "worker",
        &[
            "record", "settings", "process", "kernel", "compile", "device", "baseline", "eval",
            "profile",
        ],
    ),
    ("export", &["record", "kernel", "compile"]),
    ("selftest", &["record", "settings", "process", "kernel", "compile", "device", "baseline"]),
    ("llm", &["record", "kernel", "process", "settings"]),
    ("prompt", &["record", "kernel", "settings", "llm"]),
    ("store", &["record", "process", "kernel", "llm"]),
    (
        "agent",
        &[
            "record", "settings", "process", "kernel", "compile", "device", "baseline", "eval",
            "worker", "llm", "prompt", "store",
        ],
    ),
    ("report", &["record", "settings", "kernel", "eval", "llm", "prompt", "store", "agent"]),
    (
        "cli",
        &[
            "record", "settings", "process", "kernel", "compile", "device", "baseline", "eval",
            "worker", "llm", "prompt", "store", "agent", "report", "selftest", "profile", "export",
        ],
    ),
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

/// The top-level module of a file in `src`.
fn module_of(source: &SourceFile) -> String {
    let relative = source.path.strip_prefix(root().join("src")).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Names that follow `crate::`, groups in braces included.
fn crate_names(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let items: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => top_level_items(group),
            None => vec![rest],
        };
        for item in items {
            let name: String =
                item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(name);
        }
    }
    names
}

fn top_level_items(group: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut start = 0;
    let mut items = Vec::new();
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

#[test]
fn modules_know_only_the_layers_below_them() {
    let may_know: BTreeMap<&str, &[&str]> = MAY_KNOW.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in rust_files(&root().join("src")) {
        let module = module_of(&source);
        if module == "lib" || module == "main" {
            continue;
        }
        let allowed =
            may_know.get(module.as_str()).expect("every module has its place in MAY_KNOW");
        for name in crate_names(&source.code) {
            let is_module = may_know.contains_key(name.as_str());
            if is_module && name != module && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{} uses crate::{name}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Finds the files outside `homes` (folders or files under `src`) that hold one of `needles`.
fn strangers(homes: &[&str], needles: &[&str]) -> Vec<String> {
    let src = root().join("src");
    let mut found = Vec::new();
    for source in rust_files(&src) {
        let relative = source.path.strip_prefix(&src).unwrap();
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
fn only_cli_prints() {
    let prints = ["println!", "eprintln!", "print!(", "eprint!(", "io::stdout()", "io::stderr()"];
    // A worker's stdout is its protocol, which it moves away before a kernel can print.
    let found = strangers(&["cli", "worker/child"], &prints);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_process_spawns() {
    let found = strangers(&["process"], &["Command::new", "fork(", "posix_spawn"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_compile_device_and_baseline_touch_cudarc() {
    let found = strangers(&["compile", "device", "baseline"], &["cudarc"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_settings_env_reads_the_environment() {
    // `process` hands variables on to children without reading a meaning into them.
    let homes = ["settings/env.rs", "process/environment.rs"];
    let found = strangers(&homes, &["env::var", "env::vars"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_store_writes_into_a_run() {
    // `compile` writes its cache, `worker` and `profile` their scratch folders, `device` its locks, and
    // four commands their results, none of them in a run.
    let writes = ["fs::write", "File::create", "OpenOptions", "fs::rename", "fs::create_dir"];
    let results = ["selftest.rs", "profile.rs", "export.rs", "compare.rs"];
    let results = results.map(|file| format!("cli/commands/{file}"));
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let scratch = ["store", "compile", "profile", "worker", "process", "device/lock.rs"];
    let homes = [&scratch[..], &results].concat();
    let found = strangers(&homes, &writes);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_emulator_and_the_other_packages_know_nothing_of_kgen() {
    for package in ["ptx-emu", "ops", "measure", "profile", "compare"] {
        let folder = root().join("crates").join(package);
        for source in rust_files(&folder) {
            assert!(!source.code.contains("kgen::"), "{}", source.path.display());
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let needed = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let needed = needed.split("[dependencies]").nth(1).unwrap_or_default();
        // A comparison is statistics, and those are where times are measured.
        let needed = needed.replace("kgen-measure = { path", "");
        assert!(!needed.contains("path ="), "{package} depends on no package of the workspace");
    }
}

#[test]
fn files_stay_small_and_say_what_they_are_for() {
    let mut wrong = Vec::new();
    for folder in [
        "src",
        "crates/ptx-emu/src",
        "crates/emu-corpus/src",
        "crates/ops/src",
        "crates/measure/src",
        "crates/profile/src",
        "crates/compare/src",
        "tests",
    ] {
        for source in rust_files(&root().join(folder)) {
            let name = source.path.display();
            let n_lines = source.text.lines().count();
            if n_lines > 800 {
                wrong.push(format!("{name} has {n_lines} lines; split it"));
            }
            let is_test = source.code.is_empty();
            if !is_test && !source.text.starts_with("//!") {
                wrong.push(format!("{name} does not begin with `//!`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn architecture_names_every_module() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (module, _) in MAY_KNOW {
        assert!(text.contains(&format!("src/{module}")), "ARCHITECTURE.md lacks src/{module}");
    }
}

#[test]
fn every_dependency_says_what_it_buys() {
    for manifest in [
        "Cargo.toml",
        "crates/ptx-emu/Cargo.toml",
        "crates/emu-corpus/Cargo.toml",
        "crates/ops/Cargo.toml",
        "crates/measure/Cargo.toml",
        "crates/profile/Cargo.toml",
        "crates/compare/Cargo.toml",
    ] {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        let page = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut in_dependencies = false;
        let mut explained = false;
        for line in lines {
            if line.starts_with('[') {
                in_dependencies = line.contains("dependencies]");
            } else if line.trim().is_empty() {
                explained = false;
            } else if line.starts_with('#') {
                explained = true;
            } else if in_dependencies && line.contains('=') {
                assert!(explained, "{manifest}: `{line}` has no comment above it");
                let name = line.split('=').next().unwrap_or_default().trim();
                let name = name.trim_end_matches(".workspace");
                assert!(page.contains(&format!("`{name}`")), "docs/dependencies.md lacks {name}");
            }
        }
    }
}
