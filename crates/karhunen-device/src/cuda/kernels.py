"""Compile kernels.cu to kernels.ptx by NVRTC, of the package nvidia-cuda-nvrtc-cu12 12.0: no GPU is needed.

The code is for the oldest GPU that NVRTC 12.0 knows; the driver compiles it for the GPU that is there.
"""

import ctypes
import importlib.util
from pathlib import Path

HERE = Path(__file__).parent
OPTIONS = [b"--gpu-architecture=compute_50", b"--fmad=true", b"--std=c++17"]


def main() -> None:
    """Write kernels.ptx."""
    folder = importlib.util.find_spec("nvidia.cuda_nvrtc").submodule_search_locations[0]
    nvrtc = ctypes.CDLL(str(Path(folder) / "lib" / "libnvrtc.so.12"))
    program = ctypes.c_void_p()
    source = (HERE / "kernels.cu").read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    failed = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    name = "ProgramLog" if failed else "PTX"
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{name}")(program, text)
    if failed:
        raise SystemExit(text.value.decode())
    # Headers define constants that no kernel uses.
    lines = [line for line in text.value.decode().splitlines() if "nv6target" not in line]
    (HERE / "kernels.ptx").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
