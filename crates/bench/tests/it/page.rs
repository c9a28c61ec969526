//! The page as text.

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};
use kgen_bench::{Bench, page};
use sha2::{Digest, Sha256};

use crate::sample;

/// Looks for numbers that are none.
fn check(page: &str) {
    for text in ["NaN", "inf ", ">inf", "null"] {
        assert!(!page.contains(text), "{text:?} is in the page");
    }
    assert!(!page.contains("http:") && !page.contains("https:"), "a page of no network");
}

#[test]
fn a_grid_has_all_parts() {
    let page = page(&sample::grid());
    check(&page);
    for id in ["overall", "lines", "heat", "roofline", "samples", "cells", "method"] {
        assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    // Every outcome is in the table, and reasons are.
    for text in ["wrong_output", "not offered", "not run", "not measured", "no bfloat16"] {
        assert!(page.contains(text), "{text}");
    }
    // Two ops, two types, two axes of several values, three quantities, at the largest other values.
    let shown = page.matches("<div data-is=\"op-").count();
    assert_eq!(shown, 4 * 2 * 3 + heat_maps());
    assert_eq!(page.matches("<div hidden data-is=\"op-").count(), 4 * (2 - 1 + 3 - 1) * 3);
}

/// Per op and type one over the two long axes for each implementation that was compared; `jax` was not
/// in bf16.
fn heat_maps() -> usize {
    2 * 3 + 2 * 2
}

#[test]
fn grids_without_axes_or_lines_have_no_part_for_them() {
    let one_value = sample::grid_of(&[16], &[256], &[768]);
    for bench in [sample::suite(), one_value] {
        let page = page(&bench);
        check(&page);
        assert!(!page.contains("<section id=\"lines\""));
        assert!(page.contains("Speedup by case") && page.contains("<section id=\"cells\""));
    }
    let one_axis = page(&sample::grid_of(&[16], &[256, 512, 1024], &[768]));
    assert!(one_axis.contains("GB/s over s") && one_axis.contains("Speedup by case"));
}

#[test]
fn a_benchmark_without_times_or_cells_draws_nothing() {
    let mut bench = sample::grid();
    for cell in &mut bench.cells {
        cell.timing = None;
    }
    for bench in [bench, sample::empty(&[], &[])] {
        let page = page(&bench);
        check(&page);
        assert!(!page.contains("<figure"), "{}", bench.cells.len());
    }
}

#[test]
fn hostile_text_is_text_and_scripts_have_their_hashes() {
    let page = page(&sample::hostile());
    for markup in ["<img", "\0", "\u{1b}", "\u{202e}", "onerror=\"", "<script>window"] {
        assert!(!page.contains(markup), "{markup:?} is in the page");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    let scripts: Vec<&str> = page
        .split("<script>")
        .skip(1)
        .map(|rest| rest.split_once("</script>").unwrap().0)
        .collect();
    assert_eq!((scripts.len(), page.matches("</script>").count()), (2, 2));
    for script in scripts {
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        assert!(page.contains(&format!("'sha256-{hash}'")), "{script}");
    }
}

/// 1,152 cells of a grid of three axes.
pub(crate) fn large() -> Bench {
    sample::grid_of(&[1, 8, 16, 64], &[128, 256, 512, 1024, 2048, 4096], &[768, 1024, 4096])
}

#[test]
fn a_thousand_cells_are_a_few_megabytes() {
    let bench = large();
    assert_eq!(bench.cells.len(), 1152);
    let start = Instant::now();
    let page = page(&bench);
    let took = start.elapsed();
    println!("{} bytes in {took:?}", page.len());
    assert!(page.len() < 6 << 20, "{} bytes", page.len());
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(page.contains("drawings are left out"), "what is left out is said");
}
