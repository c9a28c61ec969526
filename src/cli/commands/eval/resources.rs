//! Static resources of the compiled kernels.

use std::fmt::Write as _;

use kgen_record::{Evaluation, LaunchFacts, Resources};

use crate::report::{Screen, TextTable};

/// Returns tables of resources and launches, and the code in a line per kernel; empty where nothing
/// was compiled.
pub(super) fn text(evaluation: &Evaluation, screen: Screen) -> String {
    let mut out = String::new();
    if evaluation.resources.is_empty() {
        return out;
    }
    let mut say = |title: &str, text: &str| {
        write!(out, "\n{title}\n{text}\n").expect("a string takes any text");
    };
    say("Resources, worst over the variants:", &resources(&evaluation.resources, screen));
    if evaluation.resources.iter().any(|kernel| !kernel.launches.is_empty()) {
        say(
            "Launches, the largest of each kind of block:",
            &launches(&evaluation.resources, screen),
        );
    }
    let mixes = evaluation.resources.iter().filter_map(|kernel| kernel.sass.as_ref());
    let code: Vec<String> = mixes.filter_map(kgen_profile::summary::sass).collect();
    if !code.is_empty() {
        say("Machine code:", &code.join("\n"));
    }
    out
}

fn resources(kernels: &[Resources], screen: Screen) -> String {
    let headers = ["kernel", ">registers", ">spilled bytes", ">stack bytes", ">shared bytes"];
    let mut table = TextTable::new(&headers);
    for resources in kernels {
        table.row(vec![
            resources.kernel.clone(),
            resources.registers.to_string(),
            (resources.spill_stores + resources.spill_loads).to_string(),
            resources.stack_bytes.to_string(),
            resources.smem_bytes.to_string(),
        ]);
    }
    table.fit(screen)
}

fn launches(kernels: &[Resources], screen: Screen) -> String {
    let headers = [
        "kernel",
        ">grid",
        ">block",
        ">registers",
        ">shared bytes",
        ">occupancy",
        "limited by",
        ">waves",
        "case",
    ];
    let yielding = [
        ("case", 12),
        ("registers", 0),
        ("shared bytes", 0),
        ("kernel", 12),
        ("waves", 0),
        ("case", 0),
    ];
    let mut table = TextTable::new(&headers).yielding(&yielding);
    for kernel in kernels {
        for launch in &kernel.launches {
            table.row(row(&kernel.kernel, launch));
        }
    }
    table.fit(screen)
}

fn row(kernel: &str, launch: &LaunchFacts) -> Vec<String> {
    let unknown = || "-".to_owned();
    let occupancy = launch.occupancy;
    vec![
        kernel.to_owned(),
        dims(launch.grid),
        dims(launch.block),
        launch.registers.to_string(),
        launch.smem_bytes.to_string(),
        occupancy.map_or_else(unknown, |fits| format!("{:.0} %", 100.0 * fits.fraction)),
        occupancy.map_or_else(unknown, |fits| fits.limiter.name().to_owned()),
        launch.waves.map_or_else(unknown, |waves| match waves.count {
            count if count < 0.005 => "< 0.01".to_owned(),
            count => format!("{count:.2}"),
        }),
        launch.args.clone(),
    ]
}

fn dims([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}
