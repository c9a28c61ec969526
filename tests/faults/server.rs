//! A server that answers requests as a script says, byte by byte if need be.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::json;

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// These bytes after a while.
    Late(Duration, Vec<u8>),
    /// These bytes, then silence.
    Silence(Vec<u8>),
}

/// A scripted server; it ends with the test's process.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server whose `script` gets the number of a request, from 0, and its body.
    pub(crate) fn start(script: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    /// Starts one on a port that was bound before.
    pub(crate) fn on(
        listener: TcpListener,
        script: impl Fn(usize, &str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, seen) = (Arc::new(script), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                thread::spawn(move || serve(stream, &*script, &seen));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn n_requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// Serves one request; a client that goes away is no error.
fn serve(
    mut stream: TcpStream,
    script: &(dyn Fn(usize, &str) -> Answer + Send + Sync),
    seen: &Mutex<Vec<String>>,
) {
    let Some(body) = read_request(&stream) else { return };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(body.clone());
        seen.len() - 1
    };
    let (bytes, is_over) = match script(number, &body) {
        Answer::Bytes(bytes) => (bytes, true),
        Answer::Late(after, bytes) => {
            thread::sleep(after);
            (bytes, true)
        }
        Answer::Silence(bytes) => (bytes, false),
    };
    drop(stream.write_all(&bytes));
    if !is_over {
        thread::sleep(Duration::from_secs(600));
    }
}

fn read_request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| 0 < *n)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

/// Returns a whole response.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    write!(head, "content-length: {}\r\n\r\n", body.len()).unwrap();
    [head.as_bytes(), body].concat()
}

/// Returns the reply of a chat with a text.
pub(crate) fn chat(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "c-1", "model": "scripted-1",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 7},
    });
    response(200, &[("content-type", "application/json")], body.to_string().as_bytes())
}
