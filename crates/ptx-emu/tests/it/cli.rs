//! The command line: its output and its exit codes.

use std::{fs, path::PathBuf};

use assert_cmd::Command;

/// Exit code, standard output and standard error of a command in the corpus folder.
fn run(line: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("ptx-emu").expect("the binary is built");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx"));
    let output = command.args(line.split_whitespace()).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("it prints text");
    (output.status.code().expect("it exits"), text(output.stdout), text(output.stderr))
}

/// A file in the folder that Cargo gives tests.
fn scratch(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("the path is text").to_owned()
}

const RELU: &str = "run pass/relu.ptx --grid 4 --block 256 --arg n=i64:1024";

/// [`RELU`] with arrays, and their order put right.
fn relu(x: &str, y: &str, more: &str) -> (i32, String, String) {
    let (head, n) = RELU.split_once("--arg").expect("there is an argument");
    run(&format!("{head} --arg x={x} --arg y={y} --arg {n} {more}"))
}

#[test]
fn a_clean_run_stores_its_output() {
    for file in ["relu.npy", "relu.bin"] {
        let file = scratch(file);
        let y = format!("out:f32:32x32:{file}");
        let (code, out, err) = relu("in:f32:@rand,1024", &y, "");
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.ends_with("20480 lane instructions: no findings\n"), "{out}");
        // The stored array is read back, and relu does not change it.
        let want = format!("in:f32:{file}");
        let (code, out, _) = relu(&want, "out:f32:1024", &format!("--expect y={file}"));
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("y: as expected, 1024 elements"), "{out}");
    }
    let npy = fs::read(scratch("relu.npy")).expect("it was written");
    assert!(String::from_utf8_lossy(&npy).contains("'shape': (32, 32, )"));
    assert_eq!(fs::metadata(scratch("relu.bin")).expect("it was written").len(), 4096);
}

#[test]
fn elements_that_nobody_wrote_are_a_finding() {
    let (code, out, _) = relu("in:f32:@rand,1024", "out:f32:1030", "");
    assert_eq!(code, 1);
    assert!(
        out.starts_with(
            "unwritten: 6 of 1030 elements of `y` were never written: 1024 to 1029\n  kernel relu\n"
        ),
        "{out}"
    );
}

#[test]
fn findings_quote_their_lines() {
    let (code, out, _) =
        run("run fail/faults.ptx --kernel shared_overflow --grid 1 --block 64 --arg y=out:f32:64");
    assert_eq!(code, 1);
    assert!(out.starts_with("out_of_bounds_read: out-of-bounds shared read of 4 bytes: `s`[64]"));
    assert!(
        out.contains("    7 |   y[threadIdx.x] = s[threadIdx.x + 1] + t[threadIdx.x];"),
        "{out}"
    );
    let finding = out.split("\n\n").next().expect("there is text");
    assert!(finding.lines().count() <= 8);
}

#[test]
fn other_ends_have_codes_of_their_own() {
    let faults = "run fail/faults.ptx --grid 1 --block 64 --kernel";
    let (_, out, _) = run(&format!("{faults} endless --arg f=in:i32:@zeros,1 --arg y=out:f32:64"));
    assert!(
        out.lines()
            .nth(1)
            .is_some_and(|quote| quote.contains(" | extern") && quote.contains("while (*flag")),
        "{out}"
    );
    for (line, code, words) in [
        (format!("{faults} endless --arg f=in:i32:@zeros,1 --arg y=out:f32:64"), 5, "deadlock"),
        (format!("{faults} busy --arg y=out:f32:64 --arg n=i32:1 --limit 1M"), 5, "budget"),
        (format!("{faults} trapped --arg y=out:f32:64"), 1, "trap"),
        ("list pass/relu.ptx".to_owned(), 0, "all instructions are known"),
        ("--help".to_owned(), 0, "Usage:"),
        ("run --help".to_owned(), 0, "Examples:"),
        ("--version".to_owned(), 0, "ptx-emu "),
    ] {
        let (got, out, err) = run(&line);
        assert_eq!(got, code, "{line}: {out}{err}");
        assert!(out.contains(words), "{line}: {out}");
    }
}

#[test]
fn an_unknown_instruction_is_named() {
    let file = scratch("unknown.ptx");
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nfrob.u32 %r1;\nret;\n}\n";
    fs::write(&file, text).expect("the folder is there");
    let (code, out, _) = run(&format!("run {file} --grid 1 --block 32"));
    assert_eq!(code, 4);
    assert!(out.starts_with("unsupported: frob.u32 (PTX line 6)"), "{out}");
    let (code, out, _) = run(&format!("list {file}"));
    assert_eq!((code, out.contains("unsupported: frob.u32 (PTX line 6)")), (0, true), "{out}");
}

#[test]
fn mistakes_are_explained() {
    let busy = "run fail/faults.ptx --grid 1 --block 64 --kernel busy --arg y=out:f32:64";
    let n = "--arg n=i32:1";
    for (line, code, words) in [
        (busy.to_owned(), 2, "kernel `busy` takes 2 arguments, 1 given"),
        (format!("{busy} --arg n=i64:1"), 2, "<-- differs"),
        (format!("{busy} {n} --expect z=a.npy"), 2, "no argument `z`"),
        (format!("{busy} {n} --expect n=a.npy"), 2, "`n` is no array"),
        (format!("{busy} {n} --expect y=@ones,3"), 2, "has 3 elements, the array 64"),
        (format!("{busy} {n} --frob 1"), 2, "unexpected argument '--frob'"),
        (format!("{busy} {n} --sanitize some"), 2, "expected full, memory"),
        (busy.replace("busy", "bussy"), 2, "did you mean `busy`?"),
        (busy.replace(" --kernel busy", ""), 2, "--kernel is needed"),
        (busy.replace(" --grid 1", "") + " " + n, 2, "not provided:\n  --grid <X"),
        (busy.replace("64 --kernel", "6,4,x --kernel"), 2, "up to three numbers"),
        (busy.replace("out:f32:64", "out:f32:1099511627776") + " " + n, 2, "larger than"),
        (busy.replace("64 --arg", "64") + " --arg y=f32:0", 2, "another name"),
        (format!("{busy} {n} --blocks 1"), 2, "no block 1; the grid has 0 to 0"),
        (format!("{busy} {n} --blocks sample:0"), 2, "sample:COUNT"),
        (format!("{busy} {n} --expect y=@ones,9999999999"), 2, "N up to 1073741824"),
        ("frob".to_owned(), 2, "unrecognized subcommand 'frob'"),
        ("run unsupported/../isa.txt --grid 1 --block 1".to_owned(), 3, "PTX line 1"),
        ("list nowhere.ptx".to_owned(), 3, "nowhere.ptx: "),
        ("list pass/relu.cu".to_owned(), 3, "nvcc -ptx"),
    ] {
        let (got, out, err) = run(&line);
        assert_eq!(got, code, "{line}: {out}{err}");
        assert!(err.starts_with("ptx-emu: ") && err.contains(words), "{line}: {err}");
        assert_eq!(out, "", "{line}");
    }
    let (code, out, _) = run(&(busy.replace("--block 64", "--block 2000") + " " + n));
    assert_eq!(
        (code, out.as_str()),
        (2, "block (2000,1,1) of `busy` must have 1 to 1024 threads\n")
    );
}

#[test]
fn a_file_without_kernels_is_named() {
    let file = scratch("none.ptx");
    fs::write(&file, ".version 8.0\n.target sm_80\n.address_size 64\n").expect("it is there");
    let (code, _, err) = run(&format!("run {file} --grid 1 --block 32"));
    assert_eq!((code, err), (3, format!("ptx-emu: {file}: it has no kernel\n")));
    assert!(run(&format!("list {file}")).1.starts_with("no kernels\n"));
}

/// The README shows the output of its commands.
#[test]
fn the_readme_tells_the_truth() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(scratch("readme"));
    fs::create_dir_all(&folder).expect("the folder is made");
    for entry in fs::read_dir(root.join("tests/ptx/readme")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        fs::copy(&path, folder.join(path.file_name().expect("it is a file")))
            .expect("it is copied");
    }
    let readme = fs::read_to_string(root.join("README.md")).expect("it can be read");
    let console = readme.split("```console\n").nth(1).expect("there is a block of commands");
    let console = console.split("```").next().unwrap_or_default();
    for shown in console.split("$ ptx-emu ").filter(|text| !text.is_empty()) {
        let (line, wanted) = shown.split_once('\n').expect("there is output");
        let mut command = Command::cargo_bin("ptx-emu").expect("the binary is built");
        command.current_dir(&folder).args(line.split_whitespace());
        let output = command.output().expect("it starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{line}");
    }
}

#[test]
fn counters_and_chosen_blocks() {
    let (code, out, _) = relu("in:f32:@rand,1024", "out:f32:1024", "--counters");
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains(
            "  global loads  32 requests, 4.00 sectors each, 4096 bytes asked for, 4096 different\n"
        ),
        "{out}"
    );
    assert!(out.contains("    3 |   if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;"), "{out}");
    let (code, out, _) =
        relu("in:f32:@ones,1024", "out:f32:1024", "--blocks 1,3 --expect y=@ones,1024");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("y: 512 of 1024 elements written by the chosen blocks\n"), "{out}");
    assert!(out.contains("y: as expected, 512 elements"), "{out}");
    assert!(out.contains("relu: 2 blocks of grid (4,1,1)"), "{out}");
    let (code, out, _) = relu("in:f32:@ones,1024", "out:f32:1024", "--blocks sample:3:7");
    assert_eq!((code, out.contains("3 blocks of grid")), (0, true), "{out}");
}

#[test]
fn json_is_one_object() {
    let (code, out, _) = relu(
        "in:f32:@arange,1024",
        "out:f32:1025",
        "--format json --expect y=@ones,1025:1e-5 --counters",
    );
    assert_eq!(code, 1);
    let report: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(report["end"]["status"], "ok");
    assert_eq!(report["findings"][0]["kind"], "unwritten");
    assert_eq!(report["outputs"][0]["unwritten"], serde_json::json!([[1024, 1025]]));
    assert_eq!(report["outputs"][0]["comparison"]["wrong"], 1024);
    assert_eq!(report["lane_instructions"], 20480);
    assert_eq!(report["counters"]["global_loads"]["requests"], 32);
    assert_eq!(report["blocks"], 4);
}

#[test]
fn variables_of_the_module_are_set() {
    let ptx = scratch("scale.ptx");
    fs::write(
        &ptx,
        ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 scale[8];\n\
         .visible .entry f(.param .u64 y)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<3>;\n\
         ld.param.u64 %d1, [y];\nld.const.u32 %r1, [scale];\nld.const.u32 %r2, [scale+4];\n\
         add.u32 %r1, %r1, %r2;\nst.global.u32 [%d1], %r1;\nret;\n}\n",
    )
    .expect("it can be written");
    let with = |more: &str| {
        run(&format!("run {ptx} --grid 1 --block 1 --arg y=out:u32:1 --expect y=@ones,1 {more}"))
    };
    let (code, out, err) = with("");
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("unset_constant: constant `scale` is read"), "{out}");
    // The name of a C function is no type.
    assert!(out.contains("f: grid (1,1,1)") && !out.contains("float"), "{out}");
    for set in ["scale=hex:0100000000000000", "scale=in:u32:@arange,2"] {
        let (code, out, err) = with(&format!("--set {set}"));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.contains("no findings"), "{out}");
    }
    // The rest of it is still nobody's.
    let (code, out, _) = with("--set scale=u32:1");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("unset_constant"), "{out}");
    for (wrong, words) in [
        ("scale=in:u32:@ones,3", "12 bytes given, it has 8"),
        ("nowhere=u32:1", "no variable `nowhere`"),
        ("scale=out:u32:2", "expected in:TYPE:DATA"),
    ] {
        let (code, _, err) = with(&format!("--set {wrong}"));
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(words), "{err}");
    }
}
