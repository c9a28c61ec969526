//! The vocabulary of operators as plain data: element types, tensors, cases.

pub mod case;
pub mod dtype;
pub mod number;
pub mod tensor;

pub use case::{
    Arg, ArgValue, Case, CaseClass, Gen, InputDistribution, List, MatrixStructure, TensorArg,
    WindowAxis,
};
pub use dtype::DType;
pub use number::Number;
pub use tensor::{HostTensor, TensorSpec};
