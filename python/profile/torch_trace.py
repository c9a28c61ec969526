"""Runs a Python program under torch.profiler: torch_trace.py TRACE (FILE | -m MODULE | -c CODE) ARG..

Writes a trace for Chrome into TRACE, however the program ends, and beside it the version of PyTorch and, when the program has
ended, a file whose time says so, since writing the trace may take longer than the program; ends as the program does.
"""

import inspect
import os
import runpy
import signal
import sys


def main() -> None:
    trace, *program = sys.argv[1:]
    # Shells let programs in the background ignore SIGINT, by which kgen ends this one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        import torch
        from torch import profiler
    except ImportError as error:
        sys.exit(f"kgen: this Python has no PyTorch ({error})")
    keep(trace, "torch_version", torch.__version__)
    options = {"activities": profiler.supported_activities()}
    if "acc_events" in inspect.signature(profiler.profile).parameters:
        options["acc_events"] = True
    with profiler.profile(**options) as profile:
        code = run(program)
        keep(trace, "torch_ended", "")
    # Kineto takes the form from the name, and a half-written trace must not have the final one.
    part = f"{trace}.part.json.gz"
    profile.export_chrome_trace(part)
    os.replace(part, trace)
    sys.exit(code)


def keep(trace: str, name: str, text: str) -> None:
    """Writes a file beside the trace."""
    with open(os.path.join(os.path.dirname(trace), name), "w") as file:
        file.write(text)


def run(program: list[str]) -> object:
    """Runs the program as Python would, and returns the argument of its `sys.exit`."""
    try:
        match program:
            case ["-m", module, *arguments]:
                sys.argv = [module, *arguments]
                sys.path[0] = os.getcwd()
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case ["-c", code, *arguments]:
                sys.argv = ["-c", *arguments]
                sys.path[0] = ""
                exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
            case [file, *arguments]:
                sys.argv = [file, *arguments]
                sys.path[0] = os.path.dirname(os.path.abspath(file))
                runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        return end.code
    except KeyboardInterrupt:
        return 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


main()
