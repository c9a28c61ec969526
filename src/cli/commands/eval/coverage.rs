//! Coverage of a right kernel by its cases on the emulator.

use kgen_record::Coverage;

use super::line;

/// Lists the parts of a right kernel that no case reached: the verdict does not name them.
pub(super) fn text(coverage: &Coverage) -> String {
    let mut out = String::new();
    let Coverage { lines, executed, further, gaps } = coverage;
    if 0 < *further {
        let cases = if *further == 1 { "case was" } else { "cases were" };
        line(&mut out, &format!("{further} further {cases} drawn to reach more of the kernel"));
    }
    if gaps.is_empty() {
        return out;
    }
    line(
        &mut out,
        &format!("{executed} of {lines} lines ran on the emulator; no case there shows:"),
    );
    for gap in gaps {
        line(&mut out, &format!("  {gap}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use kgen_record::{Coverage, DType, Gap, GapKind};

    #[test]
    fn a_line_that_ran_in_one_type_alone_has_run() {
        let gap = |line, kind, dtypes: &[DType], text: &str| Gap {
            line,
            text: text.to_owned(),
            kind,
            dtypes: dtypes.to_vec(),
            grids: None,
        };
        let gaps = vec![
            gap(3, GapKind::LaunchNeverRan, &[], "launch(\"big\", grid=n)"),
            gap(8, GapKind::LineNeverExecuted, &[DType::F16, DType::I32], "y[i] = 0;"),
            gap(9, GapKind::LineNeverExecuted, &[], "__trap();"),
            gap(11, GapKind::LoopNeverRepeated, &[], "while (k < n) {"),
            gap(12, GapKind::BranchOneWay, &[], "if (i < n) {"),
        ];
        let text = super::text(&Coverage { lines: 84, executed: 83, further: 12, gaps });
        assert_eq!(
            text,
            "12 further cases were drawn to reach more of the kernel\n\
             83 of 84 lines ran on the emulator; no case there shows:\n  \
             line 3: this launch never ran: launch(\"big\", grid=n)\n  \
             line 8: never ran in f16, i32, as it did in other types: y[i] = 0;\n  \
             line 9: never ran: __trap();\n  \
             line 11: a loop whose body never ran twice: while (k < n) {\n  \
             line 12: its condition always came out the same way: if (i < n) {\n"
        );
    }
}
