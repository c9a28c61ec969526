//! Mistakes that are found before there is a run.

use crate::bench::Bench;

/// Arguments behind `generate`, and a word of the message.
const MISTAKES: &[(&[&str], &str)] = &[
    (&["--topn", "0"], "at least 1"),
    (&["--max-attempts", "0"], "at least 1"),
    (&["--prompt-tokens", "1"], "--prompt-tokens"),
    (&["--max-wait", "-1"], "above 0"),
    (&["--max-wait", "soon"], "max-wait"),
    (&["--base-url", "not a url"], "not a url"),
    (&["--base-url", "ftp://127.0.0.1/v1"], "http"),
    (&["--base-url", "http://"], "base URL"),
    (&["--base-url", "127.0.0.1:80"], "base URL"),
    (&["--base-url", "http://127.0.0.1:99999"], "base URL"),
    (&["--base-url", "file:///etc/passwd"], "http"),
    (&["--ops", "twise"], "twise"),
    (&["--ops", "q*"], "q*"),
    (&["--ops", ""], "op"),
    (&["--dtypes", "f31"], "f31"),
    (&["--suite", "three.toml"], "three.toml"),
    (&["--provider", "opnai"], "openai"),
    (&["--device", "cuda:x"], "cuda:x"),
    (&["--effort", "much"], "much"),
    (&["--strategy", "guess"], "guess"),
    (&["--run-id", "../r"], "../r"),
    (&["--seed", "-1"], "-1"),
];

/// Architectures that NVRTC does not know.
const ARCHS: &[&str] =
    &["sm", "sm_", "sm_1", "sm_999", "SM_90", "sm_90 ", "gfx90a", "compute_90", "../sm_90"];

#[test]
fn a_mistake_makes_no_run() {
    let arguments = MISTAKES.iter().map(|(args, word)| (args.to_vec(), "sm_90a", *word));
    let archs = ARCHS.iter().map(|arch| (Vec::new(), *arch, "sm_90a"));
    for (args, arch, word) in arguments.chain(archs) {
        let bench = Bench::new().env("KGEN_DEVICE_EMU_ARCH", arch);
        let mut command = vec!["generate", "--llm-model", "m"];
        for (flag, value) in [
            ("--provider", "vllm"),
            ("--suite", "two.toml"),
            ("--base-url", "http://127.0.0.1:9/v1"),
        ] {
            if !args.contains(&flag) {
                command.extend([flag, value]);
            }
        }
        command.extend(&args);
        let ended = bench.kgen(&command);
        let said = ended.said();
        assert!(matches!(ended.code, Some(2 | 3)), "{args:?} {arch}: {:?} {said}", ended.code);
        assert!(ended.err.contains(word) && ended.err.len() < 5_000, "{args:?} {arch}: {said}");
        assert!(!bench.path().join("generated_kernels").exists(), "{args:?} {arch}: {said}");
    }
}

#[test]
fn a_large_file_with_a_mistake_has_a_short_message() {
    let long = "x".repeat(10_000_000);
    for text in [
        format!("[run]\nmax_attempts = \"{long}\"\n"),
        format!("[run]\n{long} = 1\n"),
        format!("[run]\nmax_attempts = {long}\n"),
        format!("[{long}]\na = 1\n"),
    ] {
        let bench = Bench::new();
        std::fs::write(bench.path().join("config.toml"), text).unwrap();
        let ended = bench.kgen(&["list", "runs"]);
        assert_eq!(ended.code, Some(3));
        assert!(ended.said().len() < 20_000, "{} bytes of message", ended.said().len());
    }
}
