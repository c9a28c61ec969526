"""Interfaces of trainers and benchmarks, thin over `kgen.Client`. Each module names the source of its interface.

A task (`label`, `ground_truth`) is the name of an op, or members of `kgen.Request` as a mapping or as JSON text.
A reply is a model's text; `kgen.extract` takes the kernel file out of it. Without a client an adapter uses the
server of `KGEN_SERVE_URL` (and `KGEN_SERVE_TOKEN`), else a private one. `reward` is any function of a
`kgen.Result`. A failure of the machine is an `InfraError`, or an answer 503 over HTTP, and never a reward.
"""
