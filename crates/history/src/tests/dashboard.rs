//! The page of an output folder.

use kgen_bench::ImplementationSummary;
use kgen_measure::Mode;

use super::{
    change::{noise, points},
    series,
};
use crate::{
    Line, Series,
    dashboard::{BenchItem, Dashboard, EntryItem, RunItem, page},
};

const GPUS: [&str; 2] = ["NVIDIA H100", "NVIDIA H200"];

fn run(at: usize, n_ops: usize) -> RunItem {
    RunItem {
        id: format!("run_{at:03}"),
        created: format!("2027-01-{:02}T10:15:00+01:00", at % 28 + 1),
        device: GPUS[at % 2].to_owned(),
        backend: "llm".to_owned(),
        model: Some(format!("model-{}", at % 3)),
        ops: (0..n_ops).map(|op| format!("op_{op:03}")).collect(),
        n_ops,
        n_solved: n_ops / 2,
        speedup: (!at.is_multiple_of(3)).then_some(1.25),
        baseline: Some("aten".to_owned()),
        link: Some(format!("run_{at:03}/report.html")),
    }
}

fn implementation(name: &str, speedup_geomean: Option<f64>) -> ImplementationSummary {
    let implementation = name.to_owned();
    ImplementationSummary { implementation, passed: 7, speedup_geomean, ..Default::default() }
}

fn bench(at: usize) -> BenchItem {
    BenchItem {
        id: format!("bench_{at:03}"),
        created: format!("2027-02-{:02}T10:15:00Z", at % 28 + 1),
        device: GPUS[at % 2].to_owned(),
        ops: vec!["op_000".to_owned(), format!("op_{:03}", at + 1)],
        implementations: vec![
            implementation("aten", None),
            implementation("run:run_001", Some(1.5)),
        ],
        link: Some(format!("bench_{at:03}/bench.html")),
    }
}

fn entry(number: i64) -> EntryItem {
    EntryItem {
        number,
        id: format!("bench_{number:03}"),
        tag: (number % 5 == 0).then(|| format!("v{number}")),
        created: format!("2027-03-{:02}T10:15:00Z", number % 28 + 1),
        device: GPUS[1].to_owned(),
        n_results: 1_000,
    }
}

fn line(at: usize, factor: f64) -> Line {
    let times = (0..40).map(|at| noise(at) * if at < 25 { 20.0 } else { 20.0 * factor });
    let series = Series { implementation: "builtin".to_owned(), ..series(&format!("op_{at:03}")) };
    Line { series, gpu: GPUS[1].to_owned(), mode: Mode::Cold, points: points(times) }
}

fn dashboard(n_runs: usize, n_benches: usize, n_lines: usize) -> Dashboard {
    Dashboard {
        made: "2027-04-01T00:00:00Z".to_owned(),
        runs: (0..n_runs).map(|at| run(at, 48)).collect(),
        benches: (0..n_benches).map(bench).collect(),
        entries: (1..=40).map(entry).collect(),
        lines: (0..n_lines).map(|at| line(at, if at % 2 == 0 { 1.1 } else { 1.0 })).collect(),
        problems: Vec::new(),
    }
}

/// The start tag of the row of that name.
fn tag<'a>(page: &'a str, name: &str) -> &'a str {
    let at = page.find(&format!("data-v=\"{name}")).unwrap();
    let row = &page[page[..at].rfind("<tr").unwrap()..];
    &row[..=row.find('>').unwrap()]
}

#[test]
fn an_empty_folder_says_how_to_fill_it() {
    let page =
        page(&Dashboard { problems: vec!["bench_7: no JSON".to_owned()], ..Dashboard::default() });
    assert!(page.contains("<title>Nothing here yet</title>"), "{page}");
    for command in ["kgen run", "kgen bench", "kgen history add"] {
        assert!(page.contains(&format!("<code>{command} ")), "{command}");
    }
    assert!(page.contains("<li>bench_7: no JSON</li>"));
    assert!(!page.contains("<form") && !page.contains("<script"));
}

#[test]
fn a_part_without_items_names_the_command_that_makes_one() {
    let page = page(&Dashboard { runs: vec![run(0, 2)], ..Dashboard::default() });
    assert!(page.contains("<title>1 run, 0 benches, 0 entries of the history</title>"));
    assert!(page.contains("No bench yet. <code>kgen bench --ops relu</code> makes one."));
    assert!(page.contains("No entry in the history yet."));
    assert!(page.contains("not measured") && page.contains("1 of 2"));
}

#[test]
fn the_newest_comes_first_by_utc() {
    let early = RunItem { created: "2027-01-02T00:30:00+02:00".to_owned(), ..run(1, 1) };
    let late = RunItem { created: "2027-01-01T23:00:00Z".to_owned(), ..run(2, 1) };
    let odd = RunItem { created: "yesterday".to_owned(), ..run(3, 1) };
    let page = page(&Dashboard { runs: vec![odd, early, late], ..Dashboard::default() });
    let places = ["run_002", "run_001", "run_003"].map(|id| page.find(id).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(tag(&page, "run_001").contains("data-days=\"2027-01-01\""));
    assert!(tag(&page, "run_003").contains("data-days=\"\"") && page.contains("yesterday"));
}

#[test]
fn rows_carry_what_they_are_filtered_by() {
    let page = page(&dashboard(3, 2, 4));
    let options: Vec<&str> = page
        .split("<select name=\"implementation\">")
        .nth(1)
        .and_then(|rest| rest.split("</select>").next())
        .map(|list| list.split("<option value=\"").skip(2).collect())
        .unwrap();
    let is = ["aten", "builtin", "llm", "run", "run:run_001"];
    let expected: Vec<String> =
        is.iter().enumerate().map(|(at, name)| format!("{at}\">{name}</option>")).collect();
    assert_eq!(options, expected);
    let of_run = "<tr data-days=\"2027-01-02\" data-op=\"0-47\" data-gpu=\"1\" data-implementation=\"0 2-3\">";
    assert_eq!(tag(&page, "run_001"), of_run);
    let of_bench =
        "<tr data-days=\"2027-02-02\" data-op=\"0 2\" data-gpu=\"1\" data-implementation=\"0\">";
    assert_eq!(tag(&page, "bench_001"), of_bench);
    assert!(page.contains("data-op=\"0 2\" data-gpu=\"1\" data-implementation=\"3-4\">"), "run:ID");
    let of_line = tag(&page, "op_002 f32");
    assert!(of_line.contains("data-op=\"2\"") && of_line.contains("data-implementation=\"1\""));
    assert!(page.contains("2 of 4 series changed") && !page.contains("data-v=\"op_001 f32"));
    assert!(page.contains("data-op=\"0-3\" data-gpu=\"1\" data-implementation=\"1\""), "entries");
}

#[test]
fn texts_of_others_are_escaped() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{202e}\0";
    let text = || HOSTILE.to_owned();
    let mut hostile_line = line(0, 2.0);
    hostile_line.series.op = text();
    hostile_line.gpu = text();
    let page = page(&Dashboard {
        made: text(),
        runs: vec![RunItem {
            id: text(),
            created: text(),
            device: text(),
            backend: text(),
            model: Some(text()),
            ops: vec![text(), "relu".to_owned()],
            n_ops: 2,
            n_solved: 1,
            speedup: Some(f64::NAN),
            baseline: Some(text()),
            link: Some("javascript:alert(1)".to_owned()),
        }],
        benches: vec![BenchItem {
            id: text(),
            ops: vec![text()],
            implementations: vec![implementation(HOSTILE, Some(2.0))],
            link: Some(text()),
            ..BenchItem::default()
        }],
        entries: vec![EntryItem { id: text(), tag: Some(text()), device: text(), ..entry(1) }],
        lines: vec![hostile_line],
        problems: vec![text()],
    });
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains(['\0', '\u{202e}']) && !page.contains("NaN"));
    assert!(page.contains("href=\"./javascript%3Aalert%281%29\""));
}

#[test]
fn pages_stay_small() {
    let page = page(&dashboard(200, 50, 500));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<svg").count(), 100);
    assert!(
        page.contains("250 of 500 series changed") && page.contains("And 150 more with smaller")
    );
}
