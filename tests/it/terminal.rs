//! Commands on a terminal of 80 columns: no line is wider, colours show verdicts, `--wide` shows all.

use std::{
    fmt::Write as _,
    fs::File,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use nix::pty::{Winsize, openpty};

/// Runs the binary with both of its streams on a terminal of so many columns; returns what it shows and
/// its exit code.
#[expect(clippy::disallowed_methods, reason = "assert_cmd has no terminals")]
fn on_terminal(
    folder: &Path,
    args: &[&str],
    columns: u16,
    variables: &[(&str, &str)],
) -> (String, i32) {
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgen"));
    command.current_dir(folder).args(args).env_clear().env("HOME", folder).env("TERM", "xterm");
    command.env("PATH", "/usr/bin:/bin").envs(variables.iter().copied()).stdin(Stdio::null());
    command.stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut master = File::from(terminal.master);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        // The end of a terminal is an error.
        while let Ok(n @ 1..) = master.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..n]);
        }
        String::from_utf8_lossy(&bytes).replace('\r', "")
    });
    let code = child.wait().unwrap().code().unwrap();
    (reader.join().unwrap(), code)
}

const PLANNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels/demo-planner");
const OUTPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels");

/// Commands that need no compiler.
const COMMANDS: [&[&str]; 7] = [
    &["list", "ops"],
    &["list", "suites"],
    &["list", "runs", "--output-dir", OUTPUT],
    &["list", "devices"],
    &["report", PLANNER],
    &["show", "softmax"],
    &["report", "no-such-run"],
];

#[test]
fn no_row_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        for columns in [60, 80, 120] {
            let (text, _) = on_terminal(folder.path(), command, columns, &[]);
            let text = console::strip_ansi_codes(&text);
            // A prompt is shown as it is sent.
            let lines = text.lines().take_while(|line| !line.starts_with("## System prompt"));
            for line in lines {
                let width = console::measure_text_width(line);
                assert!(width <= usize::from(columns), "{command:?}: {line}");
            }
            assert!(text.lines().count() > 0, "{command:?}");
        }
    }
}

#[test]
fn lists_are_as_they_were_agreed_at_80_and_120_columns() {
    let folder = tempfile::tempdir().unwrap();
    for columns in [80, 120] {
        let mut screens = String::new();
        for command in &COMMANDS[..2] {
            let (text, _) = on_terminal(folder.path(), command, columns, &[]);
            let lines: Vec<&str> = text.lines().take(12).collect();
            let last = text.lines().last().unwrap();
            let (command, lines) = (command.join(" "), lines.join("\n"));
            writeln!(screens, "$ kgen {command}\n{lines}\n...\n{last}\n").unwrap();
        }
        insta::assert_snapshot!(format!("lists_{columns}"), screens);
    }
}

#[test]
fn a_terminal_is_as_wide_as_it_says_unless_columns_or_wide_say_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let widest = |args: &[&str], variables: &[(&str, &str)]| {
        let (text, _) = on_terminal(folder.path(), args, 80, variables);
        text.lines().map(console::measure_text_width).max().unwrap()
    };
    assert!((70..=80).contains(&widest(&["list", "ops"], &[])));
    assert!((90..=100).contains(&widest(&["list", "ops"], &[("COLUMNS", "100")])));
    assert!(widest(&["list", "ops", "--wide"], &[]) > 200);
    let piped = assert_cmd::Command::new(env!("CARGO_BIN_EXE_kgen"))
        .args(["list", "ops"])
        .env("COLUMNS", "80")
        .assert()
        .success();
    let piped = String::from_utf8(piped.get_output().stdout.clone()).unwrap();
    assert!(piped.lines().map(str::len).max().unwrap() > 200);
}

#[test]
fn colours_are_on_terminals_alone_and_can_be_turned_off() {
    let folder = tempfile::tempdir().unwrap();
    let has_color = |args: &[&str], variables: &[(&str, &str)]| {
        on_terminal(folder.path(), args, 80, variables).0.contains("\u{1b}[3")
    };
    let report = &["report", PLANNER][..];
    assert!(has_color(report, &[]));
    assert!(has_color(&["report", "no-such-run"], &[]), "an error has one too");
    for off in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert!(!has_color(report, &[off]), "{off:?}");
    }
    let piped =
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_kgen")).args(report).assert().success();
    assert!(!String::from_utf8_lossy(&piped.get_output().stdout).contains('\u{1b}'));
}
