//! A run on terminals of 80 and 120 columns, and on narrower ones.

use super::*;

const fn screen(width: usize) -> Screen {
    Screen { width: Some(width), color: false }
}

fn op(name: &str, speedups: [f64; 3], trail: &[Option<f64>]) -> OpSummary {
    let names = ["aten", "torch_compile", "builtin"];
    let speedup = |(name, geomean): (&str, f64)| Speedup {
        interval: Some([geomean * 0.99, geomean * 1.01]),
        ..Speedup::new(name, geomean, 3)
    };
    OpSummary {
        verdict: Some(Verdict::Passed),
        level: Some(Level::EmuCuda),
        attempts: trail.len(),
        best_attempt: Some(1),
        counts: Counts { cases: 54, passed: 48, skipped: 6, too_large: 6, ..Counts::default() },
        speedups: names.into_iter().zip(speedups).map(speedup).collect(),
        percent_of_floor: Some(65.4),
        best_file: Some(format!("{name}/{name}_attempt_1.cu")),
        calls: 3,
        spend: Spend { calls: 3, usd: 0.0421, input_tokens: 9, ..Spend::default() },
        attempt_speedups: trail.to_vec(),
        ..summary::unstarted(name)
    }
}

/// A run that was timed against three baselines, was paid for, and did not come to all of its ops.
fn timed(summary: &Summary) -> Summary {
    let ops = vec![
        op("softmax", [1.506, 2.39, 0.92], &[Some(0.59), Some(1.16), Some(1.506)]),
        op("layer_norm", [1.359, 1.42, 1.03], &[Some(1.14), Some(1.359), Some(1.29)]),
        op("mm", [0.2812, 0.31, 123.456], &[None, Some(0.11), Some(0.2812)]),
        OpSummary {
            verdict: Some(Verdict::WrongOutput),
            level: Some(Level::Emu),
            attempts: 2,
            counts: Counts { cases: 9, passed: 3, failed: 4, skipped: 2, ..Counts::default() },
            ..summary::unstarted("_native_batch_norm_legit_no_training")
        },
        summary::unstarted("gelu"),
        summary::unstarted("rms_norm"),
    ];
    Summary {
        n_passed: 3,
        correct: scores::correct(&ops),
        fast: scores::fast_shares(&ops),
        speedups: scores::mean_speedups(&ops),
        ops,
        ..summary.clone()
    }
}

fn screens(summary: &Summary, screen: Screen) -> String {
    let lines = result_lines(summary).into_iter().map(|line| screen.wrap(&line));
    let lines: Vec<String> = std::iter::once(tables(summary, screen)).chain(lines).collect();
    lines.join("\n")
}

#[test]
fn a_run_at_80_and_120_columns() {
    with_run(|store| {
        let plain = summarise(store.run()).unwrap();
        let timed = timed(&plain);
        for width in [80, 120] {
            insta::assert_snapshot!(format!("screen_{width}"), screens(&plain, screen(width)));
            insta::assert_snapshot!(
                format!("screen_timed_{width}"),
                screens(&timed, screen(width))
            );
        }
        insta::assert_snapshot!("screen_timed_wide", screens(&timed, Screen::FILE));
    });
}

#[test]
fn no_line_is_wider_than_the_screen_and_no_op_is_lost() {
    with_run(|store| {
        let timed = timed(&summarise(store.run()).unwrap());
        for width in 40..200 {
            let text = screens(&timed, screen(width));
            for line in text.lines() {
                assert!(console::measure_text_width(line) <= width, "{width}: {line}");
            }
            for op in ["softmax", "layer_norm", "mm", "_native"] {
                assert!(text.lines().any(|line| line.starts_with(op)), "{width}: {op}\n{text}");
            }
            let spend = spend_table(&timed).unwrap().fit(screen(width));
            assert!(spend.lines().all(|line| line.chars().count() <= width), "{spend}");
        }
    });
}

#[test]
fn a_verdict_has_its_colour_where_there_are_colours() {
    with_run(|store| {
        let summary = summarise(store.run()).unwrap();
        let text = tables(&summary, Screen { width: Some(80), color: true });
        assert!(text.contains("\u{1b}[32mpassed on emu [replayed]\u{1b}[0m"), "{text:?}");
        assert!(text.contains("\u{1b}[31mwrong_output (emu)\u{1b}[0m"), "{text:?}");
        let plain = tables(&summary, screen(80));
        assert_eq!(console::strip_ansi_codes(&text), plain);
    });
}

#[test]
fn ops_that_were_not_worked_on_share_a_line() {
    with_run(|store| {
        let mut summary = summarise(store.run()).unwrap();
        summary.ops.extend((0..40).map(|n| summary::unstarted(&format!("op{n}"))));
        let text = tables(&summary, screen(80));
        let rows: Vec<&str> =
            text.lines().skip(1).take_while(|line| !line.starts_with('(')).collect();
        assert_eq!(rows.len(), 3, "{text}");
        let line = text.lines().find(|line| line.starts_with("41 ops without")).unwrap();
        assert!(line.starts_with("41 ops without a finished attempt: sum, op0, op1"), "{line}");
        assert!(line.ends_with('…') && line.chars().count() == 80, "{line}");
        summary.ops.retain(|op| op.verdict.is_none());
        summary.fast.clear();
        assert!(tables(&summary, Screen::FILE).ends_with("op38, op39"));
    });
}

#[test]
fn a_table_gives_up_columns_by_rank_and_says_which() {
    let mut table =
        TextTable::new(&["op", "verdict", "file"]).yielding(&[("file", 6), ("file", 0), ("op", 4)]);
    table.row(["softmax", "passed", "softmax/attempt.cu"].map(str::to_owned).to_vec());
    for (width, lines) in [
        (40, ["op       verdict  file", "softmax  passed   softmax/attempt.cu", ""]),
        (26, ["op       verdict  file", "softmax  passed   softmax…", ""]),
        (22, ["op       verdict", "softmax  passed", "(--wide also shows: f…"]),
        (14, ["op     verdict", "soft…  passed", "(--wide also …"]),
        (9, ["op    ve…", "sof…  pa…", "(--wide …"]),
    ] {
        let text = table.fit(screen(width));
        let expected: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{width}");
    }
}
