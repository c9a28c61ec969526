//! `config.toml`, the flags of the commands and the documentation agree.

use std::{collections::BTreeSet, process::Output};

use assert_cmd::Command;
use kgen_settings::{DEFAULTS, env, keys::KEYS};

fn help(command: &str) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_kgen")).args([command, "--help"]).output();
    let Output { stdout, .. } = run.unwrap();
    String::from_utf8(stdout).unwrap()
}

/// The long flags in a help text.
fn flags(help: &str) -> BTreeSet<String> {
    let words = help.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | ';' | '.'));
    words.filter_map(|word| word.strip_prefix("--")).map(str::to_owned).collect()
}

#[test]
fn every_setting_with_a_flag_has_it_on_a_command_and_no_other() {
    let all: BTreeSet<_> = ["generate", "resume", "run", "eval", "list", "report", "show"]
        .iter()
        .flat_map(|command| flags(&help(command)))
        .collect();
    for key in KEYS {
        if let Some(flag) = key.flag {
            assert!(all.contains(flag), "--{flag} of {} is on no command", key.path);
        }
    }
    // Flags that are no settings: names of things, formats, parts to show, and flags of clap.
    let plain = ["backend", "op", "run-id", "format", "config", "verbose", "quiet", "wide", "help"];
    let shown = ["prompt", "turn", "output", "open"];
    let known: BTreeSet<_> =
        KEYS.iter().filter_map(|key| key.flag).chain(plain).chain(shown).collect();
    let unknown: Vec<_> = all
        .iter()
        .filter(|flag| !known.contains(flag.as_str()))
        .filter(|flag| !["llm-max-attempts", "dtype"].contains(&flag.as_str()))
        .collect();
    assert!(unknown.is_empty(), "flags without a setting: {unknown:?}");
}

#[test]
fn the_loop_takes_backendbenchs_flags() {
    let run = flags(&help("run"));
    for flag in ["suite", "ops", "backend", "max-attempts", "run-id", "kernels-dir", "llm-model"] {
        assert!(run.contains(flag), "--{flag}");
    }
    assert!(run.contains("llm-max-attempts"));
}

#[test]
fn every_variable_is_documented() {
    for var in env::ALL {
        assert!(!var.doc.trim().is_empty(), "{}", var.name);
    }
    for key in KEYS {
        assert!(key.env.starts_with("KGEN_"), "{}", key.env);
    }
    for named in ["--config", "XDG_CONFIG_HOME", "KGEN_NVRTC", "KGEN_OFFLINE", "KGEN_CACHE_DIR"] {
        assert!(DEFAULTS.contains(named), "{named}");
    }
}
