//! The tests of adapters: a client, whose tensors are files, and the cases that every library passes.

mod cases;

use std::{cell::Cell, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    library::Library,
    message::{DType, Device, Facts},
    place::Opener,
    server::Server,
};

pub use cases::Cases;

/// A library on the CPU behind the protocol.
pub struct Client<L: Library> {
    server: Server<L>,
    folder: PathBuf,
    n_files: Cell<u32>,
}

impl<L: Library> Client<L> {
    /// Opens the library; `folder` is to be empty and gets the tensors.
    ///
    /// # Panics
    ///
    /// Where the library cannot be opened.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let library = L::open(Device::Cpu).unwrap_or_else(|error| panic!("{error}"));
        let facts =
            Facts { library: L::NAME, version: L::VERSION, device: "cpu".to_owned(), uuid: None };
        let server = Server::new(library, facts, Opener::default());
        Self { server, folder: folder.into(), n_files: Cell::new(0) }
    }

    /// Sends a request, and returns `ok` or the error.
    ///
    /// # Errors
    ///
    /// The refusal, as an object.
    ///
    /// # Panics
    ///
    /// Where the answer is no reply.
    pub fn ask(&mut self, request: &Value) -> Result<Value, Value> {
        let reply: Value = serde_json::from_str(&self.server.answer(&request.to_string()).line)
            .unwrap_or_else(|error| panic!("{error}"));
        match reply.get("ok") {
            Some(ok) => Ok(ok.clone()),
            None => Err(reply["error"].clone()),
        }
    }

    /// Returns a contiguous tensor of a type as an argument.
    #[must_use]
    pub fn tensor(&self, dtype: DType, shape: &[usize], values: &[f64]) -> Value {
        let mut stride = vec![1; shape.len()];
        for dim in (1..shape.len()).rev() {
            stride[dim - 1] = stride[dim] * shape[dim];
        }
        self.strided(dtype, shape, &stride, values)
    }

    /// Returns a tensor with strides; `values` are those of its storage.
    #[must_use]
    pub fn strided(
        &self,
        dtype: DType,
        shape: &[usize],
        stride: &[usize],
        values: &[f64],
    ) -> Value {
        let bytes = encode(dtype, values);
        let at = self.file(&bytes);
        json!({ "tensor": { "dtype": dtype, "shape": shape, "stride": stride, "offset": 0, "at": at } })
    }

    fn file(&self, bytes: &[u8]) -> Value {
        let path = self.folder.join(self.n_files.replace(self.n_files.get() + 1).to_string());
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
        json!({ "shm": path, "byte_offset": 0, "bytes": bytes.len() })
    }

    /// Words a `prepare` with one output.
    #[must_use]
    pub fn prepare(&self, aten: &str, args: Value, dtype: DType, shape: &[usize]) -> Value {
        let bytes = vec![0xff; shape.iter().product::<usize>() * dtype.bytes()];
        let output = json!({ "dtype": dtype, "shape": shape, "at": self.file(&bytes) });
        json!({
            "id": 1, "do": "prepare", "impl": L::NAME, "op": "op", "aten": aten, "source": null, "entry": null,
            "args": args, "outputs": [output], "precision": "strict", "keep": false,
        })
    }

    /// Binds and runs a call with one output; returns the output's values.
    ///
    /// # Errors
    ///
    /// The refusal, as an object.
    ///
    /// # Panics
    ///
    /// Where the output cannot be read.
    pub fn call(
        &mut self,
        aten: &str,
        args: Value,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Vec<f64>, Value> {
        let prepare = self.prepare(aten, args, dtype, shape);
        let handle = self.ask(&prepare)?["handle"].clone();
        self.ask(&json!({ "do": "run", "handle": handle }))?;
        self.ask(&json!({ "do": "drop", "handle": handle }))?;
        let path = prepare["outputs"][0]["at"]["shm"].as_str().unwrap_or_default();
        Ok(decode(dtype, &fs::read(path).unwrap_or_else(|error| panic!("{error}"))))
    }
}

/// Returns the little-endian bytes of values.
///
/// # Panics
///
/// For types that tests do not use.
#[must_use]
pub fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    let bytes = |value: &f64| match dtype {
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::F32 => (*value as f32).to_le_bytes().to_vec(),
        DType::BF16 => ((*value as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec(),
        DType::I64 => (*value as i64).to_le_bytes().to_vec(),
        DType::I32 => (*value as i32).to_le_bytes().to_vec(),
        other => panic!("no test has {other}"),
    };
    values.iter().flat_map(bytes).collect()
}

/// Returns the values of little-endian bytes.
///
/// # Panics
///
/// For types that tests do not use.
#[must_use]
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let value = |bytes: &[u8]| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(eight);
        match dtype {
            DType::F64 => f64::from_bits(bits),
            DType::F32 => f64::from(f32::from_bits(bits as u32)),
            DType::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
            DType::I64 => bits.cast_signed() as f64,
            DType::I32 => f64::from((bits as u32).cast_signed()),
            other => panic!("no test has {other}"),
        }
    };
    bytes.chunks(dtype.bytes()).map(value).collect()
}
