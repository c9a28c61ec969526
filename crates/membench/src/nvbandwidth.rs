//! NVIDIA's own benchmark, where it is installed: its JSON as rows.

use std::{path::Path, time::Duration};

use kgen_process::{DEVICE_ENV, Scratch, Spec};
use serde::Deserialize;

use crate::{LeftOut, Row, run::Measured};

/// Bytes of its buffers, in MiB, and its repetitions.
const MIB: u64 = 256;
const N_SAMPLES: usize = 3;

/// Time that it has.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug, Deserialize)]
struct Output {
    nvbandwidth: Whole,
}

#[derive(Debug, Deserialize)]
struct Whole {
    #[serde(default)]
    testcases: Vec<TestCase>,
    error: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct TestCase {
    name: String,
    #[serde(default)]
    status: String,
    error: Option<String>,
    /// Says in which unit the numbers are.
    #[serde(default)]
    bandwidth_description: String,
    /// A row per source, a number or `N/A` per target.
    #[serde(default)]
    bandwidth_matrix: Vec<Vec<String>>,
}

/// Runs `nvbandwidth` and returns its numbers as rows, the place in its matrix as their parameter.
///
/// # Errors
///
/// In one line, where it cannot be run or prints something else.
pub fn nvbandwidth(program: &Path) -> Result<Measured, String> {
    let scratch = Scratch::new("nvbandwidth", None).map_err(|error| error.to_string())?;
    let [mib, n_samples] = [MIB.to_string(), N_SAMPLES.to_string()];
    let spec = Spec::new(program, scratch.path())
        .args(["-j", "-b", &mib, "-i", &n_samples])
        .inherit(DEVICE_ENV)
        .env("LC_ALL", "C")
        .deadline(LIMIT);
    let output = kgen_process::run(&spec).map_err(|error| error.to_string())?;
    read(&String::from_utf8_lossy(&output.stdout)).map_err(|reason| {
        let said = output.stderr_text();
        let last = said.lines().next_back().unwrap_or_default();
        let reason = format!("{}, {reason}: {last}", output.status);
        reason.trim_end_matches(": ").to_owned()
    })
}

fn read(text: &str) -> Result<Measured, String> {
    let start = text.find('{').ok_or("no JSON came")?;
    let output: Output = serde_json::from_str(&text[start..])
        .map_err(|error| format!("its JSON cannot be read: {error}"))?;
    let whole = output.nvbandwidth;
    if let (Some(error), true) = (&whole.error, whole.testcases.is_empty()) {
        return Err(error.to_string());
    }
    let mut measured = Measured::default();
    for case in &whole.testcases {
        let rows = rows(case);
        if rows.is_empty() {
            measured.left_out.push(LeftOut {
                test: name(case),
                parameter: None,
                bytes: None,
                reason: case.error.clone().unwrap_or_else(|| case.status.to_lowercase()),
            });
        }
        measured.rows.extend(rows);
    }
    Ok(measured)
}

fn name(case: &TestCase) -> String {
    format!("nvbandwidth:{}", case.name)
}

fn rows(case: &TestCase) -> Vec<Row> {
    let is_latency = case.bandwidth_description.contains("(ns)");
    let mut rows = Vec::new();
    for (from, line) in case.bandwidth_matrix.iter().enumerate() {
        for (to, cell) in line.iter().enumerate() {
            // A GPU beside itself has `N/A` or 0.
            let Some(value) = cell.parse().ok().filter(|value: &f64| 0.0 < *value) else {
                continue;
            };
            rows.push(Row {
                test: name(case),
                parameter: Some(format!("{from},{to}")),
                bytes: (!is_latency).then_some(MIB << 20),
                time_us: is_latency.then_some(value / 1e3),
                q1_us: None,
                q3_us: None,
                gbps: (!is_latency).then_some(value),
                n_samples: Some(N_SAMPLES),
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use kgen_process::testing::program;

    use super::*;

    const OUTPUT: &str = r#"{
        "nvbandwidth": {
            "CUDA Runtime Version": 12080,
            "GPU Device list": ["0: NVIDIA H200 (00000000:5d:00)"],
            "testcases": [
                {"bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
                 "bandwidth_matrix": [["55.31", "55.28"]],
                 "name": "host_to_device_memcpy_ce", "status": "Passed", "sum": 110.59},
                {"bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
                 "bandwidth_matrix": [["N/A", "392.1"], ["391.8", "N/A"]],
                 "name": "device_to_device_memcpy_read_ce", "status": "Passed", "sum": 783.9},
                {"bandwidth_description": "memory latency SM CPU(row) <-> GPU(column) (ns)",
                 "bandwidth_matrix": [["772.58"]],
                 "name": "host_device_latency_sm", "status": "Passed", "sum": 772.58},
                {"name": "multinode_test", "status": "Waived"}
            ]
        }
    }"#;

    #[test]
    fn each_number_of_a_matrix_is_a_row() {
        let found = read(OUTPUT).unwrap();
        let rows: Vec<_> = found
            .rows
            .iter()
            .map(|row| (row.test.as_str(), row.parameter.as_deref().unwrap(), row.gbps))
            .collect();
        assert_eq!(
            rows,
            [
                ("nvbandwidth:host_to_device_memcpy_ce", "0,0", Some(55.31)),
                ("nvbandwidth:host_to_device_memcpy_ce", "0,1", Some(55.28)),
                ("nvbandwidth:device_to_device_memcpy_read_ce", "0,1", Some(392.1)),
                ("nvbandwidth:device_to_device_memcpy_read_ce", "1,0", Some(391.8)),
                ("nvbandwidth:host_device_latency_sm", "0,0", None),
            ]
        );
        assert_eq!(found.rows[4].time_us, Some(0.77258));
        assert_eq!(found.left_out[0].text(), "nvbandwidth:multinode_test: waived");
    }

    #[test]
    fn the_program_is_run_and_its_failures_are_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let script =
            |text: &str| program(dir.path(), "nvbandwidth", &format!("#!/bin/sh\n{text}\n"));
        let good =
            script(&format!("[ \"$*\" = '-j -b 256 -i 3' ] || exit 9\ncat <<'E'\n{OUTPUT}\nE"));
        assert_eq!(nvbandwidth(&good).unwrap().rows.len(), 5);
        let old = script("echo 'unrecognised option -j' >&2; exit 1");
        let error = nvbandwidth(&old).unwrap_err();
        assert!(error.ends_with("no JSON came: unrecognised option -j"), "{error}");
        let broken = script(r#"echo '{"nvbandwidth": {"error": "no driver"}}'"#);
        assert!(nvbandwidth(&broken).unwrap_err().contains("no driver"));
    }
}
