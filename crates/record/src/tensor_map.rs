//! Tensor maps, as the emulator describes them.

pub use ptx_emu::{
    Interleave, L2Promotion, OobFill, Swizzle, TensorMap, TensorMapError, TensorMapMode,
    TensorMapType,
};
