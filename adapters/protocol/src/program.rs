//! An adapter's program: it greets on standard output, and listens until its standard input is closed.

use std::{
    env,
    fs::{Permissions, set_permissions},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::{ExitCode, exit},
    thread,
};

use serde_json::json;

use crate::{
    library::Library,
    message::{Device, Facts},
    place::Opener,
    server::Server,
};

/// Version of the protocol.
const PROTOCOL: u32 = 1;

/// Exit status of a program that cannot greet, and of one whose device is beyond use.
const NOT_READY: u8 = 3;
const LOST: u8 = 4;

/// Runs the program of a library: `--socket PATH --device cuda:N|cpu`.
pub fn main<L: Library>() -> ExitCode {
    match ready::<L>() {
        Ok((server, listener)) => serve(server, &listener),
        Err((kind, message)) => {
            let message: String = message.lines().collect::<Vec<_>>().join(" ");
            greet(&json!({ "protocol": PROTOCOL, "error": { "kind": kind, "message": message } }));
            ExitCode::from(NOT_READY)
        }
    }
}

fn greet(line: &serde_json::Value) {
    let mut stdout = io::stdout();
    // Nobody to greet is nobody to serve: standard input is closed as well.
    drop(writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
}

fn ready<L: Library>() -> Result<(Server<L>, UnixListener), (&'static str, String)> {
    let other = |error: &dyn std::fmt::Display| ("other", error.to_string());
    let (socket, device) = flags().map_err(|error| other(&error))?;
    let (name, uuid, opener) = identify(device).map_err(|error| ("no_cuda", error))?;
    let library = L::open(device).map_err(|error| ("no_cuda", error))?;
    let facts = Facts { library: L::NAME, version: L::VERSION, device: name, uuid };
    let listener = UnixListener::bind(&socket).map_err(|error| other(&error))?;
    set_permissions(&socket, Permissions::from_mode(0o600)).map_err(|error| other(&error))?;
    greet(&json!({ "protocol": PROTOCOL, "ready": facts }));
    thread::spawn(end_with_input);
    Ok((Server::new(library, facts, opener), listener))
}

fn flags() -> Result<(PathBuf, Device), String> {
    let (mut socket, mut device) = (None, None);
    let mut args = env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--socket" => socket = Some(PathBuf::from(value)),
            "--device" => device = Some(value.parse()?),
            _ => return Err(format!("there is no flag {flag}")),
        }
    }
    Ok((socket.ok_or("--socket PATH is missing")?, device.ok_or("--device cuda:N|cpu is missing")?))
}

/// Returns a device's name, the UUID of a GPU, and what opens places on it.
fn identify(device: Device) -> Result<(String, Option<String>, Opener), String> {
    match device {
        Device::Cpu => Ok(("cpu".to_owned(), None, Opener::default())),
        #[cfg(feature = "cuda")]
        Device::Cuda(index) => {
            let driver = crate::cuda::Driver::open(index)?;
            let (name, uuid) = (driver.name()?, driver.uuid()?);
            Ok((name, Some(uuid), Opener { driver: Some(driver) }))
        }
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err("built without `--features cuda`".to_owned()),
    }
}

/// Ends the program when its standard input is closed, also in the middle of a call.
fn end_with_input() {
    drop(io::stdin().lock().read_to_end(&mut Vec::new()));
    exit(0)
}

fn serve<L: Library>(mut server: Server<L>, listener: &UnixListener) -> ExitCode {
    for stream in listener.incoming().flatten() {
        match serve_client(&mut server, &stream) {
            Ok(false) | Err(_) => server.forget_client(),
            Ok(true) => return ExitCode::from(LOST),
        }
    }
    ExitCode::SUCCESS
}

/// Answers one client; returns whether the device is beyond use.
fn serve_client<L: Library>(server: &mut Server<L>, stream: &UnixStream) -> io::Result<bool> {
    let mut replies = stream;
    for line in BufReader::new(stream).lines() {
        let answer = server.answer(&line?);
        replies.write_all(answer.line.as_bytes())?;
        if answer.is_last {
            return Ok(true);
        }
    }
    Ok(false)
}
