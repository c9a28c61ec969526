//! Help beyond the flags themselves: defaults of settings, examples, exit codes.
//!
//! `-h` has a line per flag that many use; `--help` has all flags with their defaults, and examples.

use clap::{Arg, Command};
use kgen_settings::{Overrides, keys::KEYS, resolve_with};
use serde_json::Value;

use super::exit_codes;

/// Flags that `-h` leaves to `--help`.
const RARE: [&str; 39] = [
    "baseline",
    "compat",
    "cutlass",
    "depth",
    "effort",
    "graph",
    "keep-going",
    "l2",
    "launch-wait",
    "launch-workers",
    "libraries",
    "llm-cache",
    "mailbox-wait",
    "max-bytes",
    "max-calls",
    "max-calls-per-op",
    "max-concurrent-ops",
    "max-cost-per-op",
    "max-time-per-op",
    "max-tokens-per-op",
    "max-total-tokens",
    "no-sandbox",
    "no-screen",
    "nvrtc",
    "offline",
    "op-file",
    "planner",
    "precision",
    "prompt-tokens",
    "prompts-dir",
    "python",
    "reuse-evals",
    "samples",
    "sanitize",
    "seed",
    "seeds",
    "target-speedup",
    "thinking",
    "width",
];

/// Examples for those who see kgen for the first time.
const FIRST: &[(&str, &str)] = &[
    ("kgen doctor", "what works on this machine, and how to get the rest"),
    ("kgen generate --ops relu,add", "kernels from a model, or from a recording without a key"),
    ("kgen report latest --open", "the result as a page"),
];

/// Examples of the main commands, each with its purpose.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "generate",
        &[
            ("kgen generate --ops relu,softmax", "two ops, with the model whose key is set"),
            (
                "kgen generate --ops 're*' --max-attempts 5 --max-cost 2",
                "all ops that a pattern matches",
            ),
            ("kgen generate --ops mm --strategy beam --width 3 --depth 4", "another search"),
            ("kgen generate --replay latest", "the replies of the latest run, judged anew"),
        ],
    ),
    (
        "resume",
        &[
            ("kgen resume latest", "go on with the latest run"),
            ("kgen resume RUN --max-cost 5", "with a higher cap"),
        ],
    ),
    (
        "run",
        &[
            ("kgen run --backend builtin", "kgen's own kernels on the default suite"),
            (
                "kgen run --backend pregenerated --kernels-dir latest",
                "the best kernels of a run, anew",
            ),
            ("kgen run --backend aten --ops softmax --device cuda:0", "PyTorch's own operators"),
        ],
    ),
    (
        "eval",
        &[
            ("kgen eval softmax.cu --op softmax", "on the best device there is"),
            (
                "kgen eval relu.cu --op relu --device emu --counters",
                "with the work of every launch",
            ),
        ],
    ),
    (
        "list",
        &[
            ("kgen list ops 're*'", "ops whose names match a pattern"),
            ("kgen list runs", "stored runs"),
        ],
    ),
    ("show", &[("kgen show softmax --prompt", "the prompt as it would be sent")]),
    (
        "report",
        &[
            ("kgen report latest", "the table of the latest run"),
            ("kgen report RUN --format html --output run.html", "a page with pictures"),
            ("kgen report RUN --open", "the page, opened in a browser"),
        ],
    ),
    (
        "compare",
        &[
            ("kgen compare RUN_A RUN_B", "two runs beside each other"),
            ("kgen compare EXPERIMENT --open", "all runs of an experiment, as a page"),
        ],
    ),
    (
        "experiment",
        &[
            ("kgen experiment study.toml --dry-run", "the runs that there would be"),
            ("kgen experiment study.toml --max-cost 20", "all of them, within a budget"),
        ],
    ),
    (
        "export",
        &[
            ("kgen export latest --op softmax --to torch", "softmax.py, to be imported"),
            (
                "kgen export latest --op softmax --to hf-kernel",
                "softmax, a folder for Hugging Face's kernels",
            ),
        ],
    ),
    (
        "profile",
        &[
            (
                "kgen profile softmax.cu --op softmax --out profile",
                "the bottleneck of a kernel, on a GPU",
            ),
            ("kgen profile -- python train.py", "any command, below nsys or perf"),
        ],
    ),
    (
        "import",
        &[(
            "kgen import kernelbench KernelBench --level 1",
            "op files of KernelBench's first level",
        )],
    ),
    ("doctor", &[("kgen doctor --offline", "without trying what would have to be downloaded")]),
    (
        "selftest",
        &[
            ("kgen selftest --judge --only softmax/", "wrong and right kernels of one op"),
            ("kgen selftest --timing", "the clock, on a GPU"),
        ],
    ),
    ("mcp", &[("kgen mcp --device emu", "as a command of an agent's configuration")]),
    (
        "serve",
        &[
            ("kgen serve --device emu", "on this machine alone, without a token"),
            ("kgen serve --listen 0.0.0.0:8311 --token-file token", "for others"),
        ],
    ),
    ("setup", &[("kgen setup", "NVRTC, before it is needed")]),
    (
        "completions",
        &[
            ("kgen completions bash > ~/.local/share/bash-completion/completions/kgen", "bash"),
            ("kgen completions zsh > ~/.zfunc/_kgen", "zsh, where ~/.zfunc is in fpath"),
            ("kgen completions fish > ~/.config/fish/completions/kgen.fish", "fish"),
        ],
    ),
    ("man", &[("kgen man ~/.local/share/man/man1", "then `man kgen-generate`")]),
];

/// Adds defaults, examples and exit codes to the help of the command line.
pub(crate) fn complete(command: Command) -> Command {
    let none = |_: &str| None;
    let defaults = resolve_with(None, &none, &Overrides::default())
        .map(|resolved| serde_json::to_value(resolved.settings).expect("settings are plain data"));
    let defaults = defaults.expect("a test resolves the embedded defaults");
    let first = format!("{}\n\n{}", listed(FIRST), exit_codes::help());
    command.after_long_help(first).mut_subcommands(|command| {
        let examples = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
        let command = command.mut_args(|arg| explained(arg, &defaults));
        match examples {
            Some((_, examples)) => command.after_long_help(listed(examples)),
            None => command,
        }
    })
}

/// Adds the default of a flag's setting, and hides it in `-h` where few use it.
fn explained(arg: Arg, defaults: &Value) -> Arg {
    let Some(name) = arg.get_long().map(str::to_owned) else { return arg };
    let arg = if RARE.contains(&name.as_str()) { arg.hide_short_help(true) } else { arg };
    let key = KEYS.iter().find(|key| key.flag == Some(name.as_str()));
    let default =
        key.and_then(|key| words(defaults.pointer(&format!("/{}", key.path.replace('.', "/")))?));
    match (default, arg.get_help()) {
        (Some(default), Some(help)) => {
            let help = format!("{help} [default: {default}]");
            arg.long_help(help)
        }
        _ => arg,
    }
}

/// A default as it would be given on the command line; `None` where there is none to be named.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
        Value::Array(items) => {
            let words: Vec<String> = items.iter().filter_map(words).collect();
            (!words.is_empty()).then(|| words.join(","))
        }
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        // The `.0` of a whole number says nothing.
        Value::Number(number) => Some(number.to_string().trim_end_matches(".0").to_owned()),
    }
}

fn listed(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(line, purpose)| format!("  {line}\n      {purpose}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn examples_are_of_commands_that_exist_and_can_be_parsed() {
        let command = complete(Cli::command());
        command.clone().debug_assert();
        for (name, examples) in EXAMPLES {
            for (line, _) in *examples {
                let words = line.split(" > ").next().unwrap().split(' ');
                let words = words.map(|word| word.trim_matches('\''));
                let parsed = command.clone().try_get_matches_from(words);
                let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(parsed.subcommand_name(), Some(*name), "{line}");
            }
        }
    }

    #[test]
    fn rare_flags_exist() {
        let command = Cli::command();
        let flags: Vec<&str> = command
            .get_subcommands()
            .flat_map(Command::get_arguments)
            .filter_map(Arg::get_long)
            .collect();
        for name in RARE {
            assert!(flags.contains(&name), "--{name}");
        }
    }
}
