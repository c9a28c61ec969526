//! Requests and their answers.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    args::Args,
    library::{Bind, Function, Library},
    message::{Facts, Output, Prepare, Request, Tensor},
    place::{Opener, Place},
    refusal::{Kind, Refusal, bad, unsupported},
    time::repeat,
};

/// Longest loop, in seconds.
const LONGEST_LOOP_S: f64 = 3600.0;

/// A call that is bound to its tensors.
struct Handle<L: Library> {
    function: Function<L::Tensor>,
    inputs: Vec<(Tensor, Place)>,
    tensors: Vec<L::Tensor>,
    outputs: Vec<(Output, Place)>,
}

/// Answers the requests of one client at a time.
pub(crate) struct Server<L: Library> {
    library: L,
    ops: BTreeMap<&'static str, Bind<L::Tensor>>,
    facts: Facts,
    opener: Opener,
    handles: BTreeMap<u64, Handle<L>>,
    last_handle: u64,
}

/// A reply, and whether the program is to end behind it.
pub(crate) struct Answer {
    pub(crate) line: String,
    pub(crate) is_last: bool,
}

impl<L: Library> Server<L> {
    pub(crate) fn new(library: L, facts: Facts, opener: Opener) -> Self {
        let ops = L::ops().into_iter().collect();
        Self { library, ops, facts, opener, handles: BTreeMap::new(), last_handle: 0 }
    }

    /// Answers one line with one line, its end included.
    pub(crate) fn answer(&mut self, line: &str) -> Answer {
        let mut id = Value::Null;
        let done = self.parse_and_do(line, &mut id);
        let mut is_last = false;
        let reply = match done {
            Ok(ok) => json!({ "id": id, "ok": ok }),
            Err(mut refusal) => {
                if refusal.kind != Kind::BadRequest && self.library.sync().is_err() {
                    refusal.kind = Kind::GpuLost;
                }
                is_last = refusal.kind == Kind::GpuLost;
                json!({ "id": id, "error": refusal })
            }
        };
        Answer { line: format!("{reply}\n"), is_last }
    }

    /// Lets go of what a client has left behind.
    pub(crate) fn forget_client(&mut self) {
        self.handles.clear();
    }

    fn parse_and_do(&mut self, line: &str, id: &mut Value) -> Result<Value, Refusal> {
        let mut request: Value = serde_json::from_str(line).map_err(bad)?;
        let fields = request.as_object_mut().ok_or_else(|| bad("a request is an object"))?;
        *id = fields.remove("id").unwrap_or_default();
        let request: Request = serde_json::from_value(request).map_err(bad)?;
        // Libraries panic where they might return an error.
        catch_unwind(AssertUnwindSafe(|| self.serve(request)))
            .unwrap_or_else(|panic| Err(Refusal::of_library(Kind::Raised, text_of(&*panic))))
    }

    fn serve(&mut self, request: Request) -> Result<Value, Refusal> {
        match request {
            Request::Hello {} => Ok(json!(self.facts)),
            Request::Prepare(request) => self.prepare(*request),
            Request::Run { handle } => self.run(handle),
            Request::Time { handle, samples, warm_up, flush } => {
                let (library, handle) = self.bound(handle)?;
                let samples = library.sample(&mut handle.call(), flush, samples, warm_up)?;
                Ok(json!({ "us": samples.us, "clock": samples.clock }))
            }
            Request::Loop { handle, seconds } => {
                if !(seconds > 0.0 && seconds <= LONGEST_LOOP_S) {
                    return Err(bad(format!(
                        "a loop lasts up to {LONGEST_LOOP_S} seconds, not {seconds}"
                    )));
                }
                let (library, handle) = self.bound(handle)?;
                let mut call = handle.call();
                Ok(json!(repeat(&mut || library.submit(call()?), || library.sync(), seconds)?))
            }
            Request::Memory { handle } => {
                self.bound(handle)?;
                Ok(json!({ "peak_bytes": null, "workspace_bytes": null }))
            }
            Request::Offers { library } => {
                is_ours::<L>(&library)?;
                let ops: Vec<&str> = self.ops.keys().copied().collect();
                Ok(json!({ "ops": ops, "version": L::VERSION }))
            }
            Request::Drop { handle } => {
                let dropped = self.handles.remove(&handle).ok_or_else(|| unknown(handle))?;
                self.library.sync()?;
                drop(dropped);
                Ok(json!({}))
            }
        }
    }

    fn bound(&self, handle: u64) -> Result<(&L, &Handle<L>), Refusal> {
        Ok((&self.library, self.handles.get(&handle).ok_or_else(|| unknown(handle))?))
    }

    fn prepare(&mut self, request: Prepare) -> Result<Value, Refusal> {
        is_ours::<L>(&request.library)?;
        let start = Instant::now();
        let keep = request.keep;
        let mut handle = self.bind(request)?;
        handle.refresh(&self.library)?;
        // A library that refuses these arguments does so at the first call.
        let results = handle.results().map_err(|mut refusal| {
            if refusal.kind == Kind::Raised {
                refusal.kind = Kind::Unsupported;
            }
            refusal
        })?;
        self.library.sync()?;
        let first_s = start.elapsed().as_secs_f64();
        handle.check(&self.library, &results)?;
        if keep {
            handle.write(&self.library, &results)?;
        }
        self.last_handle += 1;
        self.handles.insert(self.last_handle, handle);
        Ok(json!({ "handle": self.last_handle, "first_s": first_s }))
    }

    fn bind(&self, request: Prepare) -> Result<Handle<L>, Refusal> {
        let overload = request.aten.unwrap_or(request.op);
        let bind = self.ops.get(overload.as_str());
        let bind =
            bind.ok_or_else(|| unsupported(format!("{} has no {overload} here", L::NAME)))?;
        let args = Args::new(request.args);
        let inputs = args.tensors().iter().map(|tensor| (tensor.dtype, &tensor.shape));
        let outputs = request.outputs.iter().map(|output| (output.dtype, &output.shape));
        for (dtype, shape) in inputs.chain(outputs) {
            if !self.library.has(dtype) {
                return Err(unsupported(format!("{} has no {dtype} here", L::NAME)));
            }
            if shape.contains(&0) {
                return Err(unsupported("a tensor without elements"));
            }
        }
        let function = bind(&args)?;
        let mut inputs = Vec::new();
        for tensor in args.into_tensors() {
            let place = self.opener.open(&tensor.at, tensor.extent() * tensor.dtype.bytes())?;
            inputs.push((tensor, place));
        }
        let mut outputs = Vec::new();
        for output in request.outputs {
            let bytes = output.shape.iter().product::<usize>() * output.dtype.bytes();
            let place = self.opener.open(&output.at, bytes)?;
            outputs.push((output, place));
        }
        Ok(Handle { function, inputs, tensors: Vec::new(), outputs })
    }

    fn run(&mut self, handle: u64) -> Result<Value, Refusal> {
        let start = Instant::now();
        let library = &self.library;
        let handle = self.handles.get_mut(&handle).ok_or_else(|| unknown(handle))?;
        handle.refresh(library)?;
        let results = handle.results()?;
        handle.check(library, &results)?;
        handle.write(library, &results)?;
        Ok(json!({ "seconds": start.elapsed().as_secs_f64() }))
    }
}

impl<L: Library> Handle<L> {
    /// Copies the inputs anew out of their places.
    fn refresh(&mut self, library: &L) -> Result<(), Refusal> {
        self.tensors.clear();
        for (tensor, place) in &self.inputs {
            let storage = place.storage(tensor.extent() * tensor.dtype.bytes())?;
            self.tensors.push(library.upload(tensor, storage)?);
        }
        Ok(())
    }

    fn results(&self) -> Result<Vec<L::Tensor>, Refusal> {
        (self.function)(&self.tensors)
    }

    /// Returns the call alone, which knows nothing of places.
    fn call(&self) -> impl FnMut() -> Result<Vec<L::Tensor>, Refusal> + Send {
        let (function, tensors) = (&self.function, &self.tensors);
        move || function(tensors)
    }

    /// Compares results with the outputs that were announced.
    fn check(&self, library: &L, results: &[L::Tensor]) -> Result<(), Refusal> {
        let wrong = |text: String| Err(Refusal::new(Kind::WrongOutputs, text));
        if results.len() != self.outputs.len() {
            return wrong(format!("{} outputs instead of {}", results.len(), self.outputs.len()));
        }
        for (result, (output, _)) in results.iter().zip(&self.outputs) {
            let (dtype, shape) = library.describe(result)?;
            if (dtype, &shape) != (output.dtype, &output.shape) {
                return wrong(format!(
                    "an output is {dtype} {shape:?} instead of {} {:?}",
                    output.dtype, output.shape
                ));
            }
        }
        Ok(())
    }

    fn write(&self, library: &L, results: &[L::Tensor]) -> Result<(), Refusal> {
        for (result, (_, place)) in results.iter().zip(&self.outputs) {
            library.download(result, place)?;
        }
        library.sync()
    }
}

fn is_ours<L: Library>(name: &str) -> Result<(), Refusal> {
    if name == L::NAME {
        Ok(())
    } else {
        Err(bad(format!("this is the adapter of {}, not of {name}", L::NAME)))
    }
}

fn unknown(handle: u64) -> Refusal {
    bad(format!("there is no handle {handle}"))
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked".to_owned())
}
