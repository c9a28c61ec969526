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
