//! Files of a run that are torn, emptied, overwritten or lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    bench::{Bench, right, strs},
    server::{Answer, Server},
};

/// The files of a finished run, and whether one that is lost is missed.
const FILES: &[(&str, bool)] = &[
    ("run.json", true),
    ("index.jsonl", false),
    ("full_results.json", false),
    ("twice/metadata.json", false),
    ("twice/twice.cu", false),
    ("twice/twice_attempt_1.json", true),
    ("twice/twice_attempt_1.cu", true),
    ("twice/twice_attempt_1.eval.json", true),
    ("twice/twice_attempt_1.samples.json", true),
    ("twice/twice_attempt_1.call_1.request.json", true),
    ("twice/twice_attempt_1.call_1.reply.json", false),
    ("twice/twice_attempt_1.confirm.json", false),
];

/// A way to damage a file, in words.
type Way = (&'static str, fn(&Path));

const WAYS: &[Way] = &[
    ("torn", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("replaced by other JSON", |path| fs::write(path, "{\"a\": [1]}\n").unwrap()),
    ("emptied", |path| fs::write(path, "").unwrap()),
    ("overwritten", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, vec![0x9b; bytes.len()]).unwrap();
    }),
    ("lost", |path| fs::remove_file(path).unwrap()),
];

/// Returns whether a file may hold any text, or any JSON, as far as its reader knows.
fn is_open(file: &str) -> bool {
    file.ends_with("attempt_1.cu") || file == "full_results.json"
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns every file of a folder with its contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_damaged_run_is_named_repaired_and_continued() {
    let server = Server::start(|_, prompt| Answer::Bytes(right(prompt)));
    let bench = Bench::new();
    let made = bench.kgen(&strs(&Bench::generate(&server, "twice,thrice")));
    assert_eq!(made.code, Some(0), "{}", made.said());
    let whole = bench.path().join("whole");
    copy(&bench.run_folder(), &whole);
    let n_requests = server.n_requests();
    for (file, is_missed) in FILES {
        for (way, damage) in WAYS {
            let what = format!("{file} {way}");
            fs::remove_dir_all(bench.run_folder()).unwrap();
            copy(&whole, &bench.run_folder());
            damage(&bench.run_folder().join(file));
            let is_silent = *way == "lost" && !is_missed || way.contains("JSON") && is_open(file);
            let before = contents(&bench.run_folder());
            let checked = bench.kgen(&["check", "r"]);
            assert_eq!(contents(&bench.run_folder()), before, "{what}: reading wrote");
            if !is_silent {
                assert_eq!(checked.code, Some(1), "{what}: {}", checked.said());
                assert!(checked.out.contains(file), "{what}: {}", checked.said());
            }
            // Whether or not it can be read, nothing panics and nothing is changed.
            for command in ["report", "compare"] {
                let read = bench.kgen(&[command, "r"]);
                assert!(matches!(read.code, Some(0 | 1 | 3)), "{what}: {command}: {}", read.said());
                assert_eq!(contents(&bench.run_folder()), before, "{what}: {command} wrote");
            }
            let repaired = bench.kgen(&["check", "r", "--repair"]);
            assert_eq!(repaired.code, Some(0), "{what}: {}", repaired.said());
            let resumed = bench.resume(&server);
            assert!(matches!(resumed.code, Some(0 | 1)), "{what}: {}", resumed.said());
            assert_eq!(
                server.n_requests(),
                n_requests,
                "{what}: a stored reply was asked for again"
            );
            let reported = bench.kgen(&["report", "r"]);
            assert!(reported.out.contains("twice   passed"), "{what}: {}", reported.said());
        }
    }
}
