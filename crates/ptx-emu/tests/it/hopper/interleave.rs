//! Copies by interleaved tensor maps, against a model that goes slice by slice. The facts were measured
//! on an H200: the innermost dimension counts slices of 16 or 32 bytes, one behind the other, and
//! of the dimension of channels (the last but one) a box takes one slice.

use super::tma::{load, tensor};
use crate::harness::{Arg, random_bits, run_module};
use ptx_emu::{
    FindingKind, Interleave, Launch, Limits, Module, OobFill, Swizzle, TensorMap, TensorMapMode,
    TensorMapType,
};

/// Extents, extents of the box, and the corner of a tile.
type Shape<'s> = (&'s [u64], &'s [u32], &'s [i64]);

const SHAPES: [Shape<'static>; 6] = [
    (&[9, 6, 4], &[8, 1, 2], &[1, 5, 1]),
    (&[9, 6, 4], &[8, 1, 2], &[5, 2, 3]),
    (&[9, 6, 4], &[8, 16, 2], &[-3, 2, -1]),
    (&[10, 5, 3, 2], &[8, 2, 1, 1], &[-1, 4, 2, 1]),
    (&[8, 6, 4, 2, 2], &[8, 3, 2, 1, 1], &[1, 4, 1, 1, 0]),
    // No channels are there.
    (&[8, 6, 4], &[8, 1, 2], &[0, 6, 0]),
];

fn map(interleave: Interleave, swizzle: Swizzle, shape: Shape<'_>) -> TensorMap {
    let (dims, box_dims, _) = shape;
    let mut strides = Vec::new();
    let mut stride = slice(interleave);
    for extent in &dims[..dims.len() - 1] {
        stride *= extent;
        // Padding shows that strides count, not extents.
        stride += slice(interleave);
        strides.push(stride);
    }
    let map = tensor(TensorMapType::F16, dims, box_dims);
    TensorMap { interleave, swizzle, strides, ..map }
}

fn slice(interleave: Interleave) -> u64 {
    if interleave == Interleave::B16 { 16 } else { 32 }
}

fn contents(map: &TensorMap) -> Vec<u8> {
    let bytes = map.strides.last().zip(map.dims.last()).map_or(0, |(stride, n)| stride * n);
    random_bits(bytes as usize / 4).iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Where each slice of a tile lies in the tensor; `None` outside it.
fn places(map: &TensorMap, start: &[i64]) -> Vec<Option<usize>> {
    let TensorMapMode::Tiled { box_dims } = &map.mode else { return Vec::new() };
    let rank = map.dims.len();
    let mut extents: Vec<usize> = box_dims.iter().map(|n| *n as usize).collect();
    extents[rank - 2] = 1;
    let steps: Vec<u64> = [vec![slice(map.interleave)], map.strides.clone()].concat();
    (0..extents.iter().product())
        .map(|mut n: usize| {
            let mut place = 0;
            let mut inside = true;
            for dim in 0..rank {
                let at = start[dim] + (n % extents[dim]) as i64;
                n /= extents[dim];
                inside &= (0..map.dims[dim] as i64).contains(&at);
                place += at * steps[dim] as i64;
            }
            inside.then_some(place as usize)
        })
        .collect()
}

/// Where a byte of a tile lies in shared memory.
fn swizzled(map: &TensorMap, at: usize) -> usize {
    if map.swizzle == Swizzle::None { at } else { at ^ (at / 128 % 2 * 16) }
}

fn check_load(map: &TensorMap, start: &[i64]) {
    let data = contents(map);
    let bytes = slice(map.interleave) as usize;
    let list = places(map, start);
    let fill: Vec<u8> = match map.oob {
        OobFill::Zeros => vec![0; bytes],
        OobFill::Nan => [0xff, 0x7f].repeat(bytes / 2),
    };
    let mut want = vec![0; bytes * list.len()];
    for (n, place) in list.iter().enumerate() {
        let from = place.map_or(fill.as_slice(), |at| &data[at..at + bytes]);
        for (byte, value) in from.iter().enumerate() {
            want[swizzled(map, n * bytes + byte)] = *value;
        }
    }
    let args = vec![Arg::Map(map.clone(), data), Arg::Out(want.len(), 1)];
    let ran = load(start, want.len(), args).ok();
    assert_eq!(ran.findings, [], "{map:?} {start:?}");
    assert_eq!(ran.u8(1), want, "{map:?} {start:?}");
}

/// A kernel that puts words into shared memory and copies the tile at a corner from there.
fn store_ptx(opcode: &str, start: &[i64], bytes: usize) -> String {
    let corner = start.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let rank = start.len();
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64
        .shared .align 1024 .b8 s[{bytes}];
        .visible .entry k(.param .align 64 .b8 m[128], .param .u64 x)
        {{
            .reg .pred %p<3>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<5>;
            mov.u32 %r0, %tid.x;
            shl.b32 %r1, %r0, 2;
            mov.u32 %r2, s;
            ld.param.u64 %rd1, [x];
            cvta.to.global.u64 %rd1, %rd1;
            mov.b64 %rd2, m;
            cvta.param.u64 %rd2, %rd2;
            $more: cvt.u64.u32 %rd3, %r1;
            add.u64 %rd3, %rd1, %rd3;
            ld.global.u32 %r3, [%rd3];
            add.u32 %r4, %r2, %r1;
            st.shared.u32 [%r4], %r3;
            add.u32 %r1, %r1, 128;
            setp.lt.u32 %p1, %r1, {bytes};
            @%p1 bra $more;
            fence.proxy.async.shared::cta;
            bar.sync 0;
            setp.ne.u32 %p2, %r0, 0;
            @%p2 bra $end;
            {opcode} [%rd2, {{{corner}}}], [%r2];
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 0;
            $end: ret;
        }}"
    )
    .replace("RANK", &format!("{rank}d"))
}

/// Stores a tile, or adds it where `sums`, element by element of 32 bits.
fn check_store(map: &TensorMap, start: &[i64], sums: bool) {
    let data = contents(map);
    let bytes = slice(map.interleave) as usize;
    let list = places(map, start);
    let source: Vec<u8> =
        random_bits(bytes * list.len() / 4).iter().flat_map(|w| (!w).to_le_bytes()).collect();
    let mut want = data.clone();
    for (n, place) in list.iter().enumerate() {
        let Some(place) = place else { continue };
        for word in (0..bytes).step_by(4) {
            let from = swizzled(map, n * bytes + word);
            let old = number(&data[place + word..]);
            let new = number(&source[from..]);
            let new = if sums { old.wrapping_add(new) } else { new };
            want[place + word..][..4].copy_from_slice(&new.to_le_bytes());
        }
    }
    let opcode = match sums {
        true => "cp.reduce.async.bulk.tensor.RANK.global.shared::cta.add.tile.bulk_group",
        false => "cp.async.bulk.tensor.RANK.global.shared::cta.tile.bulk_group",
    };
    let module = Module::parse(&store_ptx(opcode, start, source.len())).expect("the text is PTX");
    let args = vec![Arg::Map(map.clone(), data), Arg::In(source, 4)];
    let launch =
        Launch { kernel: "k".to_owned(), grid: [1; 3], block: [32, 1, 1], ..Launch::default() };
    let ran = run_module(&module, launch, Limits::default(), args).ok();
    assert_eq!(ran.findings, [], "{map:?} {start:?}");
    assert_eq!(ran.u8(0), want, "{map:?} {start:?}");
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

#[test]
fn slices_are_loaded_and_stored() {
    for shape in SHAPES {
        for (interleave, swizzle) in [
            (Interleave::B16, Swizzle::None),
            (Interleave::B32, Swizzle::None),
            (Interleave::B32, Swizzle::B32),
        ] {
            let map = map(interleave, swizzle, shape);
            check_load(&map, shape.2);
            check_load(&TensorMap { oob: OobFill::Nan, ..map.clone() }, shape.2);
            check_store(&map, shape.2, false);
            check_store(&TensorMap { data_type: TensorMapType::U32, ..map }, shape.2, true);
        }
    }
}

#[test]
fn a_tensor_that_does_not_fill_its_buffer_is_found() {
    let shape: Shape<'_> = (&[9, 6, 4], &[8, 1, 2], &[0, 0, 2]);
    let map = map(Interleave::B16, Swizzle::None, shape);
    let mut data = contents(&map);
    let end = map.strides[1] as usize * 3 + 7 * 16;
    data.truncate(end);
    let args = vec![Arg::Map(map, data), Arg::Out(256, 1)];
    let ran = load(shape.2, 256, args);
    assert_eq!(ran.findings[0].kind, FindingKind::OutOfBoundsRead, "{:?}", ran.findings);
}

#[test]
fn layouts_that_were_not_measured_are_not_emulated() {
    let shape: Shape<'_> = (&[9, 6, 4], &[8, 1, 2], &[0, 0, 0]);
    let plain = map(Interleave::B16, Swizzle::None, shape);
    let swizzled = TensorMap { swizzle: Swizzle::B32, ..plain.clone() };
    let skipping = TensorMap { element_strides: vec![1, 1, 2], ..plain };
    for (map, text) in
        [(swizzled, "of 16 bytes with a swizzle"), (skipping, "with element strides")]
    {
        let data = contents(&map);
        let ran = load(shape.2, 256, vec![Arg::Map(map, data), Arg::Out(256, 1)]);
        let text = format!("interleaved tensor maps {text} are not emulated");
        assert!(format!("{:?}", ran.result).contains(&text), "{:?}", ran.result);
    }
}
