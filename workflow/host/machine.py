"""What this machine is: processor, cores and memory granted, kernel, GPUs, batch job. Host and user names stay out.

Every fact that cannot be found is None, with the reason under the same name in `why`.
"""

import collections
import math
import os
import platform
import re
from pathlib import Path

SYSTEM = Path("/sys")
PROCESSES = Path("/proc")


class Unknown(Exception):
    """A fact that this machine does not tell; the text is the reason."""


def facts():
    """Return the machine's facts for a record, and `why` for those that are None. Units stand in the names."""
    sources = {
        "cpu_model": cpu_model_or_unknown,
        "microcode": lambda: cpu_field("microcode"),
        "sockets": sockets,
        "cores_installed": os.cpu_count,
        "cores_granted": cores_granted,
        "cores_by_affinity": lambda: len(os.sched_getaffinity(0)),
        "cores_by_quota": cores_by_quota,
        "threads_per_core": threads_per_core,
        "numa_nodes": numa_nodes,
        "memory_total_bytes": lambda: memory_field("MemTotal"),
        "memory_limit_bytes": memory_limit,
        "swap_total_bytes": lambda: memory_field("SwapTotal"),
        "transparent_huge_pages": transparent_huge_pages,
        "governor": governor,
        "turbo": turbo,
        "kernel": lambda: "{} {}".format(platform.system(), platform.release()),
        "architecture": platform.machine,
        "libc": lambda: " ".join(platform.libc_ver()).strip() or unknown("the C library does not tell its version"),
        "hypervisor": hypervisor,
        "gpus": gpus,
        "gpu_driver": gpu_driver,
        "slurm_job": lambda: slurm("SLURM_JOB_ID"),
        "slurm_node": lambda: slurm("SLURMD_NODENAME"),
    }
    found, why = {}, {}
    for name, source in sources.items():
        try:
            found[name] = source()
        except Unknown as reason:
            found[name], why[name] = None, str(reason)
        except (OSError, ValueError, KeyError, IndexError) as error:
            found[name], why[name] = None, "cannot be read: {}".format(type(error).__name__)
    found["why"] = why
    return found


def unknown(reason):
    """Raise Unknown with this reason; an expression where a value is wanted."""
    raise Unknown(reason)


def read(path):
    """Return a small file's text without surrounding space; raise Unknown if it is not there."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        raise Unknown("this kernel has no {}".format(path)) from None


def cpu_field(name):
    """Return the first value of a field of /proc/cpuinfo; raise Unknown if there is none."""
    match = re.search(r"^{}\s*:\s*(.+)$".format(name), read(PROCESSES / "cpuinfo"), re.MULTILINE)
    return match.group(1).strip() if match else unknown("/proc/cpuinfo has no field {}".format(name))


def cpu_model_or_unknown():
    """Return the processor's model; raise Unknown if the machine does not say it."""
    return cpu_model() or unknown("/proc/cpuinfo has no field model name")


def cpu_model():
    """Return the processor's model as the kernel names it, or None."""
    try:
        return cpu_field("model name")
    except Unknown:
        return platform.processor() or None


def sockets():
    """Return the number of processor packages."""
    packages = re.findall(r"^physical id\s*:\s*(\d+)", read(PROCESSES / "cpuinfo"), re.MULTILINE)
    return len(set(packages)) or unknown("/proc/cpuinfo has no field physical id")


def cores_granted():
    """Return how many cores this process may keep busy: the smaller of its affinity and its group's quota."""
    granted = len(os.sched_getaffinity(0))
    try:
        return min(granted, max(1, math.ceil(cores_by_quota())))
    except Unknown:
        return granted


def cores_by_quota():
    """Return the cores that the control group's quota allows, e.g. 1.5; raise Unknown without a quota."""
    for folder in control_groups("cpu"):
        if (folder / "cpu.max").exists():
            quota, period = read(folder / "cpu.max").split()
        elif (folder / "cpu.cfs_quota_us").exists():
            quota, period = read(folder / "cpu.cfs_quota_us"), read(folder / "cpu.cfs_period_us")
        else:
            continue
        if quota not in ("max", "-1"):
            return int(quota) / int(period)
    return unknown("no control group of this process has a quota")


def control_groups(controller):
    """Return the folders of this process's control groups for a controller, from its own up to the root."""
    folders = []
    try:
        lines = (PROCESSES / "self" / "cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return folders
    for line in lines:
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        base = SYSTEM / "fs" / "cgroup" / controller if names else SYSTEM / "fs" / "cgroup"
        folder = base / path.lstrip("/")
        folders += [level for level in (folder, *folder.parents) if level.is_relative_to(base)]
    return folders


def threads_per_core():
    """Return how many hardware threads share the first core."""
    return len(expand(read(SYSTEM / "devices/system/cpu/cpu0/topology/thread_siblings_list")))


def expand(text):
    """Return the numbers of a kernel list: `0-2,8` is [0, 1, 2, 8]."""
    numbers = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def numa_nodes():
    """Return the number of memory nodes."""
    return len(expand(read(SYSTEM / "devices/system/node/online")))


def memory_field(name):
    """Return a field of /proc/meminfo in bytes."""
    match = re.search(r"^{}:\s*(\d+) kB".format(name), read(PROCESSES / "meminfo"), re.MULTILINE)
    return int(match.group(1)) * 1024 if match else unknown("/proc/meminfo has no field {}".format(name))


def memory_limit():
    """Return the smallest memory limit of this process's control groups in bytes; raise Unknown without one."""
    limits = []
    for folder in control_groups("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = read(folder / name) if (folder / name).exists() else "max"
            if text != "max" and int(text) < 1 << 60:  # the old groups write a huge number for no limit
                limits.append(int(text))
    return min(limits) if limits else unknown("no control group of this process has a memory limit")


def oom_kills():
    """Return how many processes of this control group the kernel killed for memory, None where it does not count."""
    for folder in control_groups("memory"):
        for name in ("memory.events", "memory.oom_control"):
            if (folder / name).exists():
                match = re.search(r"^oom_kill (\d+)", read(folder / name), re.MULTILINE)
                if match:
                    return int(match.group(1))
    return None


def transparent_huge_pages():
    """Return the kernel's setting for huge pages: always, madvise or never."""
    return re.search(r"\[(\w+)\]", read(SYSTEM / "kernel/mm/transparent_hugepage/enabled")).group(1)


def governor():
    """Return the frequency governor of the first core."""
    return read(SYSTEM / "devices/system/cpu/cpu0/cpufreq/scaling_governor")


def turbo():
    """Return whether the processor may run above its nominal frequency."""
    if (SYSTEM / "devices/system/cpu/intel_pstate/no_turbo").exists():
        return read(SYSTEM / "devices/system/cpu/intel_pstate/no_turbo") == "0"
    return read(SYSTEM / "devices/system/cpu/cpufreq/boost") == "1"


def hypervisor():
    """Return `none` on bare metal, else what the machine tells of its hypervisor."""
    if "hypervisor" not in cpu_field("flags").split():
        return "none"
    try:
        return read(SYSTEM / "class/dmi/id/sys_vendor")
    except Unknown:
        return "unnamed"


def gpus():
    """Return [{"uuid", "model", "memory_bytes"}, ...] of the NVIDIA GPUs; raise Unknown without a driver."""
    with nvml() as library:
        found = []
        for index in range(library.nvmlDeviceGetCount()):
            device = library.nvmlDeviceGetHandleByIndex(index)
            found.append(
                {
                    "uuid": text(library.nvmlDeviceGetUUID(device)),
                    "model": text(library.nvmlDeviceGetName(device)),
                    "memory_bytes": int(library.nvmlDeviceGetMemoryInfo(device).total),
                }
            )
        return found


def gpu_models():
    """Return the models of the GPUs, [] where none is found."""
    try:
        return [gpu["model"] for gpu in gpus()]
    except Unknown:
        return []


def gpu_driver():
    """Return the version of the NVIDIA driver."""
    with nvml() as library:
        return text(library.nvmlSystemGetDriverVersion())


class nvml:
    """The NVIDIA management library for the length of a `with`; raises Unknown where there is none or it refuses."""

    def __enter__(self):
        try:
            import pynvml
        except ImportError:
            raise Unknown("nvidia-ml-py is not installed") from None
        self.library = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise Unknown("no NVIDIA driver answers: {}".format(error)) from None
        return pynvml

    def __exit__(self, kind, error, trace):
        self.library.nvmlShutdown()
        if kind is not None and issubclass(kind, self.library.NVMLError):
            raise Unknown("the NVIDIA driver refused: {}".format(error)) from None
        return False


def text(value):
    """Return a text that older versions of nvidia-ml-py give as bytes."""
    return value.decode() if isinstance(value, bytes) else value


def slurm(name):
    """Return a variable of the SLURM job; raise Unknown outside one."""
    return os.environ.get(name) or unknown("not in a SLURM job")


def worker_cores(threads):
    """Return (cores for the worker, cores for everything else) of those granted; the second may be empty.

    The worker gets `threads` whole cores of one memory node where there are enough: first threads of a core come before
    their siblings, cores are taken node by node.
    """
    granted = sorted(os.sched_getaffinity(0))
    room = collections.Counter(memory_node(core) for core in granted if sibling_rank(core) == 0)
    small = {node for node, cores in room.items() if cores < threads}  # nodes that cannot hold the worker come last
    chosen = sorted(
        granted,
        key=lambda core: (sibling_rank(core), memory_node(core) in small, memory_node(core), core),
    )[:threads]
    return sorted(chosen), sorted(set(granted) - set(chosen))


def sibling_rank(core):
    """Return 0 for the first hardware thread of a core, 1 for the second, ...; 0 where the kernel does not say."""
    try:
        return expand(read(SYSTEM / "devices/system/cpu/cpu{}/topology/thread_siblings_list".format(core))).index(core)
    except (Unknown, ValueError):
        return 0


def memory_node(core):
    """Return the memory node of a core, 0 where the kernel does not say."""
    nodes = sorted((SYSTEM / "devices/system/cpu/cpu{}".format(core)).glob("node[0-9]*"))
    return int(nodes[0].name[4:]) if nodes else 0
