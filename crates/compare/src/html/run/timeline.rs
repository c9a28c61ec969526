//! Attempts as bars over time, a row per op. Pauses in which nothing was worked on are cut out, so that
//! a run that was resumed a week later can be read.

use maud::{Markup, html};

use crate::{
    data::{Attempt, Op, Run},
    html::{
        key::shorten,
        number::{seconds, times},
        plot::{self, About, Area, Axis, Scale, WIDTH},
        section as framed,
    },
};

/// Height of a lane, and of the line with an op's name above its lanes.
const LANE: f64 = 15.0;
const NAME: f64 = 18.0;

/// Ops that are drawn at most.
const MOST_OPS: usize = 100;

/// Share of the time worked above which a pause is cut out.
const LEAST_PAUSE: f64 = 0.02;

/// Width of a bar that has room for the number of its attempt.
const WIDE: f64 = 16.0;

/// The section; it says so where no times are known.
pub(super) fn section(run: &Run) -> Markup {
    let reached: Vec<&Op> = run.ops.iter().filter(|op| op.reached()).take(MOST_OPS).collect();
    let spans = reached.iter().flat_map(|op| &op.attempts).filter_map(|one| one.time);
    let clock = Clock::new(spans.collect());
    let n_reached = run.ops.iter().filter(|op| op.reached()).count();
    framed(
        "timeline",
        "Attempts over time",
        html! {
            @if clock.worked == 0.0 { p { "Not known: no attempt is over." } } @else {
                div.plots { (figure(&reached, &clock)) }
                @if !clock.cuts.is_empty() {
                    p.note {
                        "Dashed: a pause, cut out (" (clock.cuts.len()) ", " (seconds(clock.paused))
                        " together)."
                    }
                }
                @if MOST_OPS < n_reached {
                    p.note { "Drawn are " (MOST_OPS) " ops of " (n_reached) "." }
                }
            }
        },
    )
}

/// Time without its pauses.
struct Clock {
    /// Stretches in which something was worked on, ascending and apart, in seconds since 1970.
    stretches: Vec<[f64; 2]>,
    /// Seconds worked before each cut.
    cuts: Vec<f64>,
    /// Seconds of all stretches.
    worked: f64,
    /// Seconds that were cut out.
    paused: f64,
}

impl Clock {
    fn new(mut spans: Vec<[f64; 2]>) -> Self {
        spans.retain(|[from, to]| from.is_finite() && from <= to);
        spans.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let mut stretches = joined(&spans, 0.0);
        let busy: f64 = stretches.iter().map(|[from, to]| to - from).sum();
        stretches = joined(&stretches, LEAST_PAUSE * busy);
        let mut clock = Self { stretches: Vec::new(), cuts: Vec::new(), worked: 0.0, paused: 0.0 };
        for [from, to] in stretches {
            if let Some([_, last]) = clock.stretches.last() {
                clock.paused += from - last;
                clock.cuts.push(clock.worked);
            }
            clock.worked += to - from;
            clock.stretches.push([from, to]);
        }
        clock
    }

    /// Seconds worked until a time.
    fn at(&self, time: f64) -> f64 {
        let until = |[from, to]: &[f64; 2]| (time.min(*to) - from).max(0.0);
        self.stretches.iter().map(until).sum()
    }
}

/// Joins ascending spans whose gaps are at most so long.
fn joined(spans: &[[f64; 2]], gap: f64) -> Vec<[f64; 2]> {
    let mut joined: Vec<[f64; 2]> = Vec::new();
    for &[from, to] in spans {
        match joined.last_mut() {
            Some(last) if from <= last[1] + gap => last[1] = last[1].max(to),
            _ => joined.push([from, to]),
        }
    }
    joined
}

/// Which lane each span takes, so that those of one lane do not overlap.
fn lanes(spans: &[[f64; 2]]) -> (Vec<usize>, usize) {
    let mut ends: Vec<f64> = Vec::new();
    let lane = |[from, to]: &[f64; 2]| {
        let free = ends.iter().position(|end| *end <= *from).unwrap_or(ends.len());
        if free == ends.len() {
            ends.push(*to);
        } else {
            ends[free] = *to;
        }
        free
    };
    let lanes = spans.iter().map(lane).collect();
    (lanes, ends.len().max(1))
}

/// An op on the drawing.
struct Row<'a> {
    op: &'a Op,
    /// Its attempts with their lanes, in the order of their beginnings.
    attempts: Vec<(&'a Attempt, usize)>,
    top: f64,
}

/// Places ops below each other; returns them with the end of the last one.
fn rows<'a>(ops: &[&'a Op], mut top: f64) -> (Vec<Row<'a>>, f64) {
    let mut rows = Vec::new();
    for op in ops {
        let timed = op.attempts.iter().filter_map(|attempt| Some((attempt, attempt.time?)));
        let mut timed: Vec<(&Attempt, [f64; 2])> = timed.collect();
        timed.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
        let spans: Vec<[f64; 2]> = timed.iter().map(|(_, span)| *span).collect();
        let (lanes, n_lanes) = lanes(&spans);
        let attempts = timed.into_iter().map(|(attempt, _)| attempt).zip(lanes).collect();
        rows.push(Row { op, attempts, top });
        top += NAME + LANE * n_lanes as f64;
    }
    (rows, top)
}

fn figure(ops: &[&Op], clock: &Clock) -> Markup {
    let (rows, end) = rows(ops, 4.0);
    let area = Area { x: (8.0, WIDTH - 8.0), y: (4.0, end + 4.0) };
    let scale = Scale::linear((0.0, clock.worked), area.x);
    let (unit, name) = unit(clock.worked);
    let in_unit = Scale::linear((0.0, clock.worked / unit), area.x);
    let show = |value: f64| format!("{}", (value * 1000.0).round() / 1000.0);
    let title = format!("{name} of work on the run");
    let axis = Axis { scale: in_unit, ticks: in_unit.ticks(7), show: &show, title: &title };
    let drawing = html! {
        @for cut in clock.cuts.iter().map(|cut| scale.place(*cut)) {
            (plot::path("one", &[(cut, area.y.0), (cut, area.y.1)]))
        }
        @for Row { op, attempts, top } in &rows {
            (plot::label("op", (area.x.0, top + 12.0), &shorten(&op.name, 30)))
            (plot::label("tick end halo", (area.x.1, top + 12.0), &outcome(op)))
            @for (attempt, lane) in attempts {
                (bar(op, attempt, (&scale, clock), top + NAME + LANE * *lane as f64))
            }
        }
        (plot::axis_below(&area, &axis))
    };
    let about = About {
        id: "attempts",
        nth: 0,
        title: "Attempts at each op",
        caption: "Full: passed; hollow: did not; heavy edge: the best of its op. Waiting for the model is part of \
                  an attempt.",
    };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
}

/// A unit in which so many seconds are a small number.
fn unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 120.0 => (1.0, "seconds"),
        s if s < 7200.0 => (60.0, "minutes"),
        _ => (3600.0, "hours"),
    }
}

/// `3 attempts, 1.36×`.
fn outcome(op: &Op) -> String {
    let n = op.attempts.len();
    let attempts = format!("{n} attempt{}", if n == 1 { "" } else { "s" });
    let speedup = op.speedups.first().filter(|_| op.solved);
    match speedup {
        Some(speedup) => format!("{attempts}, {}", times(speedup.shown())),
        None if op.solved => format!("{attempts}, passed"),
        None => format!("{attempts}, not solved"),
    }
}

fn bar(op: &Op, attempt: &Attempt, (scale, clock): (&Scale, &Clock), top: f64) -> Markup {
    let Some(time) = attempt.time else { return Markup::default() };
    let [left, right] = time.map(|time| scale.place(clock.at(time)));
    let mut title = format!("{} attempt {}: {}", op.name, attempt.number, attempt.verdict);
    if let Some(speedup) = attempt.speedups.first() {
        title = format!("{title}, {} over {}", times(speedup.shown()), speedup.baseline);
    }
    title = format!("{title}, {}", seconds(time[1] - time[0]));
    let result = if attempt.passed { "passed" } else { "failed" };
    let best = if op.best == Some(attempt.number) { " best" } else { "" };
    html! {
        (plot::bar(&format!("attempt {result}{best}"), (left, top), (right, top + LANE - 3.0), &title))
        @if WIDE < right - left {
            (plot::label(&format!("mid number {result}"), ((left + right) / 2.0, top + LANE - 5.0),
                &attempt.number.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_cut_out_and_short_gaps_stay() {
        let clock = Clock::new(vec![[1000.0, 1040.0], [0.0, 50.0], [51.0, 60.0], [20.0, 55.0]]);
        assert_eq!(clock.stretches, [[0.0, 60.0], [1000.0, 1040.0]]);
        assert_eq!(
            (clock.cuts.as_slice(), clock.worked, clock.paused),
            (&[60.0][..], 100.0, 940.0)
        );
        for (time, worked) in
            [(0.0, 0.0), (55.5, 55.5), (500.0, 60.0), (1010.0, 70.0), (9e9, 100.0)]
        {
            assert!((clock.at(time) - worked).abs() < 1e-9, "{time}");
        }
        assert!(Clock::new(vec![[f64::NAN, 1.0], [3.0, 2.0]]).stretches.is_empty());
    }

    #[test]
    fn attempts_at_the_same_time_lie_beside_each_other() {
        assert_eq!(lanes(&[[0.0, 5.0], [0.0, 3.0], [3.0, 4.0], [5.0, 6.0]]), (vec![0, 1, 1, 0], 2));
        assert_eq!(lanes(&[]), (vec![], 1));
    }
}
