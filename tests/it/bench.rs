//! `kgen bench`, `kgen history` and `kgen regress` on the emulator; times are put into the results by hand.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    cli::{fails, folder},
    documents::data,
    flow::{self, RELU, wrong_tail},
};

/// Prints the data of a command.
fn prints(folder: &Path, args: &[&str], code: i32) -> Value {
    let assert = flow::kgen(folder, args).args(["--format", "json"]).assert().code(code);
    data(&assert.get_output().stdout)
}

fn bench(folder: &Path, id: &str, dims: &str, implementations: &str, code: i32) -> Value {
    let grid = ["bench", "--ops", "relu", "--batch", "2", "--seq", "3", "--dim", dims];
    let flags = ["--device", "emu", "--impl", implementations, "--bench-id", id];
    prints(folder, &[&grid[..], &flags[..]].concat(), code)
}

fn results(folder: &Path, id: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("generated_kernels").join(id).join("results.jsonl"));
    text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Gives every cell of a bench samples around a time, in microseconds.
fn put_times(folder: &Path, id: &str, us: impl Fn(usize) -> f64) {
    let mut lines = Vec::new();
    for (place, mut cell) in results(folder, id).into_iter().enumerate() {
        let samples: Vec<f64> =
            (0..64).map(|i| us(place) * (1.0 + 0.0005 * f64::from(i % 7))).collect();
        let time = kgen_measure::Timing::of(samples).unwrap();
        cell["timing"] = json!({
            "time": time, "mode": "cold", "bytes": 48.0, "flops": 6.0,
            "overhead_dominated": false, "flags": []
        });
        lines.push(cell.to_string());
    }
    let dir = folder.join("generated_kernels").join(id);
    fs::write(dir.join("results.jsonl"), lines.join("\n") + "\n").unwrap();
    let plan = dir.join("bench.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&plan).unwrap()).unwrap();
    text["fingerprint"] = json!({ "gpu_uuid": "GPU-1", "name": "G", "driver": "580" });
    fs::write(plan, text.to_string()).unwrap();
}

#[test]
fn each_implementation_is_judged_on_each_case_of_the_grid() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("wrong.cu"), wrong_tail()).unwrap();
    fs::write(at.join("broken.cu"), RELU.replace("const", "oops")).unwrap();
    let data = bench(at, "one", "5,64", "wrong.cu,builtin,broken.cu,aten,candle", 1);
    let of = |name: &str| -> Vec<(String, Option<f64>)> {
        let rows = data["results"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["implementation"] == name);
        rows.map(|row| (row["outcome"].as_str().unwrap().to_owned(), row["time_ms"].as_f64()))
            .collect()
    };
    let twice = |outcome: &str| vec![(outcome.to_owned(), None); 2];
    assert_eq!(of("wrong.cu"), twice("wrong_output"));
    assert_eq!(of("builtin"), twice("passed"));
    assert_eq!(of("broken.cu"), twice("compile_error"));
    assert_eq!(of("aten"), twice("not_run"));
    assert_eq!(of("candle"), twice("not_run"));
    let dir = at.join("generated_kernels/one");
    let page = fs::read_to_string(dir.join("bench.html")).unwrap();
    assert!(page.contains("wrong_output") || page.contains("wrong output"));
    let csv = fs::read_to_string(dir.join("bench.csv")).unwrap();
    assert_eq!(csv.lines().count(), 11, "{csv}");
    assert!(csv.lines().next().unwrap().contains(",b,s,d,implementation,outcome,"));
}

#[test]
fn a_bench_that_was_cut_goes_on_with_the_cells_that_are_missing() {
    let folder = folder();
    let at = folder.path();
    bench(at, "cut", "5,6,7", "builtin", 0);
    let path = at.join("generated_kernels/cut/results.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The first cell gets a mark that only a cell that stays keeps; the last line is torn.
    let mut first: Value = serde_json::from_str(lines[0]).unwrap();
    first["note"] = json!("kept");
    let mut torn = format!("{first}\n{}\n{}", lines[1], &lines[2][..20]).into_bytes();
    // In the middle of a letter.
    torn.push("µ".as_bytes()[0]);
    fs::write(&path, torn).unwrap();
    let data = prints(at, &["bench", "--resume", "cut", "--device", "emu"], 0);
    let rows = data["results"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["outcome"] == "passed"));
    assert_eq!(rows[0]["reason"], "kept");
    assert_eq!(results(at, "cut").len(), 3);
    let dim = ["--resume", "cut", "--dim", "5"];
    fails(at, &[&["bench"], &dim[..]].concat(), 2, &["--resume takes no --dim"]);
    fails(
        at,
        &["bench", "--ops", "relu", "--bench-id", "cut", "--device", "emu"],
        3,
        &["--resume cut"],
    );
}

#[test]
fn grids_that_are_too_large_or_wrong_are_refused_before_anything_starts() {
    let folder = folder();
    let at = folder.path();
    let large = ["bench", "--ops", "relu", "--batch", "1..1000+1", "--seq", "1..10000+1"];
    fails(at, &large, 2, &["10000000 cells", "--yes"]);
    for (args, says) in [
        (&["--ops", "relu", "--batch", "0"][..], "no integer from 1"),
        (&["--ops", "relu", "--dim", "8..30"], "doubling from 8 does not reach 30"),
        (&["--ops", "group_norm"], "group_norm(Tensor input"),
        (&["--ops", "relu", "--axis", "h=4"], "no op of the grid has an axis `h`"),
        (&["--ops", "mm,relu", "--args", "self = \"[b, d]\""], "of one op"),
        (&["--ops", "relu", "--impl", "nothing"], "run:RUN_ID and FILE.cu"),
        (&["--ops", "mm", "--backward"], "no gradient of mm"),
        (&["--suite", "sweep", "--batch", "4"], "--suite has its own cases"),
        (&["--ops", "relu", "--dtypes", "f32,bf61"], "did you mean `bf16`?"),
        (&["--ops", "relu", "--baseline", "aten"], "unexpected argument '--baseline'"),
        (
            &["--ops", "relu", "--args", "self = \"[b]\", axes = { b = \"1..4\" }"],
            "--axis NAME=VALUES",
        ),
        (&[], "needs --ops or --suite"),
    ] {
        fails(at, &[&["bench", "--device", "emu"], args].concat(), 2, &[says]);
    }
    assert!(!at.join("generated_kernels").exists());
    let estimate = prints(at, &["bench", "--ops", "gelu", "--backward", "--dry-run"], 0);
    assert_eq!(estimate["ops"][0]["op"], "gelu_backward");
}

#[test]
fn results_that_could_not_be_kept_are_refused_before_the_bench() {
    let folder = folder();
    let at = folder.path();
    let one = ["--batch", "2", "--seq", "3", "--dim", "5", "--impl", "builtin", "--device", "emu"];
    let kept =
        [&["bench", "--ops", "relu", "--bench-id", "one", "--history", "--tag", "a"], &one[..]];
    flow::kgen(at, &kept.concat()).assert().code(0);
    fs::write(at.join("text.sqlite"), "no database at all, but long enough to be one").unwrap();
    fs::write(at.join("file"), "").unwrap();
    for (flags, code, says) in [
        (&["--history", "--tag", "a"][..], 3, "entry 1 (one) has the tag `a`"),
        (&["--history=new/h.sqlite", "--tag", "7"], 2, "`7` cannot be a tag"),
        (&["--history=text.sqlite"], 3, "text.sqlite is no history of kgen"),
        (&["--history=file/h.sqlite"], 3, "file/h.sqlite cannot be used"),
        (&["--output", "absent/x.csv"], 3, "there is no folder absent"),
        (&["--output", "generated_kernels"], 3, "cannot write generated_kernels"),
    ] {
        let begun = ["bench", "--ops", "relu", "--bench-id", "two"];
        fails(at, &[&begun[..], &one, flags].concat(), code, &[says]);
    }
    assert!(!at.join("generated_kernels/two").exists() && !at.join("new").exists());
    // Of one that is finished, too.
    let taken = ["bench", "--resume", "one", "--history=file/h.sqlite"];
    fails(at, &taken, 3, &["file/h.sqlite"]);
    fails(
        at,
        &["bench", "--resume", "one", "--timing", "final"],
        2,
        &["--resume takes no --timing"],
    );
}

#[test]
fn the_newest_bench_and_near_names_are_found() {
    let folder = folder();
    let at = folder.path();
    fails(at, &["bench", "--resume", "latest"], 3, &["no bench `latest`"]);
    bench(at, "first", "5", "builtin", 0);
    bench(at, "second", "5", "builtin", 0);
    assert_eq!(prints(at, &["bench", "--resume", "latest"], 0)["id"], "second");
    fails(at, &["bench", "--resume", "secnd"], 3, &["did you mean the bench `second`?"]);
    let neither = ["neither a bench nor a run `frist`", "did you mean the bench `first`?"];
    fails(at, &["history", "add", "frist"], 3, &neither);
    assert_eq!(prints(at, &["history", "add", "latest"], 0)["entries"][0]["id"], "second");
    let help = flow::kgen(at, &["bench", "--help"]).assert().code(0);
    let help = String::from_utf8(help.get_output().stdout.clone()).unwrap();
    assert!(
        help.contains("--timing") && !help.contains("--baseline") && !help.contains("--compat")
    );
}

#[test]
fn the_grid_of_a_suite_has_its_extents_as_axes() {
    let folder = folder();
    let at = folder.path();
    let suite = r#"
        format = 1
        name = "tiny"
        dtypes = ["f32"]
        [[ops]]
        name = "add"
        cases = [
          { self = "[7]", other = "[7]" },
          { self = "[n, s]", other = "[n, s]", grid = { s = [3, 5], n = [2, 4] }, class = "realistic" },
          { self = "[n, s]", other = "[s]", grid = { s = [3, 5], n = [2] }, class = "realistic" },
          { self = "[9]", other = "[9]", class = "realistic" },
        ]
    "#;
    fs::write(at.join("tiny.toml"), suite).unwrap();
    let args = ["bench", "--suite", "./tiny.toml", "--impl", "builtin", "--device", "emu"];
    let data = prints(at, &[&args[..], &["--bench-id", "one"]].concat(), 0);
    let axes = json!([{ "name": "s", "values": [3, 5] }, { "name": "n", "values": [2, 4] }]);
    assert_eq!(data["axes"], axes);
    let rows = data["results"].as_array().unwrap();
    let places: Vec<Value> = rows.iter().map(|row| row["axes"].clone()).collect();
    let place = |n: i64, s: i64| json!({ "n": n, "s": s });
    let whole = [place(2, 3), place(2, 5), place(4, 3), place(4, 5)];
    assert_eq!(places[..4], whole);
    assert_eq!(places[4..], [place(2, 3), place(2, 5), json!({})]);
    put_times(at, "one", |place| 10.0 + place as f64);
    prints(at, &["bench", "--resume", "one"], 0);
    let plots = fs::read_dir(at.join("generated_kernels/one/plots")).unwrap();
    let mut plots: Vec<String> =
        plots.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    plots.sort();
    plots.retain(|name| name.starts_with("add_f32_time_over"));
    // Each call by itself: the second has no second `n`.
    let names = ["add_f32_time_over_n.svg", "add_f32_time_over_s.svg", "add_f32_time_over_s_2.svg"];
    assert_eq!(plots, names);
}

#[test]
fn a_history_finds_the_case_that_became_slower() {
    let folder = folder();
    let at = folder.path();
    bench(at, "old", "5,6,7", "builtin", 0);
    put_times(at, "old", |_| 100.0);
    bench(at, "same", "5,6,7", "builtin", 0);
    put_times(at, "same", |_| 100.5);
    bench(at, "new", "5,6,7", "builtin", 0);
    put_times(at, "new", |place| if place == 1 { 110.0 } else { 100.0 });
    fails(at, &["regress"], 3, &["history"]);
    prints(at, &["history", "add", "old", "same", "new"], 0);
    let listed = prints(at, &["history", "list"], 0);
    let ids: Vec<&Value> =
        listed["entries"].as_array().unwrap().iter().map(|entry| &entry["id"]).collect();
    assert_eq!(ids, ["new", "same", "old"]);
    let same = prints(at, &["regress", "same", "--against", "old", "--recorded"], 0);
    assert_eq!(same["counts"]["same"], 3);
    let found = prints(at, &["regress", "--against", "old", "--recorded"], 1);
    assert_eq!((&found["counts"]["slower"], &found["counts"]["same"]), (&json!(1), &json!(2)));
    let slower = found["cases"].as_array().unwrap().iter().find(|case| case["verdict"] == "slower");
    assert_eq!(slower.unwrap()["case"], "f32[2,3,6]/normal");
    let table = flow::kgen(at, &["regress", "--against", "old", "--recorded"]).assert().code(1);
    let table = String::from_utf8(table.get_output().stdout.clone()).unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("f32[2,3,6]") && table.contains("by recorded samples"), "{table}");
}

#[test]
fn a_history_that_is_none_stays_as_it_is() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("text.sqlite"), "no database at all, but long enough to be one").unwrap();
    let before = fs::read(at.join("text.sqlite")).unwrap();
    for command in ["list", "export"] {
        fails(at, &["history", command, "--history", "text.sqlite"], 3, &["text.sqlite"]);
    }
    assert_eq!(fs::read(at.join("text.sqlite")).unwrap(), before);
    fails(at, &["history", "show", "1"], 3, &["kgen history add"]);
}
