//! A headless Chromium, driven through its debugging pipe: JSON messages that end in NUL, in on file
//! descriptor 3 and out on 4.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::{Value, json};

/// How long Chromium may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Set where a missing Chromium is a failure, as in continuous integration.
const REQUIRED: &str = "KGEN_REQUIRE_CHROMIUM";

/// Names that distributions give it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Texts of drawings that lie outside of them, that are too small to be read, or that lie on others.
pub(crate) const BAD_TEXTS: &str = "[...document.querySelectorAll('figure svg, svg[xmlns]')].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]);
    const outside = ([, t]) => t.left < box.left - 1 || box.right + 1 < t.right
        || t.top < box.top - 1 || box.bottom + 1 < t.bottom || svg.checkVisibility() && t.height < 9;
    const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 3 && b.top < a.bottom - 3;
    const hidden = ([text, t], at) => texts.some(([, other], n) => at < n && over(t, other));
    return texts.filter((text, at) => outside(text) || hidden(text, at))
        .map(([text]) => (svg.closest('figure') ?? svg).id + ': ' + text.textContent);
})";

/// One Chromium with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Value>,
    events: Vec<Value>,
    session: Option<String>,
    last_id: u64,
    _profile: tempfile::TempDir,
}

/// Where Chromium is; `None`, said aloud, where there is none and it is not required.
fn find() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test looks for a program")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        #[expect(clippy::disallowed_methods, reason = "a test asks what it must do")]
        let is_required = std::env::var_os(REQUIRED).is_some_and(|value| value == "1");
        assert!(!is_required, "{REQUIRED}=1, and none of {NAMES:?} is in PATH");
        // Not by a macro, whose output the test harness keeps to itself where a test passes.
        let said = b"SKIPPED: no Chromium in PATH; the page was not opened in a browser\n";
        std::io::stderr().write_all(said).unwrap();
    }
    found
}

impl Browser {
    /// Starts a Chromium; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let program = find()?;
        let profile = tempfile::tempdir().unwrap();
        // The shell moves its own streams to where Chromium looks for the pipe.
        #[expect(clippy::disallowed_methods, reason = "a test starts a browser")]
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--hide-scrollbars", "--disable-background-networking"])
            .args(["--remote-debugging-pipe", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let messages = BufReader::new(output).split(0).map_while(Result::ok);
            for message in messages.filter_map(|bytes| serde_json::from_slice(&bytes).ok()) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            input,
            answers,
            events: Vec::new(),
            session: None,
            last_id: 0,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect("Chromium answers");
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Waits for an event.
    fn wait_for(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let event = self.answers.recv_timeout(PATIENCE).expect("Chromium goes on");
            self.events.push(event);
        }
    }

    /// Opens a file in a window so many units wide; `anchor` may be empty.
    pub(crate) fn open(&mut self, page: &Path, width: u32, anchor: &str) {
        let size = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600
        });
        // A page that differs only in its anchor would not be loaded anew, and the last one is not laid out in
        // the new width.
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.wait_for("Page.loadEventFired");
        self.call("Emulation.setDeviceMetricsOverride", &size);
        self.events.clear();
        let url = format!("file://{}{anchor}", page.display());
        let answer = self.call("Page.navigate", &json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        self.wait_for("Page.loadEventFired");
    }

    /// Value of an expression in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true
        });
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Complaints of the page since it was opened: errors, warnings, exceptions.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let methods = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events
            .iter()
            .filter(|event| methods.iter().any(|method| event["method"] == *method))
            .collect()
    }

    /// Addresses that were asked for since the page was opened.
    pub(crate) fn requests(&self) -> Vec<&str> {
        self.events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent")
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .collect()
    }

    /// Colours as a reader prefers them: `light` or `dark`; and the medium: `screen` or `print`.
    pub(crate) fn prefer(&mut self, scheme: &str, medium: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": medium, "features": features });
        self.call("Emulation.setEmulatedMedia", &media);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let message = json!({ "id": 0, "method": "Browser.close" }).to_string();
        let _sent =
            self.input.write_all(message.as_bytes()).and_then(|()| self.input.write_all(&[0]));
        // It ends when it is asked to; where it does not, the end of its pipe ends it.
        for _ in 0..200 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}
