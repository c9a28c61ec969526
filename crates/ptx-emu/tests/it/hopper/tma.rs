//! Copies by tensor maps against a model that goes element by element.

use crate::harness::{Arg, Ran, random_bits, run_with};
use ptx_emu::{
    FindingKind, Interleave, L2Promotion, Limits, OobFill, Swizzle, TensorMap, TensorMapMode,
    TensorMapType,
};

/// Bytes that a copy leaves alone.
const UNTOUCHED: u8 = 0xee;

/// A dense tensor whose rows are padded to 16 bytes, with its bytes.
pub(super) fn tensor(data_type: TensorMapType, dims: &[u64], box_dims: &[u32]) -> TensorMap {
    let mut strides = Vec::new();
    let mut stride = (dims[0] * u64::from(data_type.bytes())).next_multiple_of(16);
    for extent in &dims[1..] {
        strides.push(stride);
        stride *= extent;
    }
    TensorMap {
        data_type,
        address: 0,
        dims: dims.to_vec(),
        strides,
        element_strides: vec![1; dims.len()],
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        l2: L2Promotion::None,
        oob: OobFill::Zeros,
        mode: TensorMapMode::Tiled { box_dims: box_dims.to_vec() },
    }
}

pub(super) fn bytes_of(map: &TensorMap) -> usize {
    let rows = map.dims[1..].iter().product::<u64>();
    let row = (map.dims[0] * u64::from(map.data_type.bytes())).next_multiple_of(16);
    (rows * row) as usize
}

pub(super) fn contents(map: &TensorMap) -> Vec<u8> {
    random_bits(bytes_of(map).div_ceil(4)).iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Offset of an element in the tensor; `None` outside it.
fn offset(map: &TensorMap, at: &[i64]) -> Option<usize> {
    let inside = at.iter().zip(&map.dims).all(|(at, n)| *at >= 0 && (*at as u64) < *n);
    let strides = std::iter::once(u64::from(map.data_type.bytes())).chain(map.strides.clone());
    inside.then(|| at.iter().zip(strides).map(|(at, s)| *at as usize * s as usize).sum())
}

/// The coordinates of the elements of a tile in the order of shared memory.
fn elements(map: &TensorMap, start: &[i64], offsets: &[i64]) -> Vec<Vec<i64>> {
    let rank = map.dims.len();
    match &map.mode {
        TensorMapMode::Tiled { box_dims } => {
            let mut list = vec![Vec::new()];
            for dim in (0..rank).rev() {
                let step = if dim == 0 { 1 } else { map.element_strides[dim] as usize };
                let places: Vec<i64> = (0..box_dims[dim] as usize)
                    .step_by(step)
                    .map(|i| start[dim] + i as i64)
                    .collect();
                list = list
                    .into_iter()
                    .flat_map(|outer: Vec<i64>| {
                        places.iter().map(move |p| [vec![*p], outer.clone()].concat())
                    })
                    .collect();
            }
            list
        }
        TensorMapMode::Im2col { lower, upper, channels, pixels } => {
            let mut list = Vec::new();
            let mut pixel = start.to_vec();
            for _ in 0..*pixels {
                for c in 0..i64::from(*channels) {
                    let mut at = pixel.clone();
                    at[0] += c;
                    for (at, offset) in at[1..].iter_mut().zip(offsets) {
                        *at += offset;
                    }
                    list.push(at);
                }
                // W, then H, then D, then the next image.
                let mut dim = 1;
                while dim < rank - 1 {
                    pixel[dim] += i64::from(map.element_strides[dim]);
                    if pixel[dim] < map.dims[dim] as i64 + i64::from(upper[dim - 1]) {
                        break;
                    }
                    pixel[dim] = i64::from(lower[dim - 1]);
                    dim += 1;
                }
                if dim == rank - 1 {
                    pixel[dim] += 1;
                }
            }
            list
        }
    }
}

/// Where a byte goes: chunks of 16 bytes change places within rows of 128.
fn swizzled(swizzle: Swizzle, at: usize) -> usize {
    let (row, chunk, byte) = (at / 128, at / 16 % 8, at % 16);
    let chunk = match swizzle {
        Swizzle::None => chunk,
        Swizzle::B32 => chunk ^ (row % 2),
        Swizzle::B64 => chunk ^ (row % 4),
        Swizzle::B128 => chunk ^ (row % 8),
    };
    row * 128 + chunk * 16 + byte
}

/// The fill of an element outside the tensor.
fn outside(map: &TensorMap) -> u8 {
    // Every byte but the highest one of a NaN is 0xff; see `value`.
    match map.oob {
        OobFill::Zeros => 0,
        OobFill::Nan => 0xff,
    }
}

/// The bytes of an element.
fn value(map: &TensorMap, data: &[u8], at: &[i64]) -> Vec<u8> {
    let n = map.data_type.bytes() as usize;
    match offset(map, at) {
        Some(from) => data[from..from + n].to_vec(),
        None => {
            let mut fill = vec![outside(map); n];
            if map.oob == OobFill::Nan {
                fill[n - 1] = 0x7f;
            }
            fill
        }
    }
}

/// Bytes of a tile in shared memory.
fn expected(map: &TensorMap, data: &[u8], start: &[i64], offsets: &[i64]) -> (usize, Vec<u8>) {
    let linear: Vec<u8> =
        elements(map, start, offsets).iter().flat_map(|at| value(map, data, at)).collect();
    let mut out = vec![UNTOUCHED; linear.len().next_multiple_of(128)];
    for (at, byte) in linear.iter().enumerate() {
        out[swizzled(map.swizzle, at)] = *byte;
    }
    (linear.len(), out)
}

fn launch(kernel: &str, smem: usize, args: Vec<Arg>) -> Ran {
    let one = [1, 1, 1];
    run_with("pass/tma", kernel, one, [64, 1, 1], smem as u32, Limits::default(), args)
}

/// Loads the tile of so many bytes at a corner; the first two arguments are given.
pub(super) fn load(start: &[i64], bytes: usize, mut args: Vec<Arg>) -> Ran {
    args.extend([Arg::from(bytes as i32), Arg::from(bytes as i32)]);
    args.extend(start.iter().map(|c| Arg::from(*c as i32)));
    launch(&format!("load{}", start.len()), bytes, args)
}

fn check_load(map: &TensorMap, start: &[i64]) {
    let data = contents(map);
    let (bytes, want) = expected(map, &data, start, &[]);
    let mut args = vec![
        Arg::Map(map.clone(), data),
        Arg::Out(want.len(), 1),
        Arg::from(bytes as i32),
        Arg::from(want.len() as i32),
    ];
    args.extend(start.iter().map(|c| Arg::from(*c as i32)));
    let ran = launch(&format!("load{}", start.len()), want.len(), args).ok();
    assert_eq!(ran.findings, [], "{map:?} {start:?}");
    assert_eq!(ran.u8(1), want, "{map:?} {start:?}");
}

#[test]
fn tiles_of_all_ranks_are_loaded() {
    use TensorMapType as T;
    check_load(&tensor(T::U8, &[200], &[64]), &[96]);
    check_load(&tensor(T::F32, &[50, 9], &[32, 4]), &[4, 3]);
    check_load(&tensor(T::I32, &[12, 9, 5], &[8, 4, 2]), &[4, 3, 1]);
    check_load(&tensor(T::F64, &[6, 9, 5, 3], &[4, 2, 2, 2]), &[2, 3, 1, 1]);
    check_load(&tensor(T::Bf16, &[24, 4, 5, 3, 4], &[8, 2, 2, 2, 2]), &[8, 1, 2, 1, 1]);
}

#[test]
fn elements_outside_are_filled() {
    use TensorMapType as T;
    let map = tensor(T::F16, &[40, 10], &[32, 8]);
    for start in [[-8, -3], [24, 5], [-40, 0], [0, 100], [32, 9], [-24, -7]] {
        check_load(&map, &start);
        check_load(&TensorMap { oob: OobFill::Nan, ..map.clone() }, &start);
    }
    for data_type in [T::F32, T::F64, T::Bf16] {
        let map = tensor(data_type, &[6, 7, 2], &[4, 4, 2]);
        let map = TensorMap {
            mode: TensorMapMode::Tiled { box_dims: vec![16 / data_type.bytes() * 2, 4, 2] },
            oob: OobFill::Nan,
            ..map
        };
        check_load(&map, &[16 / i64::from(data_type.bytes()), -2, 1]);
    }
}

#[test]
fn swizzles_of_all_spans() {
    use TensorMapType as T;
    for (swizzle, bytes) in [(Swizzle::B32, 32), (Swizzle::B64, 64), (Swizzle::B128, 128)] {
        for data_type in [T::U8, T::Bf16, T::F32, T::U64] {
            let inner = bytes / data_type.bytes();
            let map = tensor(data_type, &[300, 40], &[inner, 24]);
            let map = TensorMap { swizzle, ..map };
            check_load(&map, &[i64::from(inner), 5]);
            check_load(&map, &[288, -5]);
        }
    }
}

#[test]
fn element_strides_skip() {
    let map = tensor(TensorMapType::F32, &[16, 20, 9], &[8, 8, 6]);
    check_load(&TensorMap { element_strides: vec![1, 2, 1], ..map.clone() }, &[4, 3, 2]);
    check_load(&TensorMap { element_strides: vec![1, 3, 4], ..map.clone() }, &[4, -3, 7]);
}

fn im2col(
    dims: &[u64],
    (lower, upper): (&[i32], &[i32]),
    strides: &[u32],
    channels: u32,
    pixels: u32,
) -> TensorMap {
    let map = tensor(TensorMapType::Bf16, dims, &vec![8; dims.len()]);
    let (lower, upper) = (lower.to_vec(), upper.to_vec());
    TensorMap {
        element_strides: strides.to_vec(),
        mode: TensorMapMode::Im2col { lower, upper, channels, pixels },
        ..map
    }
}

fn check_im2col(map: &TensorMap, start: &[i64], offsets: &[i64]) {
    let data = contents(map);
    let (bytes, want) = expected(map, &data, start, offsets);
    let rank = start.len();
    let mut args = vec![
        Arg::Map(map.clone(), data),
        Arg::Out(want.len(), 1),
        Arg::from(bytes as i32),
        Arg::from(want.len() as i32),
        Arg::from(rank as i32),
    ];
    let pad = |list: &[i64], n: usize| -> Vec<Arg> {
        (0..n).map(|i| Arg::from(list.get(i).copied().unwrap_or(0) as i32)).collect()
    };
    args.extend(pad(start, 5));
    args.extend(pad(offsets, 3));
    let ran = launch("im2col", want.len(), args).ok();
    assert_eq!(ran.findings, [], "{map:?} {start:?}");
    assert_eq!(ran.u8(1), want, "{map:?} {start:?} {offsets:?}");
}

#[test]
fn pixels_of_convolutions_are_walked() {
    // A 3x3 filter with padding 1 over images of 7 by 6 pixels.
    let map = im2col(&[16, 7, 6, 3], (&[-1, -1], &[-1, -1]), &[1, 1, 1, 1], 8, 64);
    for (start, offsets) in
        [([0, -1, -1, 0], [0, 0]), ([8, -1, -1, 0], [2, 1]), ([0, 3, 2, 1], [1, 2])]
    {
        check_im2col(&map, &start, &offsets);
    }
    // Stride 2, no padding, and a swizzle.
    let map = im2col(&[64, 9, 9, 2], (&[0, 0], &[-2, -2]), &[1, 2, 2, 1], 64, 32);
    let map = TensorMap { swizzle: Swizzle::B128, ..map };
    check_im2col(&map, &[0, 0, 0, 0], &[1, 1]);
    check_im2col(&map, &[0, 4, 2, 1], &[2, 0]);
    // One and three dimensions of space.
    let map = im2col(&[8, 20, 3], (&[-2], &[2]), &[1, 1, 1], 8, 40);
    check_im2col(&map, &[0, -2, 0], &[3]);
    let map = im2col(&[8, 4, 3, 5, 2], (&[-1, -1, -1], &[0, 0, 0]), &[1; 5], 8, 100);
    check_im2col(&map, &[0, -1, -1, -1, 0], &[1, 0, 1]);
}

/// Contents of a tensor after a tile of `source`, as it lies in shared memory, went there: to the end of
/// the 16 bytes in which a row of the tensor ends.
fn stored(map: &TensorMap, data: &[u8], source: &[u8], start: &[i64]) -> Vec<u8> {
    let n = map.data_type.bytes() as usize;
    let mut out = data.to_vec();
    let mut whole = map.clone();
    whole.dims[0] = (map.dims[0] * n as u64).next_multiple_of(16) / n as u64;
    for (i, at) in elements(map, start, &[]).iter().enumerate() {
        if let Some(to) = offset(&whole, at) {
            for byte in 0..n {
                out[to + byte] = source[swizzled(map.swizzle, i * n + byte)];
            }
        }
    }
    out
}

fn check_store(map: &TensorMap, start: &[i64]) {
    let data = contents(map);
    let bytes =
        (elements(map, start, &[]).len() * map.data_type.bytes() as usize).next_multiple_of(128);
    let source: Vec<u8> = random_bits(bytes / 4).iter().flat_map(|w| (!w).to_le_bytes()).collect();
    let want = stored(map, &data, &source, start);
    let mut args = vec![Arg::Map(map.clone(), data), Arg::In(source, 4), Arg::from(bytes as i32)];
    args.extend(start.iter().map(|c| Arg::from(*c as i32)));
    let ran = launch(&format!("store{}", start.len()), bytes, args).ok();
    assert_eq!(ran.findings, [], "{map:?} {start:?}");
    assert_eq!(ran.u8(0), want, "{map:?} {start:?}");
}

#[test]
fn tiles_are_stored_within_the_tensor() {
    use TensorMapType as T;
    check_store(&tensor(T::U8, &[200], &[64]), &[160]);
    let map = tensor(T::Bf16, &[100, 20], &[64, 16]);
    for start in [[0, 0], [64, 10], [-8, -3]] {
        check_store(&map, &start);
        check_store(&TensorMap { swizzle: Swizzle::B128, ..map.clone() }, &start);
    }
    check_store(&tensor(T::F32, &[12, 9, 5], &[8, 4, 2]), &[8, 7, 4]);
    check_store(&tensor(T::F64, &[6, 4, 5, 3, 2], &[2, 2, 2, 2, 2]), &[4, 3, 0, 2, 1]);
}

#[test]
fn the_last_16_bytes_of_a_row_are_stored_whole() {
    // As measured on an H200: what the tensor has of them does not matter.
    let map = tensor(TensorMapType::F32, &[5], &[32]);
    let source = vec![1; 128];
    let args = vec![Arg::Map(map, vec![0; 20]), Arg::In(source, 4), Arg::from(128), Arg::from(0)];
    let ran = launch("store1", 128, args);
    let finding = &ran.findings[0];
    assert_eq!(finding.kind, FindingKind::OutOfBoundsWrite, "{finding:?}");
}

#[test]
fn innermost_coordinates_are_multiples_of_16_bytes() {
    // An illegal instruction on an H200.
    let map = tensor(TensorMapType::F32, &[64], &[32]);
    for start in [3, -3, 30] {
        let args = vec![
            Arg::Map(map.clone(), contents(&map)),
            Arg::In(vec![1; 128], 4),
            Arg::from(128),
            Arg::from(start),
        ];
        let ran = launch("store1", 128, args);
        assert_eq!(ran.findings[0].kind, FindingKind::TensorMap);
        let text = ran.findings[0].to_string();
        assert!(text.contains(&format!("coordinate {start} is no multiple of 16 bytes")), "{text}");
    }
}

#[test]
fn rows_shorter_than_the_swizzle_are_not_emulated() {
    let map =
        TensorMap { swizzle: Swizzle::B128, ..tensor(TensorMapType::Bf16, &[64, 8], &[32, 8]) };
    let data = contents(&map);
    let args = vec![
        Arg::Map(map, data),
        Arg::Out(512, 1),
        Arg::from(512),
        Arg::from(512),
        Arg::from(0),
        Arg::from(0),
    ];
    let ran = launch("load2", 512, args);
    assert!(format!("{:?}", ran.result).contains("rows of 64 bytes"), "{:?}", ran.result);
}

#[test]
fn tiles_are_added() {
    let map = tensor(TensorMapType::I32, &[20, 12], &[16, 8]);
    let data = contents(&map);
    let (start, bytes) = ([8, 6], 16 * 8 * 4);
    let source = random_bits(bytes / 4);
    let args = vec![
        Arg::Map(map.clone(), data.clone()),
        Arg::from(&source),
        Arg::from(bytes as i32),
        Arg::from(start[0] as i32),
        Arg::from(start[1] as i32),
    ];
    let ran = launch("add2", bytes, args).ok();
    assert_eq!(ran.findings, []);
    let mut want: Vec<u32> =
        data.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    for (i, at) in elements(&map, &start, &[]).iter().enumerate() {
        if let Some(to) = offset(&map, at) {
            want[to / 4] = want[to / 4].wrapping_add(source[i]).wrapping_add(source[i]);
        }
    }
    assert_eq!(ran.u32(0), want);
}

#[test]
fn both_blocks_of_a_cluster_get_a_tile() {
    let map = tensor(TensorMapType::F32, &[8, 32], &[8, 16]);
    let data = contents(&map);
    let bytes = 8 * 16 * 4;
    let args = vec![
        Arg::Map(map, data.clone()),
        Arg::Out(2 * 2 * bytes, 1),
        Arg::from(16),
        Arg::from(bytes as i32),
    ];
    let limits = Limits::default();
    let smem = 2 * bytes as u32;
    let ran = run_with("pass/tma", "multicast", [2, 1, 1], [32, 1, 1], smem, limits, args).ok();
    assert_eq!(ran.findings, []);
    assert_eq!(ran.u8(1), [data.clone(), data].concat());
}

#[test]
fn both_blocks_of_a_cluster_get_pixels() {
    let map = im2col(&[8, 20, 3], (&[0], &[-1]), &[1, 1, 1], 8, 32);
    let data = contents(&map);
    let (bytes, want) = expected(&map, &data, &[0, 0, 0], &[1]);
    let args = vec![Arg::Map(map, data), Arg::Out(2 * bytes, 1), Arg::from(bytes as i32)];
    let limits = Limits::default();
    let smem = bytes as u32;
    let ran =
        run_with("pass/tma", "pixels_for_both", [2, 1, 1], [32, 1, 1], smem, limits, args).ok();
    assert_eq!(ran.findings, []);
    assert_eq!(ran.u8(1), [want.clone(), want].concat());
}

#[test]
fn kernels_replace_parts_of_maps() {
    let map =
        TensorMap { swizzle: Swizzle::B64, ..tensor(TensorMapType::Bf16, &[32, 8], &[32, 8]) };
    let data = contents(&map);
    let x = crate::harness::random(16 * 10);
    let args = vec![
        Arg::Map(map, data),
        Arg::In(vec![0; 256], 1),
        Arg::from(&x),
        Arg::Out(64, 4),
        Arg::from(10),
    ];
    let limits = Limits::default();
    let ran = run_with("pass/tma", "remade", [1, 1, 1], [32, 1, 1], 512, limits, args).ok();
    assert_eq!(ran.findings, []);
    let want = [x[128..].to_vec(), vec![0.0; 32]].concat();
    assert_eq!(ran.f32(3), want);
}

#[test]
fn hints_change_nothing() {
    let map = tensor(TensorMapType::F32, &[32, 8], &[32, 8]);
    let data = contents(&map);
    let x = crate::harness::random(64);
    let args = vec![Arg::Map(map, data), Arg::from(&x), Arg::Out(64, 4)];
    let ran = launch("prefetched", 0, args).ok();
    assert_eq!(ran.findings, []);
    assert_eq!(ran.f32(2), x);
}

#[test]
fn pixels_are_stored_and_added() {
    let map = im2col(&[8, 20, 3], (&[0], &[0]), &[1, 1, 1], 8, 24);
    let map = TensorMap { data_type: TensorMapType::I32, strides: vec![32, 640], ..map };
    let data = contents(&map);
    let source = random_bits(8 * 24);
    let args = vec![
        Arg::Map(map.clone(), data.clone()),
        Arg::from(&source),
        Arg::from(8 * 24 * 4),
        Arg::from(15),
        Arg::from(1),
    ];
    let ran = launch("pixels_stored", 8 * 24 * 4, args).ok();
    assert_eq!(ran.findings, []);
    let twice: Vec<u8> = source.iter().flat_map(|w| w.wrapping_mul(2).to_le_bytes()).collect();
    assert_eq!(ran.u8(0), stored(&map, &data, &twice, &[0, 15, 1]));
}
