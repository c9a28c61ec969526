//! Values to filter by. Rows carry them as positions in the lists of the form, which are short and need no
//! escaping, whatever the names are.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use maud::{Markup, html};

use super::Dashboard;
use crate::Line;

/// The name of a run's kernels among implementations, in a history and before a run's ID in a bench.
pub(super) const OF_RUN: &str = "run";

/// Names in order.
#[derive(Default)]
pub(super) struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(BTreeSet::from_iter(names).into_iter().collect())
    }

    /// Its place in the order, for sorting too.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.0.binary_search(&name).ok()
    }

    /// The positions of names as spans, `0-12 15`; `None` without any.
    fn spans<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
        spans(names.into_iter().filter_map(|name| self.position(name)).collect())
    }
}

fn spans(positions: BTreeSet<usize>) -> Option<String> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for at in positions {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => spans.push((at, at)),
        }
    }
    let mut text = String::new();
    for (first, last) in spans {
        let space = if text.is_empty() { "" } else { " " };
        _ = write!(text, "{space}{first}");
        if first < last {
            _ = write!(text, "-{last}");
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The values by which a row can be filtered.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) ops: Option<String>,
    pub(super) gpu: Option<usize>,
    pub(super) implementations: Option<String>,
}

/// All values of a dashboard.
pub(super) struct Filter<'a> {
    ops: Names<'a>,
    gpus: Names<'a>,
    implementations: Names<'a>,
    /// Positions of ops and of implementations that an entry has times of.
    of_entries: HashMap<i64, [BTreeSet<usize>; 2]>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(dashboard: &'a Dashboard) -> Self {
        let Dashboard { runs, benches, entries, lines, .. } = dashboard;
        let ops = runs.iter().map(|run| &run.ops).chain(benches.iter().map(|bench| &bench.ops));
        let ops = ops.flatten().map(String::as_str);
        let of_lines = lines.iter().map(|line| &*line.series.op);
        let gpus = runs.iter().map(|run| &*run.device);
        let gpus = gpus.chain(benches.iter().map(|bench| &*bench.device));
        let gpus = gpus.chain(entries.iter().map(|entry| &*entry.device));
        let gpus = gpus.chain(lines.iter().map(|line| &*line.gpu));
        let of_runs = runs.iter().flat_map(|run| of_run(&run.backend, run.baseline.as_deref()));
        let of_benches = benches.iter().flat_map(|bench| &bench.implementations);
        let implementations = of_runs
            .chain(of_benches.flat_map(|one| of_bench(&one.implementation)))
            .chain(lines.iter().map(|line| &*line.series.implementation));
        let mut filter = Self {
            ops: Names::new(ops.chain(of_lines)),
            gpus: Names::new(gpus),
            implementations: Names::new(implementations),
            of_entries: HashMap::new(),
        };
        filter.read(lines);
        filter
    }

    fn read(&mut self, lines: &[Line]) {
        for line in lines {
            let op = self.ops.position(&line.series.op);
            let implementation = self.implementations.position(&line.series.implementation);
            for point in &line.points {
                let [ops, implementations] = self.of_entries.entry(point.entry).or_default();
                ops.extend(op);
                implementations.extend(implementation);
            }
        }
    }

    /// Those of a run, or of one implementation of a bench.
    pub(super) fn keys<'n>(
        &self,
        ops: &[String],
        gpu: &str,
        implementations: impl IntoIterator<Item = &'n str>,
    ) -> Keys {
        Keys {
            ops: self.ops.spans(ops.iter().map(String::as_str)),
            gpu: self.gpu(gpu),
            implementations: self.implementations.spans(implementations),
        }
    }

    /// Those of an entry of the history.
    pub(super) fn keys_of_entry(&self, number: i64, gpu: &str) -> Keys {
        let [ops, implementations] = self.of_entries.get(&number).cloned().unwrap_or_default();
        let (ops, implementations) = (spans(ops), spans(implementations));
        Keys { ops, gpu: self.gpu(gpu), implementations }
    }

    /// The place of a GPU among all.
    pub(super) fn gpu(&self, name: &str) -> Option<usize> {
        self.gpus.position(name)
    }

    /// The place of an implementation among all.
    pub(super) fn implementation(&self, name: &str) -> Option<usize> {
        self.implementations.position(name)
    }

    /// The fields; the script shows them.
    pub(super) fn form(&self) -> Markup {
        let choices = [
            ("op", "Op", &self.ops),
            ("gpu", "GPU", &self.gpus),
            ("implementation", "Implementation", &self.implementations),
        ];
        html! {
            form #choose hidden autocomplete="off" aria-label="Filter" {
                @for (name, title, Names(names)) in choices {
                    @if 1 < names.len() {
                        label {
                            (title) " "
                            select name=(name) {
                                option value="" { "all" }
                                @for (at, name) in names.iter().enumerate() { option value=(at) { (name) } }
                            }
                        }
                    }
                }
                label { "From " input type="date" name="from"; }
                label { "To " input type="date" name="to"; }
                button type="reset" { "Show all" }
                output aria-live="polite" {}
            }
        }
    }
}

/// The implementations that a run has times of: its own kernels, by two names, and its baseline.
pub(super) fn of_run<'n>(
    backend: &'n str,
    baseline: Option<&'n str>,
) -> impl Iterator<Item = &'n str> {
    [OF_RUN, backend].into_iter().chain(baseline)
}

/// The names of an implementation of a bench: `run:ID` is that of any run, too.
pub(super) fn of_bench(implementation: &str) -> impl Iterator<Item = &str> {
    let is_run = implementation.split_once(':').is_some_and(|(kind, _)| kind == OF_RUN);
    std::iter::once(implementation).chain(is_run.then_some(OF_RUN))
}
