#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every snippet of user/report/advice/ is compiled with warnings as errors and run where the platform has its library, on two ranks
where it is parallel; MPI-IO accepts the hints; every snippet belongs to a detector. Then the choice: a report proposes the
interface that the program used, environments only of libraries that it used, stripes only on Lustre.

Needs no root. IOPROBE names the executable."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ADVICE = os.path.join(TESTS, "..", "user", "report", "advice")
IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
sys.path.insert(0, os.path.join(TESTS, "lib"))
from synthetic_trace import MIB, Run       # noqa: E402  pylint: disable=wrong-import-position

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
MPIRUN = ["mpirun", "-n", "2"]
# snippets that this platform's package cannot link or run
NOT_RUN = {"collective.netcdf_fortran.f90": "the serial library has no nf90_var_par_access for its files",
           "collective.h5py.py": "needs h5py with MPI", "parallel.h5py.py": "needs h5py with MPI"}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=ENVIRONMENT, **more)


def flags_of(package, variable=None):
    """Flags of a package, None if it is not installed; variable: below which its headers are, where the flags do not name them."""
    done = run(["pkg-config", "--cflags", "--libs", package])
    if done.returncode:
        return None
    more = [f"-I{run(['pkg-config', '--variable', variable, package]).stdout.strip()}/include"] if variable else []
    return more + done.stdout.split()


def snippets(interface, language):
    return sorted(glob.glob(f"{ADVICE}/*.{interface}.{language}"))


def name_of(path):
    return os.path.basename(path).split(".")[0]


def c_program(interface, directory):
    """All snippets of the interface in one program."""
    with open(f"{TESTS}/advice/{interface}.c", encoding="utf-8") as file:
        harness = file.read()
    text = f'#include "{TESTS}/advice/{interface}.c"\n'
    before, after = (["\tBEFORE\n", "\tAFTER\n"] if "#define BEFORE" in harness else ["", ""])
    for path in snippets(interface, "c"):
        # a function of its own, so that the variables of one snippet are not those of the next
        text += f"SNIPPET({name_of(path)})\n{{\n{before}#include \"{os.path.realpath(path)}\"\n{after}}}\n\n"
    begin, end = (["\tBEGIN\n", "\tEND\n"] if "#define BEGIN" in harness else ["", ""])
    text += f"int main(int argc, char **argv)\n{{\n\t(void)argc;\n{begin}" + "".join(f"\tRUN({name_of(path)});\n"
            for path in snippets(interface, "c"))
    text += f"{end}\treturn 0;\n}}\n"
    with open(f"{directory}/{interface}.c", "w", encoding="utf-8") as file:
        file.write(text)


def check_c(interface, directory, compiler, flags, launcher=()):
    if flags is None or not shutil.which(compiler):
        return f"skip {interface}: not installed"
    c_program(interface, directory)
    program = f"{directory}/{interface}"
    done = run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-O1", "-o",
                program, program + ".c", *flags])
    if done.returncode:
        return f"not compiled: {done.stderr[:400]}"
    done = run([*launcher, program, f"advice-{interface}.dat"], cwd=directory)
    return f"status {done.returncode}: {(done.stdout + done.stderr)[:400]}" if done.returncode else None


def check_fortran(directory):
    if not shutil.which("gfortran") or not shutil.which("nf-config"):
        return "skip netcdf_fortran: not installed"
    with open(f"{TESTS}/advice/netcdf_fortran.f90", encoding="utf-8") as file:
        harness = file.read()
    run_ones = [path for path in snippets("netcdf_fortran", "f90") if os.path.basename(path) not in NOT_RUN]
    for path in snippets("netcdf_fortran", "f90"):
        shutil.copy(path, f"{directory}/{name_of(path)}.inc")
    text = "".join(harness.replace("NAME", name_of(path)).replace("SNIPPET", f"{name_of(path)}.inc") for path in run_ones)
    text += "program advice\n" + "".join(f'    call snippet_{name_of(path)}("advice-fortran.nc")\n'
                                         for path in run_ones) + "end program\n"
    with open(f"{directory}/fortran.f90", "w", encoding="utf-8") as file:
        file.write(text)
    flags = run(["nf-config", "--fflags", "--flibs"]).stdout.split()
    done = run(["gfortran", "-Wall", "-Wno-unused-variable", "-Wno-unused-parameter", "-o", "fortran", "fortran.f90", *flags],
               cwd=directory)
    if done.returncode or "Warning" in done.stderr:
        return f"not compiled: {done.stderr[:600]}"
    done = run([f"{directory}/fortran"], cwd=directory)
    return f"status {done.returncode}: {(done.stdout + done.stderr)[:300]}" if done.returncode else None


def check_python(interface, directory, module):
    if run(["/usr/bin/python3", "-c", f"import {module}"]).returncode:
        return f"skip {interface}: not installed"
    for path in snippets(interface, "py"):
        with open(f"{TESTS}/advice/{interface}.py", encoding="utf-8") as harness, open(path, encoding="utf-8") as snippet:
            text = harness.read() + snippet.read()
        compile(text, path, "exec")
        if os.path.basename(path) in NOT_RUN:
            continue
        done = run(["/usr/bin/python3", "-c", text], cwd=directory)
        if done.returncode:
            return f"{os.path.basename(path)}: {done.stderr[-300:]}"
    return None


def check_environment(directory):
    """ROMIO's hints are those of the opened file; OMPIO's parameters exist; Lustre's commands are one line of shell."""
    if not shutil.which("mpicc"):
        return "skip environment: no mpicc"
    done = run(["mpicc", "-Wall", "-Wextra", "-Werror", "-o", f"{directory}/hints", f"{TESTS}/advice/hints.c"])
    if done.returncode:
        return done.stderr[:300]
    os.mkdir(f"{directory}/run")
    parameters = run(["ompi_info", "--all", "--parsable"]).stdout if shutil.which("ompi_info") else ""
    for path in sorted(glob.glob(f"{ADVICE}/*.sh")):
        interface = os.path.basename(path).split(".")[1]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if run(["bash", "-n", path]).returncode:
            return f"{path}: not a script"
        if interface == "romio" and "open-mpi" in run(["mpirun", "--version"]).stdout:
            hints = re.search(r"printf '(.*)'", text).group(1).replace("\\n", " ").split()
            done = run(["bash", "-c", f". {path} && ROMIO_PRINT_HINTS=1 mpirun -n 2 --mca io ^ompio ../hints hints.dat"],
                       cwd=f"{directory}/run")
            printed = dict(re.findall(r"^key = (\S+) +value = (\S+)", done.stdout, re.M))
            wrong = {key: printed.get(key) for key, value in zip(hints[::2], hints[1::2]) if printed.get(key) != value}
            if done.returncode or wrong or (name_of(path) == "aggregators" and printed["cb_nodes"] != "2"):
                return f"{os.path.basename(path)}: {wrong} {(done.stdout + done.stderr)[:300]}"
        for name in re.findall(r"OMPI_MCA_(\w+)=", text):
            if parameters and f":param:{name}:value:" not in parameters:
                return f"{os.path.basename(path)}: Open MPI has no parameter {name}"
    return None


def check_table(_):
    """Every snippet is on a page of --explain."""
    pages = run([IOPROBE, "report", "--explain", "all"]).stdout
    missing = []
    for path in sorted(glob.glob(f"{ADVICE}/*.*.*")):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if "\n".join(" " * 10 + line for line in lines) not in pages:
            missing.append(os.path.basename(path))
    return f"of no detector: {missing}" if missing or len(pages) < 20000 else None


# ---- which one is shown ----

def advice_of(directory, code, write, **properties):
    """The interfaces of a finding's advice."""
    with Run(directory, ranks=4) as made:
        write(made, made.file("/data/shared", **properties))
    done = run([IOPROBE, "report", "--format", "json", directory])
    finding = next((f for f in json.loads(done.stdout)["findings"] if f["code"] == code), None)
    return [a["interface"] for a in finding["advice"]] if finding else f"no {code}"


def small_writes(made, file):
    r = made.rank(0)
    r.open(file)
    for i in range(2000):
        r.write(file, i * 100, 100, us=100)


def small_writes_of_hdf5(made, file):
    r = made.rank(0)
    r.open(file, layer="HDF5", name="H5Fcreate", below=lambda: r.open(file))
    for i in range(2000):
        r.data("write", file, i * 100, 100, layer="HDF5", name="H5Dwrite", below=lambda i=i: r.write(file, i * 100, 100, us=100))


def unaligned(made, file):
    r = made.rank(0)
    r.open(file)
    for i in range(120):
        r.write(file, i * MIB + 512, MIB, us=1000)


def one_writer(made, file):
    for i in range(4):
        r = made.rank(i)
        r.open(file, layer="MPI-IO", name="MPI_File_open", below=lambda r=r: r.open(file))
        for step in range(10):
            r.until(100000 * (step + 1))
            r.data("write", file, (step * 4 + i) * MIB, MIB, layer="MPI-IO", name="MPI_File_write_at_all", collective=True,
                   below=lambda r=r, i=i, step=step: (
                r.write(file, step * 4 * MIB, 4 * MIB, us=20000) if i == 0 else None))
            r.until(100000 * (step + 1) + 60000)


def check_choice(directory):
    cases = [("P06", small_writes, {}, ["POSIX"]), ("P06", small_writes_of_hdf5, {}, ["HDF5"]),
             ("P08", unaligned, {"File_system": "lustre", "Stripe_Size": MIB}, ["Lustre"]),
             ("P08", unaligned, {"File_system": "ext4", "Block_Size": MIB}, []),
             ("X02", one_writer, {}, ["OMPIO", "ROMIO", "MPI-IO"]),
             ("X02", one_writer, {"File_system": "lustre"}, ["Lustre", "OMPIO", "ROMIO", "MPI-IO"])]
    for i, (code, write, properties, wanted) in enumerate(cases):
        found = advice_of(f"{directory}/{i}", code, write, **properties)
        if found != wanted:
            return f"{write.__name__} {properties}: {found} instead of {wanted}"
    return None


def main():
    root, failed, passed = tempfile.mkdtemp(prefix="ioprobe-advice-"), 0, 0
    mpi = {"compiler": "mpicc", "launcher": MPIRUN}
    checks = [("posix", lambda d: check_c("posix", d, "gcc", [])), ("isoc", lambda d: check_c("isoc", d, "gcc", [])),
              ("mpiio", lambda d: check_c("mpiio", d, flags=[], **mpi)),
              ("hdf5", lambda d: check_c("hdf5", d, flags=flags_of("hdf5-openmpi"), **mpi)),
              ("netcdf", lambda d: check_c("netcdf", d, flags=flags_of("netcdf-mpi", variable="prefix"), **mpi)),
              ("pnetcdf", lambda d: check_c("pnetcdf", d, flags=flags_of("pnetcdf"), **mpi)), ("netcdf_fortran", check_fortran),
              ("h5py", lambda d: check_python("h5py", d, "h5py")),
              ("netcdf4_python", lambda d: check_python("netcdf4_python", d, "netCDF4")),
              ("environment", check_environment), ("table", check_table), ("choice", check_choice)]
    try:
        for name, check in checks:
            os.mkdir(f"{root}/{name}")
            reason = check(f"{root}/{name}")
            if reason and reason.startswith("skip"):
                print(reason)
                continue
            print("not ok" if reason else "ok", name, reason or "")
            failed, passed = failed + bool(reason), passed + (not reason)
    finally:
        shutil.rmtree(root)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
