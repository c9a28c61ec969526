//! `docs/mutation.md`.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use super::{MutantReport, Nature, root};

const HEAD: &str = "\
# Mutation score of the emulator

Kernels of `crates/emu-corpus` made wrong by one changed line each (`crates/emu-corpus/mutants`, frozen before the sanitizer
was tuned), run on the emulator with all checks on two seeds. This page is made by
`KGEN_UPDATE_DOCS=1 cargo test -p kgen-emu-check -- --ignored`, and a test fails when it is stale.

Mutants were classified without the emulator, on a GPU (`crates/emu-corpus/mutants/classified.json`):
**changed** if on one of six seeds its outputs differ from the f64 reference, it faults, hangs or damages a guard zone;
**undefined** if its outputs were right and compute-sanitizer reports it, or if the CUDA model gives it no meaning in a way
compute-sanitizer cannot see (the file says why); **equivalent** otherwise. Only the first two should be detected.

**Detected** means an error finding, a launch that does not end, or an output that differs from the f64 reference. A line is
**right** if a finding, the other place it names, or the stop of the launch is in one of the lines that the mutant's table gives
(where the defect is, or where its effect is used). A defect that only the output shows has no line, and counts for neither side of that
share.
";

/// Numbers of one row.
#[derive(Default)]
struct ClassCounts {
    mutants: usize,
    changed: usize,
    undefined: usize,
    equivalent: usize,
    detected: usize,
    by_output_alone: usize,
    right: usize,
    /// Equivalent mutants with an error finding.
    strict: usize,
}

impl ClassCounts {
    fn add(&mut self, one: &MutantReport) {
        self.mutants += 1;
        match one.nature {
            Some(Nature::Changed) => self.changed += 1,
            Some(Nature::Undefined) => self.undefined += 1,
            Some(Nature::Equivalent) => self.equivalent += 1,
            None => {}
        }
        if one.nature == Some(Nature::Equivalent) && one.is_detected() {
            self.strict += 1;
        }
        // Unclassified mutants are shown as if they counted.
        if one.nature == Some(Nature::Equivalent) || !one.is_detected() {
            return;
        }
        self.detected += 1;
        match one.line_is_right() {
            Some(true) => self.right += 1,
            Some(false) => {}
            None => self.by_output_alone += 1,
        }
    }

    fn cells(&self, name: &str) -> String {
        let Self { mutants, changed, undefined, equivalent, detected, by_output_alone, .. } = self;
        let with_line = detected - by_output_alone;
        format!(
            "| {name} | {mutants} | {changed} | {undefined} | {equivalent} | {detected} | \
             {by_output_alone} | {} of {with_line} | {} |",
            self.right, self.strict
        )
    }
}

fn table(title: &str, rows: &BTreeMap<String, ClassCounts>, total: Option<&ClassCounts>) -> String {
    let mut text = format!(
        "| {title} | mutants | changed | undefined | equivalent | detected | by output alone | \
         line right | equivalent, reported |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for (name, row) in rows {
        writeln!(text, "{}", row.cells(name)).unwrap();
    }
    if let Some(total) = total {
        writeln!(text, "{}", total.cells("**all**")).unwrap();
    }
    text
}

/// Makes the page.
pub(super) fn render(judged: &[MutantReport], n_kernels: usize) -> String {
    let (mut classes, mut kernels) = (BTreeMap::new(), BTreeMap::new());
    let mut total = ClassCounts::default();
    for one in judged {
        let class = one.mutant.id.split('.').nth(1).unwrap_or_default().replace('_', " ");
        let kernel = format!("`{}`", one.mutant.kernel.name);
        classes.entry(class).or_insert_with(ClassCounts::default).add(one);
        kernels.entry(kernel).or_insert_with(ClassCounts::default).add(one);
        total.add(one);
    }
    let n_counted = total.changed + total.undefined;
    let n_unclassified = total.mutants - n_counted - total.equivalent;
    let mut text = HEAD.to_owned();
    writeln!(
        text,
        "\n{} mutants of {} kernels. The {n_kernels} kernels as they should be have no error finding on sm_80 and \
         sm_90a.",
        total.mutants,
        kernels.len(),
    )
    .unwrap();
    if n_unclassified > 0 {
        writeln!(
            text,
            "**{n_unclassified} are not classified yet**; they are shown as if all should be detected."
        )
        .unwrap();
    }
    write!(text, "\n{}", table("class", &classes, Some(&total))).unwrap();
    write!(text, "\n{}", table("kernel", &kernels, None)).unwrap();
    let should = |one: &&MutantReport| one.nature != Some(Nature::Equivalent);
    list(&mut text, "Not detected", judged.iter().filter(should).filter(|one| !one.is_detected()));
    let off = |one: &&MutantReport| one.line_is_right() == Some(false);
    list(&mut text, "With another line", judged.iter().filter(should).filter(off));
    let strict = |one: &&MutantReport| one.nature == Some(Nature::Equivalent) && one.is_detected();
    list(&mut text, "Equivalent by output, and reported", judged.iter().filter(strict));
    text
}

fn list<'a>(text: &mut String, title: &str, which: impl Iterator<Item = &'a MutantReport>) {
    let mut which = which.peekable();
    if which.peek().is_none() {
        return;
    }
    write!(text, "\n## {title}\n\n").unwrap();
    for one in which {
        let found: Vec<_> =
            one.found.iter().take(2).map(|(kind, lines)| format!("{kind} at {lines:?}")).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        let nature = one.nature.map_or("not classified".to_owned(), |n| format!("{n:?}"));
        let (id, line) = (&one.mutant.id, one.mutant.line);
        let nature = nature.to_lowercase();
        let report = &one.mutant.report;
        writeln!(text, "* `{id}` ({nature}, line {line}, to be reported at {report:?}): {found}")
            .unwrap();
    }
}

/// Compares the page with the committed one, or writes it where that is asked for.
pub(super) fn is_current(text: &str) {
    let path = root().join("docs/mutation.md");
    #[expect(clippy::disallowed_methods, reason = "a switch of the tests, none of kgen's")]
    if std::env::var_os("KGEN_UPDATE_DOCS").is_some_and(|value| value == "1") {
        fs::write(&path, text).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/mutation.md is stale; the head of its file says how it is made"
    );
}
