//! Benchmarks made by hand.

use std::collections::BTreeMap;

use kgen_measure::{
    Comparison, Flag, Mode, TimeVerdict, Timing,
    roofline::{Limit, Roofline},
};

use kgen_bench::{Axis, Bench, Cell, CellTiming, Energy, FORMAT, Memory, Outcome, Usage};

/// Text that would become a part of a page, a CSV line or a terminal's screen.
pub(crate) const HOSTILE: &str = "</script></style><script>window.hit=1</script><img src=x onerror=\"window.hit=1\">, \
                                  'quoted'\r\nnext\tline \u{1b}[31m \u{202e}";

/// A benchmark without cells.
pub(crate) fn empty(axes: &[(&str, &[i64])], implementations: &[&str]) -> Bench {
    let axis = |(name, values): &(&str, &[i64])| Axis {
        name: (*name).to_owned(),
        values: values.to_vec(),
    };
    Bench {
        format: FORMAT,
        id: "bench_20261127_101500".to_owned(),
        created: "2026-11-27T10:15:00Z".to_owned(),
        fingerprint: None,
        device: "NVIDIA H100 80GB HBM3".to_owned(),
        axes: axes.iter().map(axis).collect(),
        implementations: implementations.iter().map(|&name| name.to_owned()).collect(),
        cells: Vec::new(),
    }
}

/// A time about `us` with 40 samples; of a half of `us` operations per byte.
pub(crate) fn timing(us: f64, bytes: f64, speedup: Option<f64>) -> CellTiming {
    let samples = (0..40).map(|at| us * (1.0 + 0.001 * f64::from((at * 7) % 11 - 5))).collect();
    let verdict = |ratio: f64| TimeVerdict::of([ratio * 0.995, ratio * 1.005], 1e-6);
    let comparison = |ratio: f64| Comparison {
        speedup: ratio,
        ci: [ratio * 0.995, ratio * 1.005],
        p: 1e-6,
        verdict: verdict(ratio),
        n_blocks: 48,
    };
    let floor_us = bytes / 3e6 + 2.0;
    CellTiming {
        time: Timing::of(samples).unwrap(),
        mode: Mode::Cold,
        comparison: speedup.map(comparison),
        bytes,
        flops: 2.5 * bytes,
        roofline: Some(Roofline { floor_us, limit: Limit::Memory, impossible_us: None }),
        usage: Usage::default(),
        overhead_dominated: false,
        flags: Vec::new(),
    }
}

pub(crate) fn cell(
    (op, dtype): (&str, &str),
    axes: &[(&str, i64)],
    implementation: &str,
    outcome: Outcome,
) -> Cell {
    let axes: BTreeMap<String, i64> =
        axes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let place: Vec<String> = axes.iter().map(|(name, value)| format!("{name}{value}")).collect();
    let extents: Vec<String> = axes.values().map(i64::to_string).collect();
    Cell {
        op: op.to_owned(),
        dtype: dtype.to_owned(),
        case: place.join("_"),
        args: format!("input={dtype}[{}]", extents.join(", ")),
        axes,
        call: None,
        implementation: implementation.to_owned(),
        outcome,
        timing: None,
        note: None,
    }
}

/// A grid of three axes, two ops and two types by four implementations; every outcome is there, and a
/// time that is missing.
pub(crate) fn grid() -> Bench {
    grid_of(&[16], &[256, 512, 1024], &[768, 4096])
}

/// The same over other values of `b`, `s` and `d`.
pub(crate) fn grid_of(batches: &[i64], lengths: &[i64], widths: &[i64]) -> Bench {
    let names = ["aten", "torch_compile", "builtin", "jax"];
    let mut bench = empty(&[("b", batches), ("s", lengths), ("d", widths)], &names);
    for op in ["layer_norm", "gelu"] {
        for dtype in ["f32", "bf16"] {
            for (b, s, d) in places(batches, lengths, widths) {
                for name in names {
                    bench.cells.push(finished((op, dtype), [("b", b), ("s", s), ("d", d)], name));
                }
            }
        }
    }
    bench
}

fn places(batches: &[i64], lengths: &[i64], widths: &[i64]) -> Vec<(i64, i64, i64)> {
    let mut places = Vec::new();
    for b in batches {
        for s in lengths {
            places.extend(widths.iter().map(|d| (*b, *s, *d)));
        }
    }
    places
}

/// A cell of the grid: `torch_compile` is faster, `builtin` wrong in one case and untimed in another,
/// `jax` not offered for bf16 and not run where it is large.
fn finished(of: (&str, &str), axes: [(&str, i64); 3], name: &str) -> Cell {
    let elements: i64 = axes.iter().map(|(_, value)| value).product();
    let bytes = 2.0 * elements as f64 * if of.1 == "bf16" { 2.0 } else { 4.0 };
    let aten_us = bytes / 2e6 + 4.0;
    let (_, s) = axes[1];
    let (_, d) = axes[2];
    let mut cell = cell(of, &axes, name, Outcome::Passed);
    let at = |factor: f64| timing(aten_us / factor, bytes, Some(factor));
    let found = match name {
        "aten" => timing(aten_us, bytes, None),
        "torch_compile" => at(1.0 + d as f64 / 10_000.0),
        "builtin" if s == 512 && of.0 == "layer_norm" && of.1 == "f32" => {
            let finding = "output 0 differs at [0, 3]: 1.5 for 1.25".to_owned();
            cell.outcome = Outcome::Failed { verdict: "wrong_output".to_owned(), finding };
            return cell;
        }
        "builtin" if s == 1024 && d == 768 => {
            cell.note = Some("the GPU was in use by another process".to_owned());
            return cell;
        }
        "builtin" => at(0.9 + s as f64 / 5_000.0),
        _ if of.1 == "bf16" => {
            let reason = "no bfloat16 on this device".to_owned();
            cell.outcome = Outcome::NotOffered { reason };
            return cell;
        }
        _ if s == 1024 => {
            let reason = "--max-time 6m was reached".to_owned();
            cell.outcome = Outcome::NotRun { reason };
            return cell;
        }
        _ => at(1.0),
    };
    cell.timing = Some(Box::new(found));
    if let Some(timing) = &mut cell.timing {
        complete(timing, s, d);
    }
    cell
}

fn complete(timing: &mut CellTiming, s: i64, d: i64) {
    timing.overhead_dominated = s == 256 && d == 768;
    timing.usage.memory = Some(Memory { peak: 64_500_000, workspace: 1_000_000 });
    timing.usage.energy =
        Some(Energy { per_call_mj: 12.5, power_w: 350.0, n_calls: 1000, seconds: 2.0 });
    timing.usage.sm_mhz = Some(1_755.0);
    timing.flags = if s == 1024 { vec![Flag::ClockDrift, Flag::Shared] } else { Vec::new() };
}

/// Cases of a suite that has no grid.
pub(crate) fn suite() -> Bench {
    let mut bench = empty(&[], &["builtin", "run:run_20261124_083000_best_of_sixteen"]);
    for (at, op) in ["aten.add.Tensor", "aten.addmm.default", "copy"].into_iter().enumerate() {
        for nth in 0..3 {
            let bytes = 1e6 * 10f64.powi(nth);
            for (position, name) in bench.implementations.clone().iter().enumerate() {
                let mut cell = cell((op, "f16"), &[], name, Outcome::Passed);
                cell.case = format!("case_{nth}");
                cell.args = format!("self=f16[{}], other=f16[1, 4096]", 4096 * (nth + 1));
                let speedup = (position == 1).then_some(0.6 + 0.4 * at as f64);
                let us = (bytes / 2.5e6 + 3.0) / speedup.unwrap_or(1.0);
                let mut timing = timing(us, bytes, speedup);
                if op == "copy" {
                    timing.flops = 0.0;
                    timing.roofline = None;
                }
                cell.timing = Some(Box::new(timing));
                bench.cells.push(cell);
            }
        }
    }
    bench
}

/// A grid all of whose texts are hostile.
pub(crate) fn hostile() -> Bench {
    let mut bench = grid();
    let poison = |text: &mut String| text.push_str(HOSTILE);
    poison(&mut bench.id);
    poison(&mut bench.created);
    poison(&mut bench.device);
    bench.implementations.iter_mut().for_each(poison);
    bench.axes.iter_mut().for_each(|axis| poison(&mut axis.name));
    for cell in &mut bench.cells {
        for text in [
            &mut cell.op,
            &mut cell.dtype,
            &mut cell.case,
            &mut cell.args,
            &mut cell.implementation,
        ] {
            poison(text);
        }
        cell.note.iter_mut().for_each(poison);
        match &mut cell.outcome {
            Outcome::Passed => {}
            Outcome::Failed { verdict, finding } => {
                poison(verdict);
                poison(finding);
            }
            Outcome::NotOffered { reason } | Outcome::NotRun { reason } => poison(reason),
        }
        cell.axes = cell.axes.iter().map(|(name, v)| (name.clone() + HOSTILE, *v)).collect();
    }
    bench
}
