//! The `kgen` binary: everything it does is in the library.

fn main() -> std::process::ExitCode {
    kgen::cli::main()
}
