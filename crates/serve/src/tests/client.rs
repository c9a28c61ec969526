//! A client that sees what is on the wire.

use std::{net::SocketAddr, time::Duration};

use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the kind of a refusal.
    pub(super) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap().to_owned()
    }
}

/// Sends bytes and reads the answer until the server closes.
pub(super) async fn raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    read(stream).await
}

pub(super) async fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("an answer").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

pub(super) async fn get(address: SocketAddr, path: &str) -> Answer {
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let answer = raw(address, head.as_bytes()).await;
    check(path, "get", &answer);
    answer
}

pub(super) async fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = raw(address, head.as_bytes()).await;
    check(path, "post", &answer);
    answer
}

/// Judges a source of the fake judge, and waits.
pub(super) async fn evaluate(address: SocketAddr, source: &str) -> Answer {
    post(address, "/v1/evaluate?wait=10", &json!({ "op": "relu", "source": source })).await
}

/// Holds an answer against the contract.
fn check(path: &str, method: &str, answer: &Answer) {
    let document = crate::openapi("0.0.0");
    let path = path.split('?').next().unwrap();
    let matches = |pattern: &str| {
        let parts: Vec<&str> = pattern.split('/').collect();
        let asked: Vec<&str> = path.split('/').collect();
        parts.len() == asked.len()
            && parts.iter().zip(&asked).all(|(part, asked)| part.starts_with('{') || part == asked)
    };
    let paths = document["paths"].as_object().unwrap();
    let Some((pattern, _)) = paths.iter().find(|(pattern, _)| matches(pattern)) else { return };
    let responses = &document["paths"][pattern][method]["responses"];
    let status = answer.status.to_string();
    let key = if responses.get(&status).is_some() { status.as_str() } else { "default" };
    let Some(content) = responses[key]["content"].as_object() else { return };
    let Some(mut schema) = content.get("application/json").map(|of| of["schema"].clone()) else {
        return;
    };
    schema["components"] = document["components"].clone();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("urn:schema", schema).unwrap();
    let schema = compiler.compile("urn:schema", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&answer.json(), schema) {
        panic!("{method} {path} is not as its contract says: {error:#}\n{}", answer.body);
    }
}
