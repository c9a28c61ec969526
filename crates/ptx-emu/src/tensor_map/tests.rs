//! The driver's rules, each broken alone, and maps through their bytes and back.

use super::*;

fn tiled() -> TensorMap {
    TensorMap {
        data_type: TensorMapType::Bf16,
        address: 0x1_0000_0040,
        dims: vec![100, 33, 7],
        strides: vec![208, 208 * 33],
        element_strides: vec![1, 1, 1],
        interleave: Interleave::None,
        swizzle: Swizzle::B128,
        l2: L2Promotion::B256,
        oob: OobFill::Nan,
        mode: TensorMapMode::Tiled { box_dims: vec![64, 128, 1] },
    }
}

fn im2col() -> TensorMap {
    TensorMap {
        data_type: TensorMapType::F32,
        dims: vec![64, 14, 12, 3],
        strides: vec![256, 256 * 14, 256 * 14 * 12],
        element_strides: vec![1, 2, 2, 1],
        swizzle: Swizzle::None,
        mode: TensorMapMode::Im2col {
            lower: vec![-1, -2],
            upper: vec![1, -128],
            channels: 32,
            pixels: 1024,
        },
        ..tiled()
    }
}

#[test]
fn maps_that_the_driver_takes() {
    let mut wide = im2col();
    set_upper(&mut wide, 1);
    assert_eq!(tiled().check(), Ok(()));
    assert_eq!(wide.check(), Ok(()));
    // The innermost element stride is not used, so anything may stand there.
    let ignored = TensorMap { element_strides: vec![0, 1, 1], ..tiled() };
    assert_eq!(ignored.check(), Ok(()));
}

fn set_upper(map: &mut TensorMap, to: i32) {
    if let TensorMapMode::Im2col { upper, .. } = &mut map.mode {
        upper[1] = to;
    }
}

#[test]
fn bytes_keep_everything() {
    for map in [tiled(), im2col()] {
        assert_eq!(TensorMap::decode(&map.encode()).as_ref(), Some(&map));
    }
    for (rank, data_type) in (1..=5).zip(TensorMapType::ALL) {
        for interleave in Interleave::ALL {
            let largest = TensorMap {
                data_type,
                address: u64::MAX,
                dims: vec![1 << 32; rank],
                strides: vec![(1 << 40) - 16; rank - 1],
                element_strides: vec![8; rank],
                interleave,
                mode: TensorMapMode::Tiled { box_dims: vec![256; rank] },
                ..tiled()
            };
            assert_eq!(TensorMap::decode(&largest.encode()), Some(largest));
        }
    }
}

#[test]
fn other_bytes_are_no_map() {
    assert_eq!(TensorMap::decode(&[0; 128]), None);
    for at in [0, 7, 88, 89, 90, 91, 92, 93, 94] {
        let mut bytes = tiled().encode();
        bytes[at] = 99;
        assert_eq!(TensorMap::decode(&bytes), None, "byte {at}");
    }
}

/// A change of a good map and the message that it brings.
type Broken = (fn(&mut TensorMap), &'static str);

#[test]
fn each_rule_has_its_message() {
    let cases: [Broken; 19] = [
        (|m| m.dims.clear(), "a tensor map in tiled mode has 1 to 5 dimensions, not 0"),
        (|m| m.dims = vec![1; 6], "a tensor map in tiled mode has 1 to 5 dimensions, not 6"),
        (
            |m| {
                m.interleave = Interleave::B16;
                m.dims = vec![64, 4];
            },
            "an interleaved tensor map needs at least 3 dimensions, not 2",
        ),
        (
            |m| m.strides = vec![208],
            "`strides` needs 2 numbers for a tensor of 3 dimensions, not 1",
        ),
        (
            |m| m.element_strides = vec![1; 4],
            "`element_strides` needs 3 numbers for a tensor of 3 dimensions, not 4",
        ),
        (
            |m| m.mode = TensorMapMode::Tiled { box_dims: vec![8] },
            "`box_dims` needs 3 numbers for a tensor of 3 dimensions, not 1",
        ),
        (|m| m.address = 0x1008, "the tensor's address 0x1008 must be a multiple of 16 bytes"),
        (
            |m| {
                m.address = 0x1010;
                m.interleave = Interleave::B32;
            },
            "the tensor's address 0x1010 must be a multiple of 32 bytes with interleave of 32 bytes",
        ),
        (|m| m.dims[1] = 0, "dimension 1 has 0 elements; 1 to 2^32 are possible"),
        (|m| m.dims[2] = 1 << 33, "dimension 2 has 8589934592 elements; 1 to 2^32 are possible"),
        (|m| m.strides[0] = 200, "the stride of dimension 1, 200 bytes, must be a multiple of 16"),
        (
            |m| m.strides[1] = 1 << 40,
            "the stride of dimension 2, 1099511627776 bytes, must be less than 2^40",
        ),
        (
            |m| m.mode = TensorMapMode::Tiled { box_dims: vec![64, 257, 1] },
            "the box has 257 elements along dimension 1; 1 to 256 are possible",
        ),
        (
            |m| m.element_strides[2] = 9,
            "the element stride of dimension 2 is 9; 1 to 8 are possible",
        ),
        (
            |m| m.mode = TensorMapMode::Tiled { box_dims: vec![12, 1, 1] },
            "the innermost 12 elements of 2 bytes take 24 bytes, which must be a multiple of 16",
        ),
        (
            |m| m.mode = TensorMapMode::Tiled { box_dims: vec![72, 1, 1] },
            "the innermost 72 elements of 2 bytes take 144 bytes, more than the 128 bytes of the \
             swizzle",
        ),
        (
            |m| {
                m.interleave = Interleave::B32;
                m.strides = vec![224, 224 * 33];
            },
            "interleave of 32 bytes needs a swizzle of 32 bytes, or none",
        ),
        (
            |m| {
                m.interleave = Interleave::B16;
                m.mode = TensorMapMode::Tiled { box_dims: vec![12, 1, 1] };
            },
            "the innermost 12 elements of 2 bytes take 24 bytes, which must be a multiple of 16",
        ),
        (
            |m| m.data_type = TensorMapType::U16,
            "elements outside the tensor can be NaN only for floating-point types, not U16",
        ),
    ];
    messages(&tiled(), &cases);
}

#[test]
fn each_rule_of_im2col_has_its_message() {
    let cases: [Broken; 6] = [
        (|m| m.dims.truncate(2), "a tensor map in im2col mode has 3 to 5 dimensions, not 2"),
        (
            |m| set_upper(m, 128),
            "the upper corner's offset 128 of dimension 2 is outside -128 to 127, which a tensor of \
             4 dimensions allows",
        ),
        (
            |m| set_upper(m, -14),
            "the bounding box is empty along dimension 2: 12 elements, corners -2 and -14",
        ),
        (|m| set_size(m, 0, 257), "257 channels per pixel; 1 to 256 are possible"),
        (|m| set_size(m, 1, 1025), "1025 pixels per column; 1 to 1024 are possible"),
        (
            |m| set_size(m, 0, 3),
            "the innermost 3 elements of 4 bytes take 12 bytes, which must be a multiple of 16",
        ),
    ];
    let mut good = im2col();
    set_upper(&mut good, 1);
    messages(&good, &cases);
}

fn set_size(map: &mut TensorMap, n: usize, to: u32) {
    if let TensorMapMode::Im2col { channels, pixels, .. } = &mut map.mode {
        *[channels, pixels][n] = to;
    }
}

fn messages(good: &TensorMap, cases: &[Broken]) {
    assert_eq!(good.check(), Ok(()));
    for (change, message) in cases {
        let mut map = good.clone();
        change(&mut map);
        assert_eq!(map.check().map_err(|e| e.to_string()), Err((*message).to_owned()));
    }
}

#[test]
fn swizzles_exchange_chunks_by_row() {
    for (swizzle, rows) in [
        (Swizzle::None, [0, 0, 0, 0, 0, 0, 0, 0]),
        (Swizzle::B32, [0, 1, 0, 1, 0, 1, 0, 1]),
        (Swizzle::B64, [0, 1, 2, 3, 0, 1, 2, 3]),
        (Swizzle::B128, [0, 1, 2, 3, 4, 5, 6, 7]),
    ] {
        for (row, chunk) in (0..).zip(rows) {
            assert_eq!(swizzle.apply(row * 128 + 5), row * 128 + chunk * 16 + 5, "{swizzle:?}");
        }
    }
}
