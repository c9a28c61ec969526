//! The parsers on files that the tools wrote on an H200 (ncu 2025.3.1, compute-sanitizer and
//! nvdisasm of CUDA 13.0), trimmed.

use crate::{
    ncu::{self, NcuError},
    perf,
    report::{self, Report},
    rules::{self, Bound},
    sanitizer::{self, Tool},
    sass,
    summary::{self, Facts, MAX_LINES},
};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/", $name))
    };
}

const RAW: [(&str, &str); 5] = [
    ("add_f32", fixture!("ncu-add_f32-raw.csv")),
    ("softmax_rows", fixture!("ncu-softmax_rows-raw.csv")),
    ("spill", fixture!("ncu-spill-raw.csv")),
    ("tiny", fixture!("ncu-tiny-raw.csv")),
    ("transpose_bad", fixture!("ncu-transpose_bad-raw.csv")),
];

fn launch(name: &str) -> ncu::Launch {
    let (_, text) = RAW.into_iter().find(|(kernel, _)| *kernel == name).unwrap();
    let launches = ncu::launches(text);
    assert_eq!(launches.len(), 1);
    launches.into_iter().next().unwrap()
}

fn close(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} is not {expected}");
}

#[test]
fn raw_pages_come_in_base_units() {
    let softmax = launch("softmax_rows");
    assert_eq!(softmax.kernel, "softmax_rows");
    assert_eq!((softmax.grid, softmax.block), (Some([4096, 1, 1]), Some([256, 1, 1])));
    assert_eq!(softmax.cc.as_deref(), Some("9.0"));
    close(softmax.metric("gpu__time_duration.sum"), 67_392.0);
    close(softmax.metric("dram__bytes.sum.per_second"), 1.681_466e12);
    close(softmax.metric("dram__bytes_read.sum"), 67_209_728.0);
    close(softmax.metric("gpc__cycles_elapsed.avg.per_second"), 1.971_282e9);
    close(softmax.metric("launch__waves_per_multiprocessor"), 3.88);
    // A metric without a value is absent, not 0.
    assert_eq!(softmax.metric("derived__local_spilling_requests_pct"), None);
    assert_eq!(softmax.metric("launch__cluster_scheduling_policy"), None);
}

#[test]
fn every_metric_that_is_asked_for_was_measured_on_an_h200() {
    let softmax = launch("softmax_rows");
    for metric in ncu::metrics() {
        assert!(softmax.metric(&metric).is_some(), "{metric}");
    }
}

#[test]
fn a_metric_that_does_not_exist_is_absent() {
    // The log of `--csv` without a report: noise, then the page `details`.
    let text = fixture!("ncu-bad-metric.log");
    assert!(
        ncu::launches(text).iter().all(|launch| launch.metric("no__such_metric.sum").is_none())
    );
    assert_eq!(ncu::failure(text), None);
}

#[test]
fn the_log_says_why_there_is_no_profile() {
    assert_eq!(ncu::failure(fixture!("ncu-softmax_rows.log")), None);
    assert_eq!(ncu::failure(fixture!("ncu-no-kernel.log")), Some(NcuError::NoLaunch));
    let denied = "==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not \
                  have permission to access NVIDIA GPU Performance Counters on the target device 0.";
    assert_eq!(ncu::failure(denied), Some(NcuError::NotPermitted));
    let metric = NcuError::Metric("sm__no_such.sum".to_owned());
    assert_eq!(ncu::failure("==ERROR== Failed to find metric sm__no_such.sum\n"), Some(metric));
    assert_eq!(ncu::failure(fixture!("ncu-fault.log")), Some(NcuError::Fault));
    let other = NcuError::Other("Failed to connect to process".to_owned());
    assert_eq!(ncu::failure("==ERROR== Failed to connect to process\n"), Some(other));
}

#[test]
fn the_bound_is_that_of_the_tools_own_rule() {
    for (kernel, expected) in [
        ("add_f32", Bound::Memory),
        ("softmax_rows", Bound::Latency),
        ("tiny", Bound::Latency),
        ("transpose_bad", Bound::Memory),
    ] {
        assert_eq!(rules::bound(&launch(kernel)), Some(expected), "{kernel}");
    }
    assert_eq!(rules::bound(&ncu::Launch::default()), None);
}

#[test]
fn rules_fire_where_they_should() {
    let fires = |kernel: &str, word: &str| {
        rules::fired(&launch(kernel)).iter().any(|rule| rule.contains(word))
    };
    for (kernel, word) in [
        ("softmax_rows", "long_scoreboard"),
        ("tiny", "grid is too small"),
        ("spill", "local memory is used"),
        ("transpose_bad", "bank conflicts"),
        ("transpose_bad", "drain"),
        ("add_f32", "long_scoreboard"),
    ] {
        assert!(fires(kernel, word), "{kernel}: {:?}", rules::fired(&launch(kernel)));
    }
    for (kernel, word) in [
        ("softmax_rows", "grid is too small"),
        ("softmax_rows", "bank conflicts"),
        ("add_f32", "local memory is used"),
        ("add_f32", "divergence"),
    ] {
        assert!(!fires(kernel, word), "{kernel}: {:?}", rules::fired(&launch(kernel)));
    }
    assert!(rules::fired(&ncu::Launch::default()).is_empty());
}

#[test]
fn shares_of_stalls_are_those_of_the_time_of_a_warp() {
    let stalls = rules::stalls(&launch("softmax_rows"));
    assert_eq!(stalls[0].0, "long_scoreboard");
    assert!((stalls[0].1 - 16.994_621 / 27.214_414).abs() < 1e-9);
    assert_eq!(rules::occupancy_limiter(&launch("softmax_rows")), Some(("registers", 8.0)));
}

#[test]
fn advice_comes_with_the_most_promising_first() {
    let advice = ncu::advice(fixture!("ncu-transpose_bad-details.csv"));
    assert_eq!(advice[0].rule, "UncoalescedSharedAccess");
    assert_eq!(advice[0].speedup_percent, Some(96.78));
    assert!(advice[0].text.starts_with("This kernel has uncoalesced shared accesses"));
    assert!(advice[0].text.ends_with("wavefronts)"), "{}", advice[0].text);
    assert_eq!(advice[1].speedup_percent, Some(76.91));
    let softmax = ncu::advice(fixture!("ncu-softmax_rows-details.csv"));
    assert!(softmax.iter().any(|advice| advice.rule == "SOLBottleneck"));
    // Notes (`INF`) advise nothing.
    assert!(softmax.iter().all(|advice| !advice.text.starts_with("Check the Warp Stall")));
}

#[test]
fn hot_lines_are_found_in_spite_of_quotes_in_the_source() {
    let hot = ncu::hot_lines(fixture!("ncu-softmax_rows-source.csv"), 8);
    assert_eq!((hot[0].line, hot[0].file.as_str()), (5, "/src/cap.cu"));
    let (stall, share) = hot[0].stall.clone().unwrap();
    assert_eq!(stall, "long_scoreboard");
    assert!((share - 4971.0 / 8081.0).abs() < 0.01, "{share}");
    // An inlined instruction stands below two lines; in the sum it counts once.
    assert_eq!(hot[1].line, 449);
    assert!((hot[1].share - 22.0 / 4287.0).abs() < 1e-12, "{}", hot[1].share);
    let transpose = ncu::hot_lines(fixture!("ncu-transpose_bad-source.csv"), 1);
    assert_eq!(transpose.len(), 1);
    assert!(0.9 < transpose[0].share && transpose[0].share <= 1.0);
    assert!(ncu::hot_lines(RAW[0].1, 8).is_empty());
}

const SANITIZED: [(&str, &str, &str); 6] = [
    ("", fixture!("sanitizer-memcheck-add_f32.xml"), fixture!("sanitizer-memcheck-add_f32.txt")),
    (
        "Invalid __global__ write of size 4 bytes is out of bounds in oob at cap.cu:11",
        fixture!("sanitizer-memcheck-oob.xml"),
        fixture!("sanitizer-memcheck-oob.txt"),
    ),
    (
        "Invalid __global__ write of size 16 bytes is misaligned in misaligned at cap.cu:12",
        fixture!("sanitizer-memcheck-misaligned.xml"),
        fixture!("sanitizer-memcheck-misaligned.txt"),
    ),
    (
        "Uninitialized __global__ memory read of size 4 bytes in uninit at cap.cu:14",
        fixture!("sanitizer-initcheck-uninit.xml"),
        fixture!("sanitizer-initcheck-uninit.txt"),
    ),
    (
        "Race condition: write in race_shared at cap.cu:13, against read in race_shared at cap.cu:13",
        fixture!("sanitizer-racecheck-race_shared.xml"),
        fixture!("sanitizer-racecheck-race_shared.txt"),
    ),
    (
        "Barrier error",
        fixture!("sanitizer-synccheck-bad_barrier.xml"),
        fixture!("sanitizer-synccheck-bad_barrier.txt"),
    ),
];

#[test]
fn both_forms_of_a_report_say_the_same() {
    for (expected, xml, text) in SANITIZED {
        let from_xml = sanitizer::parse_xml(xml).unwrap();
        let from_text = sanitizer::parse_text(text);
        if expected.is_empty() {
            assert!(from_xml.is_empty() && from_text.is_empty(), "{from_xml:?} {from_text:?}");
            continue;
        }
        for reports in [&from_xml, &from_text] {
            assert_eq!(reports.len(), 1, "{expected}: {reports:?}");
            assert!(reports[0].line().starts_with(expected), "{}", reports[0].line());
            assert!(1 < reports[0].n, "{:?}", reports[0]);
        }
        assert_eq!(from_xml[0].place, from_text[0].place);
        assert_eq!(from_xml[0].thread, from_text[0].thread);
        assert_eq!(from_xml[0].other, from_text[0].other);
    }
}

#[test]
fn a_fault_inside_a_header_is_the_kernels() {
    let reports = sanitizer::parse_xml(fixture!("sanitizer-synccheck-bad_barrier.xml")).unwrap();
    assert_eq!(
        (reports[0].place.function.as_str(), reports[0].place.line),
        ("bad_barrier", Some(15))
    );
}

#[test]
fn of_several_frames_the_outermost_is_the_kernels() {
    let xml = fixture!("sanitizer-synccheck-bad_barrier.xml");
    let inner = "<frame><func>inner</func><path>/src/i.h</path><line>3</line></frame>";
    let xml = xml.replace("<deviceStack>", &format!("<deviceStack>{inner}"));
    let text = fixture!("sanitizer-synccheck-bad_barrier.txt");
    let outer = "=========         Device Frame: bad_barrier";
    let text = text
        .replace(outer, &format!("=========         Device Frame: inner+0x10 in i.h:3\n{outer}"));
    for reports in [sanitizer::parse_xml(&xml).unwrap(), sanitizer::parse_text(&text)] {
        assert_eq!(reports[0].place.function, "bad_barrier", "{reports:?}");
    }
}

#[test]
fn a_launch_without_a_single_number_is_none() {
    let page = "\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n\"\",\"\",\"byte\"\n";
    assert!(ncu::launches(&format!("{page}\"0\",\"k\",\"n/a\"\n")).is_empty());
    let launches = ncu::launches(&format!("{page}==PROF== noise\n\"0\",\"k\",\"1,024\"\n"));
    close(launches[0].metric("dram__bytes.sum"), 1024.0);
}

#[test]
fn summaries_of_logs_are_counted() {
    assert_eq!(sanitizer::n_errors(fixture!("sanitizer-memcheck-add_f32.txt")), Some(0));
    assert_eq!(sanitizer::n_errors(fixture!("sanitizer-memcheck-oob.txt")), Some(5));
    assert_eq!(sanitizer::n_errors(fixture!("sanitizer-racecheck-softmax_rows.txt")), Some(0));
    assert_eq!(sanitizer::n_errors("nothing"), None);
    assert!(sanitizer::internal_error("========= Internal Sanitizer Error: 7").is_some());
    assert!(sanitizer::internal_error(fixture!("sanitizer-memcheck-oob.txt")).is_none());
}

#[test]
fn machine_code_is_counted() {
    let mixes = sass::parse(fixture!("nvdisasm.json")).unwrap();
    let names: Vec<&str> = mixes.iter().map(|mix| mix.kernel.as_str()).collect();
    assert_eq!(names, ["misaligned", "tiny", "softmax_rows", "spill"]);
    let of = |name: &str| mixes.iter().find(|mix| mix.kernel == name).unwrap();
    let softmax = of("softmax_rows");
    assert_eq!(softmax.kinds["shuffles"], 10);
    assert_eq!(softmax.kinds["shared loads"], 20);
    // The slow path of a division, with its call and its return, belongs to the kernel before it.
    assert_eq!(softmax.kinds["branches"], 26 + 17 + 2);
    assert!(softmax.lints.iter().any(|lint| lint.contains("none 64 or 128")), "{softmax:?}");
    assert_eq!(of("tiny").kinds.get("f16 arithmetic"), None);
    assert!(of("misaligned").lints.is_empty(), "its only store is 128 bits wide");
    assert!(of("spill").lints.iter().any(|lint| lint.contains("local memory")));
    assert_eq!(sass::parse("[]"), None);
    assert_eq!(sass::parse("{"), None);
}

#[test]
fn a_summary_has_few_lines_and_no_made_up_numbers() {
    let launches = [launch("softmax_rows"), launch("spill"), launch("tiny")];
    let advice = ncu::advice(fixture!("ncu-transpose_bad-details.csv"));
    let hot = ncu::hot_lines(fixture!("ncu-softmax_rows-source.csv"), 8);
    let mixes = sass::parse(fixture!("nvdisasm.json")).unwrap();
    let found = sanitizer::parse_xml(SANITIZED[1].1).unwrap();
    let sanitizer: Vec<_> = Tool::ALL.into_iter().map(|tool| (tool, Ok(found.clone()))).collect();
    let notes = vec!["a note".to_owned(); 50];
    let lines = summary::lines(&Facts {
        subject: "softmax(x: f32[4096, 4096])",
        profiler: "ncu 2025.3.1",
        median_us: Some(70.0),
        baseline: Some(("builtin", 40.0)),
        floor_us: Some(35.0),
        bytes: Some(134_217_728.0),
        launches: &launches,
        advice: &advice,
        hot: &hot,
        file: "cap.cu",
        source: "1\n2\n3\n4\nfor (;;) sum += x[i];",
        sass: &mixes,
        sanitizer: &sanitizer,
        notes: &notes,
    });
    assert_eq!(lines.len(), MAX_LINES, "{lines:#?}");
    assert!(lines[1].starts_with("memcheck: Invalid __global__ write"), "{lines:#?}");
    let text = lines.join("\n");
    for expected in [
        "70.00 us; builtin 40.00 us: 0.57x; the hardware needs 35.00 us: 50 % of it reached",
        "kernel softmax_rows: grid 4096, block 256, 3.88 waves, 67.39 us, SM clock 1971 MHz",
        "limited by: latency, memory 35 % and compute 49 % of peak, DRAM 35 % (1.68 TB/s)",
        "DRAM traffic: read 67.2 MB, write 46.1 MB",
        "spent in long_scoreboard 62 %",
        "line 5: 100 % of the samples, 62 % of them long_scoreboard | for (;;) sum += x[i];",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }

    let nothing = summary::lines(&Facts { subject: "relu", ..Facts::default() });
    assert_eq!(nothing, ["profile of relu"]);
    let mut bare = [ncu::Launch::default()];
    bare[0].kernel = "k".to_owned();
    let lines = summary::lines(&Facts { subject: "relu", launches: &bare, ..Facts::default() });
    assert_eq!(lines, ["profile of relu", "kernel k"]);
}

/// A generator of bytes that need not be good, only the same every time.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 40).unwrap()
}

#[test]
fn garbage_is_read_without_a_panic() {
    let fixtures: Vec<&str> = RAW
        .iter()
        .map(|(_, text)| *text)
        .chain(SANITIZED.iter().flat_map(|(_, xml, text)| [*xml, *text]))
        .chain([
            fixture!("ncu-transpose_bad-details.csv"),
            fixture!("ncu-transpose_bad-source.csv"),
            fixture!("nvdisasm.json"),
        ])
        .collect();
    let mut state = 1;
    for fixture in fixtures {
        for _ in 0..12 {
            let mut bytes = fixture.as_bytes().to_vec();
            for _ in 0..8 {
                let at = next(&mut state) % bytes.len();
                bytes[at] = b"\",\n<>{}=0 \xff"[next(&mut state) % 11];
            }
            bytes.truncate(next(&mut state) % bytes.len() + 1);
            let text = String::from_utf8_lossy(&bytes);
            for launch in ncu::launches(&text) {
                drop(rules::fired(&launch));
            }
            drop((ncu::advice(&text), ncu::hot_lines(&text, 4), ncu::failure(&text)));
            drop((sanitizer::parse_xml(&text), sanitizer::parse_text(&text), sass::parse(&text)));
        }
    }
}

#[test]
fn all_kernels_of_a_report_of_ncu_are_in_the_summary() {
    let mut pages = RAW.into_iter().map(|(_, text)| ncu::report(text, "").unwrap());
    let softmax = pages.nth(1).unwrap();
    assert_eq!(softmax.kernels[0].name, "softmax_rows");
    close(Some(softmax.kernels[0].total_us), 67.392);
    assert!(softmax.kernels[0].occupancy_percent.is_some());
    let speed = rules::speed_of_light(&launch("softmax_rows"));
    assert_eq!(softmax.kernels[0].compute_percent.zip(softmax.kernels[0].memory_percent), speed);
    let text = report::summary(&softmax).join("\n");
    assert!(text.contains("softmax_rows") && text.contains("occupancy"), "{text}");
    let details = fixture!("ncu-softmax_rows-details.csv");
    let error = ncu::report(details, "").unwrap_err();
    assert!(error.to_string().contains("--page raw"), "{error}");
}

/// A report with more of everything than a summary has room for.
fn crowded(tool: report::Tool) -> Report {
    let mut crowded = Report::new(tool);
    let name = |i: usize| format!("a_kernel_with_a_long_name_{}_{i}", "x".repeat(90));
    let share = |i: usize| 0.9 / 2_f64.powi(i32::try_from(i).unwrap());
    crowded.span_us = Some(1e7);
    crowded.busy_share = Some(0.1);
    crowded.overlap_share = Some(0.01);
    crowded.kernels = (0..50)
        .map(|i| report::Kernel {
            name: name(i),
            calls: 1000,
            total_us: 3000.0,
            median_us: 3.0,
            share: share(i),
            compute_percent: Some(3.0),
            memory_percent: Some(4.0),
            occupancy_percent: Some(5.0),
        })
        .collect();
    crowded.copies =
        ["host to device", "device to host", "device to device", "peer to peer", "memset"]
            .map(|direction| report::Copies {
                direction: direction.to_owned(),
                calls: 7,
                bytes: Some(1 << 30),
                pageable_bytes: Some(1 << 30),
                total_us: 1e6,
                gbps: Some(1.07),
            })
            .into();
    let gap = report::Gap { start_us: 5.0, duration_us: 4e6, api: None, device: Some(1) };
    crowded.gaps = vec![gap; 10];
    crowded.functions = (0..50)
        .map(|i| report::Function {
            name: name(i),
            module: Some("libx.so".to_owned()),
            share: share(i),
            samples: Some(9),
            calls: Some(8),
            cpu_us: Some(7000.0),
            gpu_us: Some(6000.0),
        })
        .collect();
    for event in perf::EVENTS {
        crowded.counters.insert((*event).to_owned(), Some(1e9));
    }
    crowded.notes = vec!["n".repeat(1000); 20];
    crowded
}

#[test]
fn a_summary_of_a_command_has_at_most_35_lines() {
    for tool in report::Tool::ALL {
        let crowded = crowded(tool);
        let lines = report::summary(&crowded);
        assert!(lines.len() <= MAX_LINES, "{} lines: {lines:#?}", lines.len());
        assert!(lines.iter().all(|line| line.len() < 260), "{lines:#?}");
        assert!(report::findings(&crowded).len() > 8);
        assert_eq!(report::summary(&Report::new(tool)), ["nothing was recorded"]);
    }
}

#[test]
fn the_thresholds_are_a_table() {
    let rows = report::THRESHOLDS.iter();
    let rows = rows.map(|row| {
        format!("{} {} [{}]: {}", row.metric, row.condition(), row.needs(), row.meaning)
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"));
}
