//! Checks the arguments of a launch against the compiled kernel and encodes them.
//!
//! Pointers: a tensor may be bound to a pointer to its own element type, to a vector of it
//! (`float4` for f32), to an unsigned integer or a vector of integers that merely carries its bits
//! (`unsigned short` for 16-bit types, `uint4` for all), to `void`, to bytes, and to a type that
//! the kernel file declares itself. Scratch buffers and `ptr(..)` have no type and fit every
//! pointer. `const` is not asked for: that inputs stay unchanged is checked on the data. A tensor map is
//! bound to a parameter of type `CUtensorMap`, and nothing else is.
//!
//! Numbers: an integer is narrowed to the parameter's width and must fit it; it may become a
//! float; a float never becomes an integer silently.

use kgen_record::{BufferRef, DType, ParamType, PlanArg, Signature, tensor, tensor_map::TensorMap};
use serde::{Deserialize, Serialize};

/// An argument ready for the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BoundArg {
    /// The address of a buffer's byte.
    Pointer {
        buffer: BufferRef,
        /// Distance from its first byte.
        byte_offset: i64,
    },
    /// A tensor map of a part of a buffer.
    TensorMap {
        buffer: BufferRef,
        /// Distance of the map's address from the buffer's first byte.
        byte_offset: i64,
        /// The map; its address is 0.
        map: Box<TensorMap>,
    },
    /// A null pointer.
    Null,
    /// A scalar: little-endian, as wide as the parameter.
    Bytes(Vec<u8>),
}

/// Why arguments do not fit a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Too few or too many arguments.
    #[error("kernel `{kernel}` has {expected} parameters ({params}), the plan passes {given}")]
    Count {
        /// The kernel.
        kernel: String,
        /// Parameters of the kernel.
        expected: usize,
        /// Their types.
        params: String,
        /// Arguments of the plan.
        given: usize,
    },
    /// An argument of the wrong kind or type.
    #[error("parameter {index} of kernel `{kernel}` is `{param}`, the plan passes {given}{hint}")]
    Type {
        /// The kernel.
        kernel: String,
        /// Position of the parameter, from 1.
        index: usize,
        /// The parameter's type.
        param: String,
        /// The argument of the plan.
        given: String,
        /// The way out, in parentheses, or nothing.
        hint: String,
    },
    /// An integer that does not fit its parameter.
    #[error(
        "parameter {index} of kernel `{kernel}` is `{param}`, which cannot hold {value} (declare \
         it `long long`)"
    )]
    Overflow {
        kernel: String,
        /// Position of the parameter, from 1.
        index: usize,
        /// The parameter's type.
        param: String,
        value: i64,
    },
}

/// Binds the arguments of one launch.
///
/// # Errors
///
/// When their number or a type does not fit the kernel's parameters.
pub fn bind(args: &[PlanArg], signature: &Signature) -> Result<Vec<BoundArg>, BindError> {
    if args.len() != signature.params.len() {
        return Err(BindError::Count {
            kernel: signature.kernel.clone(),
            expected: signature.params.len(),
            params: signature.params.iter().map(spelling).collect::<Vec<_>>().join(", "),
            given: args.len(),
        });
    }
    let pairs = args.iter().zip(&signature.params).enumerate();
    pairs
        .map(|(index, (arg, param))| {
            bind_one(arg, param).map_err(|mismatch| {
                let (kernel, index, param) = (signature.kernel.clone(), index + 1, spelling(param));
                match mismatch {
                    Mismatch::Type { hint } => BindError::Type {
                        kernel,
                        index,
                        param,
                        given: describe(arg),
                        hint: hint.map(|hint| format!(" ({hint})")).unwrap_or_default(),
                    },
                    Mismatch::Overflow { value } => {
                        BindError::Overflow { kernel, index, param, value }
                    }
                }
            })
        })
        .collect()
}

/// Why one argument does not fit.
enum Mismatch {
    Type { hint: Option<&'static str> },
    Overflow { value: i64 },
}

const fn wrong(hint: &'static str) -> Mismatch {
    Mismatch::Type { hint: Some(hint) }
}

fn bind_one(arg: &PlanArg, param: &ParamType) -> Result<BoundArg, Mismatch> {
    match (param, arg) {
        (ParamType::TensorMap, PlanArg::TensorMap { buffer, byte_offset, map, .. }) => {
            let map = map.clone();
            Ok(BoundArg::TensorMap { buffer: *buffer, byte_offset: *byte_offset, map })
        }
        (ParamType::TensorMap, PlanArg::Pointer { .. }) => {
            Err(wrong("pass `tensor_map(x, box=[..])`, or declare the parameter as a pointer"))
        }
        (ParamType::TensorMap, _) => Err(wrong("pass `tensor_map(x, box=[..])`")),
        (ParamType::Pointer { pointee, .. }, PlanArg::TensorMap { .. })
            if !is_tensor_map(pointee) =>
        {
            Err(wrong(
                "pass the tensor itself, or declare the parameter \
                 `const __grid_constant__ CUtensorMap`",
            ))
        }
        (_, PlanArg::TensorMap { .. }) => Err(wrong(
            "a tensor map is passed by value: declare the parameter \
             `const __grid_constant__ CUtensorMap`",
        )),
        (ParamType::Other { .. }, _) => {
            Err(wrong("kernels take pointers, integers, floats, bools and tensor maps"))
        }
        (
            ParamType::Pointer { pointee, .. },
            PlanArg::Pointer { buffer, byte_offset, dtype, .. },
        ) => {
            if dtype.is_some_and(|dtype| !fits(pointee, dtype)) {
                return Err(wrong(
                    "declare the parameter with the tensor's type macro `T_..`, or pass `ptr(x, 0)`",
                ));
            }
            Ok(BoundArg::Pointer { buffer: *buffer, byte_offset: *byte_offset })
        }
        (ParamType::Pointer { .. }, PlanArg::Null) => Ok(BoundArg::Null),
        (ParamType::Pointer { .. }, _) => Err(wrong("pass the tensor itself, or None")),
        (_, PlanArg::Pointer { .. }) => Err(wrong("declare the parameter as a pointer")),
        (_, PlanArg::Null) => {
            Err(wrong("None is a null pointer; pass a number where the input is left out"))
        }
        (ParamType::Int { bits, signed }, PlanArg::Int { value }) => {
            integer(*value, *bits, *signed)
        }
        (ParamType::Int { bits, signed }, PlanArg::Bool { value }) => {
            integer(i64::from(*value), *bits, *signed)
        }
        (ParamType::Int { .. }, PlanArg::Float { .. }) => {
            Err(wrong("convert it with `i32(..)`, or declare the parameter as a float"))
        }
        (ParamType::Bool, PlanArg::Bool { value }) => Ok(BoundArg::Bytes(vec![u8::from(*value)])),
        (ParamType::Bool, PlanArg::Int { value: value @ (0 | 1) }) => {
            Ok(BoundArg::Bytes(vec![u8::from(*value == 1)]))
        }
        (ParamType::Bool, PlanArg::Int { .. } | PlanArg::Float { .. }) => {
            Err(wrong("pass a comparison such as `n != 0`"))
        }
        (ParamType::Float { dtype }, PlanArg::Float { value }) => Ok(float(*dtype, *value)),
        (ParamType::Float { dtype }, PlanArg::Int { value }) => Ok(float(*dtype, as_f64(*value))),
        (ParamType::Float { dtype }, PlanArg::Bool { value }) => {
            Ok(float(*dtype, f64::from(u8::from(*value))))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an integer passed as a float rounds")]
const fn as_f64(value: i64) -> f64 {
    value as f64
}

fn float(dtype: DType, value: f64) -> BoundArg {
    let mut bytes = vec![0; dtype.size()];
    tensor::encode(dtype, value, &mut bytes);
    BoundArg::Bytes(bytes)
}

fn integer(value: i64, bits: u32, signed: bool) -> Result<BoundArg, Mismatch> {
    let wide = i128::from(value);
    let (low, high) = if signed {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    if !(low..=high).contains(&wide) {
        return Err(Mismatch::Overflow { value });
    }
    let len = usize::try_from(bits / 8).expect("a width of at most 64 bits");
    Ok(BoundArg::Bytes(value.to_le_bytes()[..len].to_vec()))
}

/// Returns whether a tensor of `dtype` may be read through a pointer to `pointee`.
fn fits(pointee: &str, dtype: DType) -> bool {
    const BYTES: [&str; 6] =
        ["void", "char", "signed char", "unsigned char", "std::byte", "cuda::std::byte"];
    const CARRIERS: [&str; 8] =
        ["int2", "int4", "uint2", "uint4", "longlong2", "ulonglong2", "ushort4", "ushort2"];
    let own: &[&str] = match dtype {
        DType::F64 => &["double", "double2", "double4", "unsigned long long", "unsigned long"],
        DType::F32 => &["float", "float2", "float3", "float4", "unsigned int"],
        DType::F16 => &["__half", "half", "__half2", "half2", "unsigned short", "short"],
        DType::BF16 => &[
            "__nv_bfloat16",
            "__nv_bfloat162",
            "nv_bfloat16",
            "nv_bfloat162",
            "unsigned short",
            "short",
        ],
        DType::I64 => &["long long", "long", "unsigned long long", "unsigned long"],
        DType::F8E4M3 => {
            &["__nv_fp8_e4m3", "__nv_fp8x2_e4m3", "__nv_fp8x4_e4m3", "uchar4", "unsigned int"]
        }
        DType::F8E5M2 => {
            &["__nv_fp8_e5m2", "__nv_fp8x2_e5m2", "__nv_fp8x4_e5m2", "uchar4", "unsigned int"]
        }
        DType::I32 => &["int", "unsigned int"],
        DType::I16 => &["short", "unsigned short", "unsigned int"],
        DType::I8 | DType::U8 => &["uchar4", "char4", "unsigned int"],
        DType::Bool => &["bool", "uchar4", "char4", "unsigned int"],
    };
    if pointee.ends_with('*') {
        return false;
    }
    BYTES.contains(&pointee)
        || CARRIERS.contains(&pointee)
        || own.contains(&pointee)
        || !is_known(pointee)
}

/// Returns whether a type is one of CUDA's own; others are declared by the kernel file, which then
/// says itself how it reads memory.
fn is_known(pointee: &str) -> bool {
    const SCALARS: [&str; 21] = [
        "bool",
        "char",
        "signed char",
        "unsigned char",
        "short",
        "unsigned short",
        "int",
        "unsigned int",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "float",
        "double",
        "long double",
        "__half",
        "half",
        "__nv_bfloat16",
        "nv_bfloat16",
        "__nv_fp8_e4m3",
        "__nv_fp8_e5m2",
    ];
    const VECTORS: [&str; 16] = [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
        "__half",
        "half",
        "__nv_bfloat16",
        "nv_bfloat16",
    ];
    let base = pointee.strip_suffix(['1', '2', '3', '4']);
    SCALARS.contains(&pointee)
        || pointee.starts_with("__nv_fp8x")
        || base.is_some_and(|base| VECTORS.contains(&base))
}

/// Returns whether a type is that of tensor maps.
fn is_tensor_map(name: &str) -> bool {
    matches!(name, "CUtensorMap" | "CUtensorMap_st")
}

/// Spells a parameter's type as C++ does.
fn spelling(param: &ParamType) -> String {
    match param {
        ParamType::Pointer { pointee, is_const } => {
            format!("{}{pointee}*", if *is_const { "const " } else { "" })
        }
        ParamType::Int { bits, signed } => {
            let name = match bits {
                8 => "char",
                16 => "short",
                32 => "int",
                _ => "long long",
            };
            format!("{}{name}", if *signed { "" } else { "unsigned " })
        }
        ParamType::Bool => "bool".to_owned(),
        ParamType::Float { dtype } => dtype.cuda_type().to_owned(),
        ParamType::TensorMap => "CUtensorMap".to_owned(),
        ParamType::Other { name } => name.clone(),
    }
}

fn describe(arg: &PlanArg) -> String {
    match arg {
        PlanArg::Pointer { dtype: Some(dtype), label, .. } => {
            format!("the {dtype} tensor `{label}`")
        }
        PlanArg::Pointer { dtype: None, .. } => "a pointer".to_owned(),
        PlanArg::TensorMap { label, .. } => format!("a tensor map of `{label}`"),
        PlanArg::Null => "None".to_owned(),
        PlanArg::Int { value } => format!("the integer {value}"),
        PlanArg::Float { value } => format!("the float {value:?}"),
        PlanArg::Bool { value: true } => "True".to_owned(),
        PlanArg::Bool { value: false } => "False".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kgen_record::tensor_map::{
        Interleave, L2Promotion, OobFill, Swizzle, TensorMapMode, TensorMapType,
    };

    use super::*;

    fn tensor(dtype: DType) -> PlanArg {
        PlanArg::Pointer {
            buffer: BufferRef::Input(1),
            byte_offset: 8,
            dtype: Some(dtype),
            label: "self".to_owned(),
        }
    }

    fn tensor_map() -> PlanArg {
        let map = TensorMap {
            data_type: TensorMapType::F32,
            address: 0,
            dims: vec![8],
            strides: Vec::new(),
            element_strides: vec![1],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            l2: L2Promotion::None,
            oob: OobFill::Zeros,
            mode: TensorMapMode::Tiled { box_dims: vec![4] },
        };
        let label = "self".to_owned();
        PlanArg::TensorMap {
            buffer: BufferRef::Input(0),
            byte_offset: 32,
            map: Box::new(map),
            label,
        }
    }

    fn pointer(pointee: &str) -> ParamType {
        ParamType::Pointer { pointee: pointee.to_owned(), is_const: true }
    }

    fn one(arg: PlanArg, param: ParamType) -> Result<BoundArg, String> {
        let signature = Signature { kernel: "k".to_owned(), params: vec![param] };
        bind(&[arg], &signature).map(|mut args| args.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tensor_fits_its_own_type_its_vectors_and_untyped_memory() {
        let fitting = [
            (DType::F32, "float"),
            (DType::F32, "float4"),
            (DType::F32, "uint4"),
            (DType::F32, "unsigned int"),
            (DType::F32, "void"),
            (DType::F32, "MyPack<4>"),
            (DType::F16, "__half"),
            (DType::F16, "__half2"),
            (DType::F16, "uint4"),
            (DType::F16, "unsigned short"),
            (DType::BF16, "__nv_bfloat162"),
            (DType::BF16, "unsigned char"),
            (DType::F64, "double2"),
            (DType::I64, "long long"),
            (DType::I64, "long"),
            (DType::I32, "int"),
            (DType::Bool, "bool"),
            (DType::Bool, "char"),
            (DType::I8, "signed char"),
            (DType::U8, "unsigned char"),
            (DType::I16, "short"),
            (DType::F8E4M3, "__nv_fp8_e4m3"),
            (DType::F8E5M2, "__nv_fp8x4_e5m2"),
            (DType::F8E4M3, "unsigned char"),
        ];
        for (dtype, pointee) in fitting {
            let bound = BoundArg::Pointer { buffer: BufferRef::Input(1), byte_offset: 8 };
            assert_eq!(one(tensor(dtype), pointer(pointee)), Ok(bound), "{dtype} {pointee}");
        }
        let wrong = [
            (DType::F32, "double"),
            (DType::F32, "int"),
            (DType::F32, "__half"),
            (DType::F32, "__half2"),
            (DType::F16, "float"),
            (DType::F16, "float4"),
            (DType::F16, "__nv_bfloat16"),
            (DType::BF16, "__half"),
            (DType::I64, "int"),
            (DType::I32, "long long"),
            (DType::Bool, "int"),
            (DType::I16, "int"),
            (DType::F8E4M3, "__nv_fp8_e5m2"),
            (DType::F8E5M2, "__nv_fp8x2_e4m3"),
            (DType::F8E4M3, "__half"),
            (DType::F16, "__nv_fp8_e4m3"),
            (DType::F32, "float*"),
        ];
        for (dtype, pointee) in wrong {
            let error = one(tensor(dtype), pointer(pointee)).unwrap_err();
            assert!(error.contains(&format!("parameter 1 of kernel `k` is `const {pointee}*`")));
            assert!(error.contains("tensor `self`"), "{error}");
        }
    }

    #[test]
    fn untyped_pointers_and_none_fit_every_pointer() {
        let untyped = PlanArg::Pointer {
            buffer: BufferRef::Scratch(0),
            byte_offset: 0,
            dtype: None,
            label: String::new(),
        };
        let bound = BoundArg::Pointer { buffer: BufferRef::Scratch(0), byte_offset: 0 };
        assert_eq!(one(untyped, pointer("double")), Ok(bound));
        assert_eq!(one(PlanArg::Null, pointer("float")), Ok(BoundArg::Null));
    }

    #[test]
    fn a_tensor_map_is_passed_by_value() {
        let PlanArg::TensorMap { map, .. } = tensor_map() else { unreachable!() };
        let bound = BoundArg::TensorMap { buffer: BufferRef::Input(0), byte_offset: 32, map };
        assert_eq!(one(tensor_map(), ParamType::TensorMap), Ok(bound));
    }

    #[test]
    fn numbers_take_the_width_of_their_parameter() {
        let int = |bits, signed| ParamType::Int { bits, signed };
        let float = |dtype| ParamType::Float { dtype };
        let cases: [(PlanArg, ParamType, &[u8]); 12] = [
            (PlanArg::Int { value: -2 }, int(64, true), &[254, 255, 255, 255, 255, 255, 255, 255]),
            (PlanArg::Int { value: -2 }, int(32, true), &[254, 255, 255, 255]),
            (PlanArg::Int { value: 0xffff_ffff }, int(32, false), &[255; 4]),
            (PlanArg::Int { value: 255 }, int(8, false), &[255]),
            (PlanArg::Int { value: 258 }, int(16, true), &[2, 1]),
            (
                PlanArg::Int { value: i64::MAX },
                int(64, false),
                &[255, 255, 255, 255, 255, 255, 255, 127],
            ),
            (PlanArg::Bool { value: true }, int(32, true), &[1, 0, 0, 0]),
            (PlanArg::Bool { value: true }, ParamType::Bool, &[1]),
            (PlanArg::Int { value: 0 }, ParamType::Bool, &[0]),
            (PlanArg::Float { value: 1.0 }, float(DType::F32), &[0, 0, 128, 63]),
            (PlanArg::Int { value: 1 }, float(DType::F16), &[0, 60]),
            (PlanArg::Bool { value: false }, float(DType::F64), &[0; 8]),
        ];
        for (arg, param, bytes) in cases {
            assert_eq!(one(arg, param), Ok(BoundArg::Bytes(bytes.to_vec())));
        }
    }

    #[test]
    fn misfits_name_the_parameter_and_the_way_out() {
        let int = |bits, signed| ParamType::Int { bits, signed };
        let map = tensor_map();
        let cases = [
            (PlanArg::Int { value: 1 << 31 }, int(32, true), "cannot hold 2147483648"),
            (PlanArg::Int { value: -1 }, int(64, false), "cannot hold -1"),
            (PlanArg::Int { value: 256 }, int(8, false), "is `unsigned char`"),
            (PlanArg::Float { value: 2.0 }, int(32, true), "the float 2.0 (convert it"),
            (PlanArg::Float { value: 2.0 }, ParamType::Bool, "pass a comparison"),
            (PlanArg::Int { value: 2 }, ParamType::Bool, "pass a comparison"),
            (PlanArg::Int { value: 0 }, pointer("float"), "pass the tensor itself"),
            (PlanArg::Null, int(32, true), "passes None"),
            (PlanArg::Bool { value: true }, pointer("float"), "passes True"),
            (tensor(DType::F32), int(64, true), "declare the parameter as a pointer"),
            (tensor(DType::F32), ParamType::Float { dtype: DType::F32 }, "as a pointer"),
            (map.clone(), pointer("float"), "a tensor map of `self` (pass the tensor itself, or"),
            (map.clone(), pointer("CUtensorMap_st"), "by value: declare the parameter `const"),
            (map, int(64, true), "passed by value"),
            (tensor(DType::F32), ParamType::TensorMap, "is `CUtensorMap`, the plan passes the f32"),
            (PlanArg::Null, ParamType::TensorMap, "passes None (pass `tensor_map(x, box=[..])`)"),
            (
                PlanArg::Int { value: 1 },
                ParamType::Other { name: "Pair".to_owned() },
                "is `Pair`, the plan passes the integer 1",
            ),
        ];
        for (arg, param, part) in cases {
            let error = one(arg, param).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_wrong_count_spells_the_kernels_parameters() {
        let params = vec![pointer("float"), ParamType::Int { bits: 64, signed: true }];
        let signature = Signature { kernel: "k".to_owned(), params };
        let error = bind(&[PlanArg::Null], &signature).unwrap_err().to_string();
        assert_eq!(
            error,
            "kernel `k` has 2 parameters (const float*, long long), the plan passes 1"
        );
    }
}
