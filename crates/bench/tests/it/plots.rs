//! The drawings as files.

use std::collections::BTreeSet;

use kgen_bench::plots;
use roxmltree::Document;

use crate::sample;

#[test]
fn a_grid_has_lines_heat_maps_and_rooflines() {
    let plots = plots(&sample::grid());
    let names: Vec<&str> = plots.iter().map(|(name, _)| &**name).collect();
    for name in [
        "layer_norm_f32_time_over_s.svg",
        "gelu_bf16_bandwidth_over_d.svg",
        "gelu_f32_speedup_over_s.svg",
        "gelu_f32_speedup_torch_compile_over_s_d.svg",
        "roofline.svg",
        "floor.svg",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    assert_eq!(names.len(), 4 * 2 * 3 + 2 * 3 + 2 * 2 + 2);
}

#[test]
fn calls_over_the_same_axes_have_drawings_of_their_own() {
    let mut bench = sample::grid_of(&[16], &[256, 512], &[768]);
    let of = |call: Option<&str>| {
        let mut bench = bench.clone();
        bench.cells.iter_mut().for_each(|cell| cell.call = call.map(str::to_owned));
        bench
    };
    let [one, other] = [of(Some("self = \"[s, d]\"")), of(Some("self = \"[d, s]\""))];
    assert_eq!(plots(&one), plots(&bench));
    bench.cells.clone_from(&one.cells);
    for mut cell in other.cells {
        cell.case.push_str("#2");
        bench.cells.push(cell);
    }
    let of_time = plots(&bench);
    let of_time: Vec<_> =
        of_time.iter().filter(|(name, _)| name.starts_with("gelu_f32_time_over_s")).collect();
    assert_eq!(of_time.len(), 2);
    assert!(of_time[0].1.contains("[s, d]") && of_time[1].1.contains("[d, s]"));
}

#[test]
fn files_stand_alone_under_safe_names() {
    for bench in [sample::grid(), sample::suite(), sample::hostile(), crate::page::large()] {
        let plots = plots(&bench);
        assert!(!plots.is_empty());
        let names: BTreeSet<String> = plots.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert_eq!(names.len(), plots.len());
        for (name, svg) in &plots {
            let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            assert!(name.chars().all(is_safe) && !name.starts_with('.'), "{name}");
            assert!(name.len() < 200 && name.ends_with(".svg"), "{name}");
            let document = Document::parse(svg).unwrap();
            let root = document.root_element();
            assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
            let elements: BTreeSet<&str> =
                document.descendants().map(|node| node.tag_name().name()).collect();
            assert!(elements.contains("path") || elements.contains("rect"), "{name}");
            assert!(!elements.contains("script") && !elements.contains("img"), "{name}");
            // Converters know no variables.
            assert!(!svg.contains("var(") && !svg.contains("NaN"), "{name}");
        }
    }
    assert!(plots(&sample::empty(&[], &[])).is_empty());
}

#[test]
fn long_names_are_in_a_legend() {
    let plots = plots(&sample::suite());
    let (_, svg) = plots.iter().find(|(name, _)| name == "roofline.svg").unwrap();
    assert!(svg.contains(">run:run_20261124_083000_best_of_sixteen</text>"));
}
