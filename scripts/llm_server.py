#!/usr/bin/env python3
"""Plays a provider of the wire format openai-chat for `scripts/figures.sh`:
    scripts/llm_server.py KERNEL DELAY_S
KERNEL: a correct kernel file that RIGHT and WRONG below make a wrong one of. A prompt without the
wrong kernel is answered with it, any other with the correct one, after DELAY_S seconds, streamed.
Prints its base URL and serves until it is ended.
"""
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The wrong kernel leaves its last element out, as beginners do.
RIGHT, WRONG = "if (tail < n) {", "if (tail < n - 1) {"
with open(sys.argv[1], encoding="utf-8") as file:
    KERNEL = file.read()
assert RIGHT in KERNEL, f"{sys.argv[1]} has no line to make wrong"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        prompt = self.rfile.read(int(self.headers["Content-Length"])).decode()
        time.sleep(float(sys.argv[2]))
        kernel = KERNEL if WRONG in prompt else KERNEL.replace(RIGHT, WRONG)
        text = f"Here is the kernel.\n\n```cuda\n{kernel}\n```\n"
        parts = [text[at:at + 200] for at in range(0, len(text), 200)]
        chunks = [{"delta": {"content": part}} for part in parts]
        chunks.append({"delta": {}, "finish_reason": "stop"})
        chunks = [json.dumps({"model": "local", "choices": [chunk]}) for chunk in chunks]
        body = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
server.serve_forever()
