"""A `kgen serve` for the scripts that load it: start, calls, memory, end. Needs Python alone."""
import ctypes
import http.client
import json
import os
import signal
import subprocess
import time


def end_with_parent():
    """Has the process get SIGTERM when the one that started it dies, in whatever way."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Gone(Exception):
    """No answer: the server went away."""


class Serve:
    def __init__(self, kgen, state, log, flags=()):
        command = [kgen, "serve", "--listen", "127.0.0.1:0", "--state", str(state), *flags]
        pipe = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log, "text": True}
        self.process = subprocess.Popen(command, preexec_fn=end_with_parent, **pipe)
        self.line = self.process.stdout.readline().strip()
        if "http://" not in self.line:
            raise SystemExit(f"kgen serve did not start: {self.line or 'its output says why'}")
        self.address = self.line.split("http://")[1].split()[0]

    def call(self, path, body=None, timeout=330):
        """Returns status and body of an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        data = None if body is None else json.dumps(body)
        try:
            connection.request("GET" if body is None else "POST", path, data, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone(str(error)) from None
        finally:
            connection.close()
        return answer.status, json.loads(text) if path != "/metrics" else text.decode()

    def ended(self, id, seconds=600):
        """A job once it has ended, or after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            status, job = self.call(f"/v1/jobs/{id}?wait=60")
            if status != 200 or job["state"] in ("done", "failed") or time.monotonic() > end:
                return status, job

    def metric(self, name):
        """The sum of a metric over its labels."""
        lines = [line.split() for line in self.call("/metrics")[1].splitlines() if line.startswith(name)]
        return sum(float(line[-1]) for line in lines)

    def family(self):
        """Ids of the server's process and all below it."""
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/stat") as file:
                        parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def memory(self):
        """MiB resident of the server's process and of all together, descriptors of the server, and the number of processes."""
        family = self.family()
        sizes = [resident(pid) for pid in family]
        descriptors = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        return {"rss": sizes[0], "tree_rss": sum(sizes), "processes": len(family), "descriptors": descriptors}

    def kill(self):
        """Kills the server alone, as `kill -9` does; returns its descendants."""
        family = self.family()
        self.process.kill()
        self.process.wait()
        return family[1:]

    def end(self):
        self.process.terminate()
        return self.process.wait()


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def quantile(values, part):
    values = sorted(values)
    return round(values[round(part * (len(values) - 1))], 4) if values else None


def write(path, report):
    """Replaces a report, so that there is a whole one at any time."""
    path.with_suffix(".tmp").write_text(json.dumps(report, indent=1) + "\n")
    path.with_suffix(".tmp").replace(path)
