//! Rooflines against figures of data sheets.

use super::*;

/// An H200 as it was measured.
fn h200() -> Peaks {
    Peaks {
        chip: Chip {
            compute_capability: (9, 0),
            sm_count: 132,
            max_sm_mhz: 1980.0,
            l2_bytes: 60 << 20,
        },
        datasheet_bandwidth: Some(Peaks::bandwidth(3201.0, 6144)),
        read_bandwidth: Some(4502e9),
        copy_bandwidth: Some(4296e9),
        triad_bandwidth: None,
        launch_floor_us: Some(3.3),
    }
}

fn pointwise(bytes: f64) -> Work {
    Work {
        read_bytes: bytes,
        write_bytes: bytes,
        flops: bytes / 4.0,
        least_flops: bytes / 4.0,
        pipe: Pipe::F32,
    }
}

fn matmul(n: f64, bytes: f64, pipe: Pipe) -> Work {
    Work {
        read_bytes: 2.0 * n * n * bytes,
        write_bytes: n * n * bytes,
        flops: 2.0 * n * n * n,
        least_flops: 2.0 * n * n * n,
        pipe,
    }
}

#[test]
fn peaks_are_those_of_the_data_sheets() {
    let chip = |capability, sm_count, max_sm_mhz| Peaks {
        chip: Chip { compute_capability: capability, sm_count, max_sm_mhz, l2_bytes: 0 },
        datasheet_bandwidth: None,
        read_bandwidth: None,
        copy_bandwidth: None,
        triad_bandwidth: None,
        launch_floor_us: None,
    };
    let h100 = chip((9, 0), 132, 1980.0);
    let a100 = chip((8, 0), 108, 1410.0);
    let l40s = chip((8, 9), 142, 2520.0);
    for (peaks, pipe, tflops) in [
        (h100, Pipe::F16, 989.4),
        (h100, Pipe::F8, 1979.0),
        (h100, Pipe::Tf32, 494.7),
        (h100, Pipe::F32, 66.9),
        (h100, Pipe::F64, 66.9),
        (a100, Pipe::F16, 312.0),
        (a100, Pipe::Tf32, 156.0),
        (a100, Pipe::F32, 19.5),
        (a100, Pipe::F64, 19.5),
        (a100, Pipe::I8, 624.0),
        (l40s, Pipe::F16, 366.0),
        (l40s, Pipe::F32, 91.6),
    ] {
        let found = peaks.flops(pipe).unwrap() / 1e12;
        assert!((found / tflops - 1.0).abs() < 0.01, "{pipe:?}: {found} and {tflops}");
    }
    assert_eq!(a100.flops(Pipe::F8), None);
    assert_eq!(chip((99, 0), 1, 1000.0).flops(Pipe::F32), None);
    assert!((Peaks::bandwidth(3201.0, 6144) / 4.917e12 - 1.0).abs() < 1e-3);
}

#[test]
fn what_bounds_an_op_is_named() {
    let peaks = h200();
    let tiny = Roofline::of(&peaks, &pointwise(4096.0)).unwrap();
    assert_eq!(tiny.limit, Limit::Launch);
    assert!(!tiny.is_impossible(0.01), "{tiny:?}");
    let large = Roofline::of(&peaks, &pointwise(1e9)).unwrap();
    assert_eq!(large.limit, Limit::Memory);
    assert!((large.floor_us - 2e9 / 4296e9 * 1e6).abs() < 1e-6);
    let product = Roofline::of(&peaks, &matmul(8192.0, 2.0, Pipe::F16)).unwrap();
    assert_eq!(product.limit, Limit::Compute);
    assert!((product.floor_us - 1111.3).abs() < 1.0, "{}", product.floor_us);
    assert!((product.percent_of_floor(1384.0) - 80.3).abs() < 0.1);
}

#[test]
fn reads_are_bounded_by_what_reading_reaches() {
    let work =
        Work { read_bytes: 4e9, write_bytes: 4.0, flops: 1e9, least_flops: 1e9, pipe: Pipe::F32 };
    let found = Roofline::of(&h200(), &work).unwrap();
    assert!((found.floor_us - 4e9 / 4502e9 * 1e6).abs() < 1e-3);
}

#[test]
fn what_fits_into_l2_is_never_impossible() {
    let found = Roofline::of(&h200(), &pointwise(30e6)).unwrap();
    assert!(!found.is_impossible(0.9), "{found:?}");
    let large = Roofline::of(&h200(), &pointwise(1e9)).unwrap();
    assert!(large.is_impossible(380.0) && !large.is_impossible(400.0), "{large:?}");
}

#[test]
fn f32_products_may_use_tensor_cores_and_16_bit_ones_no_more() {
    let single = Roofline::of(&h200(), &matmul(8192.0, 4.0, Pipe::F32)).unwrap();
    assert!(!single.is_impossible(2200.0) && single.is_impossible(1900.0), "{single:?}");
    let half = Roofline::of(&h200(), &matmul(8192.0, 2.0, Pipe::F16)).unwrap();
    assert!(half.is_impossible(1000.0) && !half.is_impossible(1020.0), "{half:?}");
}

#[test]
fn what_is_not_known_bounds_nothing() {
    let mut peaks = h200();
    peaks.read_bandwidth = None;
    peaks.copy_bandwidth = None;
    peaks.datasheet_bandwidth = None;
    peaks.launch_floor_us = None;
    peaks.chip.compute_capability = (7, 7);
    assert_eq!(Roofline::of(&peaks, &pointwise(1e9)), None);
}

#[test]
fn overhead_is_judged_by_the_empty_kernel() {
    assert!(is_overhead_dominated(12.0, 3.3) && !is_overhead_dominated(17.0, 3.3));
}
