# Made by `kgen export`.
"""Loads the kernel: the build in this folder, else the one on Python's path, where kernel-builder puts it."""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch


def _load():
    root = Path(__file__).resolve().parents[1]
    built = next(iter(sorted(root.glob("build/torch-*/metadata.json"))), None)
    if built is None:
        return importlib.import_module("PACKAGE")
    name = json.loads(built.read_text())["id"]
    spec = importlib.util.spec_from_file_location(name, built.with_name("__init__.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_module = _load()


def pytest_configure(config):
    config.addinivalue_line("markers", "kernels_ci: a test that kernel-builder runs")


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = _module.kernel.CASES
        metafunc.parametrize("case", [case for _, case in cases], ids=[name for name, _ in cases])


@pytest.fixture(scope="session")
def module():
    return _module


@pytest.fixture
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA GPU, and PyTorch finds none here")
    return "cuda"
