#!/usr/bin/env bash
# Builds the core under ASan and UBSan beside the release build and runs the tests that drive it.
# test_sanitized.sh PYTHON PYTEST...: the environment's interpreter, and the command that runs tests
set -euo pipefail
python=$1
shift
build=build/sanitize
mkdir -p "$build"
site=$("$python" -c 'import ukemi, pathlib; print(pathlib.Path(ukemi.__file__).parent)')
pip=("$python" -m pip install --quiet --disable-pip-version-check)
bin=$(dirname "$python")
"${pip[@]}" cmake ninja "nanobind>=2.4"
"$bin/cmake" -G Ninja -S . -B "$build" -DCMAKE_MAKE_PROGRAM="$PWD/$bin/ninja" -DUKEMI_SANITIZE=ON -DPython_EXECUTABLE="$PWD/$python" -DCMAKE_BUILD_TYPE=Debug > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
"$bin/cmake" --build "$build"
# a copy of the installed package with the instrumented core in place of the released one
rm -rf "$build/package" && mkdir -p "$build/package" && cp -r "$site" "$build/package/ukemi"
rm -f "$build"/package/ukemi/_core*.so && cp "$build"/_core*.so "$build/package/ukemi/"
asan=$(${CXX:-c++} -print-file-name=libasan.so)
stdcpp=$(${CXX:-c++} -print-file-name=libstdc++.so.6)
# NumPy and the interpreter leak by design at exit; everything else must be clean.
LD_PRELOAD="$asan $stdcpp" ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
  PYTHONPATH="$build/package" "$@" -p no:cacheprovider tests/dynamics tests/chain tests/sim tests/contact tests/particles tests/dynamics_filter/test_trajectory_core.py tests/dynamics_filter/test_trajectory_parts.py -m "not oracle and not fuzz"
