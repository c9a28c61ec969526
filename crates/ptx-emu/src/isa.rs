//! The instructions the emulator knows.
//!
//! ```
//! use ptx_emu::isa;
//!
//! let row = isa::find("fma.rn.ftz.f32").expect("the emulator knows it");
//! assert_eq!(row.family().name(), "f32");
//! assert!(isa::find("fma.f32").is_none(), "the rounding is not optional");
//! ```

pub use crate::lower::forms::{Bits, InstructionForm, InstructionGroup, find, rows};
