//! Outputs that a GPU gave, replayed.

use std::{collections::HashSet, fs, path::PathBuf};

use emu_corpus::{
    Agreement,
    golden::{Golden, Run},
    kernels,
};

use super::corpus;

fn recordings() -> Vec<(String, Golden)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../emu-corpus/golden");
    let files = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the folder can be read").path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("the file can be read");
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).expect("it is JSON"))
    };
    files.map(read).collect()
}

#[test]
fn recorded_outputs_come_out_again() {
    let all = kernels::all();
    let mut wrong = Vec::new();
    let mut recorded = HashSet::new();
    for (name, golden) in recordings() {
        recorded.extend(golden.runs.iter().map(|run| run.kernel.clone()));
        for run in &golden.runs {
            let Some(kernel) = all.iter().find(|kernel| kernel.name == run.kernel) else {
                wrong.push(format!("{name}: there is no kernel `{}`", run.kernel));
                continue;
            };
            let case = kernel.case(run.seed);
            if !run.is_current(kernel, &case) {
                wrong.push(format!("{name}: `{}` has changed: record it again", run.kernel));
                continue;
            }
            let text = kernel.ptx(90).expect("all run on sm_90");
            let checked = corpus::outputs(kernel, &text, &case)
                .and_then(|outputs| run.check(kernel, &case, &outputs));
            if let Err(why) = checked {
                wrong.push(format!("{name}: {} with seed {}: {why}", run.kernel, run.seed));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<_> = all.iter().map(|k| k.name).filter(|k| !recorded.contains(*k)).collect();
    assert!(missing.is_empty(), "no GPU has run {missing:?}");
}

#[test]
fn a_recording_notices_other_outputs() {
    for (name, agreement) in
        [("relu_float4", Agreement::Exact), ("relu_float4", Agreement::Within(1e-3))]
    {
        let mut kernel = kernels::all().into_iter().find(|kernel| kernel.name == name).unwrap();
        kernel.agreement = agreement;
        let case = kernel.case(1);
        let text = kernel.ptx(90).unwrap();
        let mut outputs = corpus::outputs(&kernel, &text, &case).unwrap();
        let run = Run::new(&kernel, &case, 1, &outputs);
        assert_eq!(run.check(&kernel, &case, &outputs), Ok(0.0));
        // One more bit in the fraction, then another exponent.
        outputs[0][0] ^= 1;
        let near = run.check(&kernel, &case, &outputs);
        assert_eq!(near.is_ok(), agreement != Agreement::Exact, "{near:?}");
        outputs[0][3] ^= 0x40;
        assert!(run.check(&kernel, &case, &outputs).is_err());
        assert!(!run.is_current(&kernel, &kernel.case(2)));
    }
}
