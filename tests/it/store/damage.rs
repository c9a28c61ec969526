//! Damaged and lost files, and data that is derived from others.

use super::*;

#[test]
fn damaged_files_are_made_anew_and_named() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::Passed, None);
    let dir = store.run().dir().to_owned();
    drop(store);
    // A record has copies; without them the attempt is finished anew from its other files.
    for (file, copies, stage) in [
        (StageFile::Record, true, AttemptStage::Done),
        (StageFile::Eval, true, AttemptStage::Done),
        (StageFile::Record, false, AttemptStage::Judged),
        (StageFile::Samples, false, AttemptStage::Extracted),
    ] {
        if !copies {
            fs::remove_file(dir.join("index.jsonl")).ok();
            fs::remove_file(dir.join("relu/metadata.json")).ok();
        }
        let path = Run::open(&dir).unwrap().path(&attempt(1), file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, "{\"op\": ").unwrap();
        let store = RunStore::open(&dir).unwrap();
        let state = store.state();
        assert_eq!(state.ops[&attempt(1).op].attempts[&1].stage(), stage, "{file:?} {copies}");
        let name = format!("relu_attempt_1{}", file.suffix());
        assert!(state.notes.iter().any(|note| note.contains(&name)), "{:?}", state.notes);
        assert_eq!(fs::read(&path).ok(), copies.then_some(whole), "{file:?}");
        let aside = fs::read_dir(dir.join("relu")).unwrap().map(|entry| entry.unwrap().path());
        let aside = aside
            .filter(|path| path.to_string_lossy().contains(&name))
            .filter(|path| path.to_string_lossy().contains(".damaged"));
        assert!(aside.count() > 0, "the damaged {file:?} is kept");
    }
}

/// Everything derived below a run, by path.
fn derived(dir: &Path) -> Vec<String> {
    let paths = ["index.jsonl", "relu/metadata.json", "relu/relu.cu"];
    paths.map(|path| fs::read_to_string(dir.join(path)).unwrap()).to_vec()
}

#[test]
fn what_is_derived_is_mended_where_it_is_not_current_and_left_alone_where_it_is() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::WrongOutput, None);
    finish(&store, 2, Verdict::Passed, Some(2.0));
    finish(&store, 3, Verdict::Passed, Some(1.0));
    let dir = store.run().dir().to_owned();
    drop(store);
    let whole = derived(&dir);
    let changed = |dir: &Path| {
        let time = |path| fs::metadata(dir.join(path)).unwrap().modified().unwrap();
        ["index.jsonl", "relu/metadata.json", "relu/relu.cu"].map(time)
    };
    let before = changed(&dir);
    drop(RunStore::open(&dir).unwrap());
    assert_eq!(changed(&dir), before);

    for (path, text) in [
        ("index.jsonl", "{}\n"),
        ("index.jsonl", ""),
        ("relu/metadata.json", "{"),
        ("relu/relu.cu", "// another kernel"),
    ] {
        fs::write(dir.join(path), text).unwrap();
        drop(RunStore::open(&dir).unwrap());
        assert_eq!(derived(&dir), whole, "{path}: {text}");
    }
    // A record that is no more, of an attempt that the others know.
    fs::remove_file(dir.join("relu/relu_attempt_2.json")).unwrap();
    drop(RunStore::open(&dir).unwrap());
    assert_eq!(derived(&dir), whole);
    assert!(Run::open(&dir).unwrap().record(&attempt(2)).unwrap().is_some());
}
