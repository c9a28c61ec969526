//! A model provider on the loopback: streams a kernel file after a fixed time. A process of its
//! own, so that its cost is not the parent's; one thread, since both share the cores.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep_until,
};

/// How the server answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    /// From the last byte of a request to the first of its reply.
    pub(crate) latency: Duration,
    /// Events that the text of a reply is streamed in.
    pub(crate) n_chunks: usize,
}

/// Argument that makes this program the server.
const FLAG: &str = "--server";

/// Text in every kernel file, followed by a number of its own: no two files are alike.
pub(crate) const MARK: &str = "#define ANSWER ";

/// A running server; dropping it ends the process.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "the server must not count as the parent's cost")]
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let exe = std::env::current_exe().expect("the benchmark knows its path");
        let micros = behaviour.latency.as_micros().to_string();
        let mut child = Command::new(exe)
            .args([FLAG, &micros, &behaviour.n_chunks.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the benchmark starts itself");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
        Self { child, port: line.trim().parse().expect("it is a number") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().expect("the server is there until it is killed");
        self.child.wait().expect("it was killed");
    }
}

/// Serves for ever if the arguments say so.
pub(crate) fn serve_if_asked() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flag, micros, n_chunks] = &arguments[..] else { return };
    if flag != FLAG {
        return;
    }
    let number = |text: &String| text.parse().expect("the parent passes numbers");
    let latency = Duration::from_micros(number(micros));
    let n_chunks = usize::try_from(number(n_chunks)).expect("it is small");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.expect("a runtime starts").block_on(serve(Reply::new(n_chunks), latency));
    served.expect("the loopback works");
}

async fn serve(reply: Reply, latency: Duration) -> std::io::Result<()> {
    let reply: &'static Reply = Box::leak(Box::new(reply));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?.port())?;
    stdout.flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(answer_all(stream, reply, latency));
    }
}

/// The bytes of a response around the number that is its own.
struct Reply {
    before: Vec<u8>,
    after: Vec<u8>,
    n_sent: AtomicU32,
}

impl Reply {
    fn new(n_chunks: usize) -> Self {
        let line = "    // a line of a kernel as long as models write them, more or less\n";
        let head = "One thread per element, vectorised.\n\n```cuda\n/*@plan\n\
                    launch(\"k\", grid=1, block=1, args=[out])\n@*/\n";
        let marked = format!("{MARK}00000000\n");
        let rest = format!(
            "extern \"C\" __global__ void k(T_out* y) {{\n{}    y[0] = ANSWER;\n}}\n```\n",
            line.repeat(80)
        );
        let size = rest.len().div_ceil(n_chunks.max(1));
        let mut events = event(head, None) + &event(&marked, None);
        for part in rest.as_bytes().chunks(size) {
            events += &event(&String::from_utf8_lossy(part), None);
        }
        events += &event("", Some("stop"));
        let usage = serde_json::json!({
            "id": "c", "model": "scripted", "choices": [],
            "usage": {"prompt_tokens": 6000, "completion_tokens": 1600, "total_tokens": 7600},
        });
        events = format!("{events}data: {usage}\n\ndata: [DONE]\n\n");
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n\
             {events}",
            events.len()
        );
        let (before, after) = response.split_once("00000000").expect("the number is in the text");
        Self {
            before: before.as_bytes().to_vec(),
            after: after.as_bytes().to_vec(),
            n_sent: AtomicU32::new(0),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let number = self.n_sent.fetch_add(1, Ordering::Relaxed);
        [&self.before[..], format!("{number:08}").as_bytes(), &self.after].concat()
    }
}

fn event(text: &str, finish: Option<&str>) -> String {
    let chunk = serde_json::json!({
        "id": "c", "model": "scripted",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n")
}

/// Answers the requests of one connection until it closes.
async fn answer_all(mut stream: TcpStream, reply: &Reply, latency: Duration) -> Option<()> {
    let mut buffer = Vec::with_capacity(1 << 16);
    loop {
        let end = loop {
            if let Some(end) = end_of_request(&buffer) {
                break end;
            }
            if stream.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
        };
        let due = Instant::now() + latency;
        buffer.drain(..end);
        sleep_until(due.into()).await;
        stream.write_all(&reply.bytes()).await.ok()?;
    }
}

/// Returns the length of the first request once it is there as a whole.
fn end_of_request(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let end = end + length.unwrap_or(0);
    (end <= bytes.len()).then_some(end)
}
