"""Functions that the benchmarks share: install packages, build programs, serve a folder with nginx, run and measure a process.

Needs only the standard library. Missing Debian packages are installed. Programs (aranha, floor, spider-peer, write_speed) are built,
unless the environment variable BENCH_BIN names a folder that has them. A page is a distinct URL with status 200 and type
text/html in the server's log; the crawler's own report is not used.
"""
import collections
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
DOCS = pathlib.Path("/usr/share/doc/rust-doc/html")
CORES = sorted(os.sched_getaffinity(0))[:2]


def fail(sentence):
    sys.exit(f"error: {sentence}")


def install(**packages):
    """Installs Debian packages. An argument is package="command" or package="/a/file"; the package is installed if the command or
    file is missing."""
    def there(thing):
        if thing.startswith("/"):
            return os.path.exists(thing)
        return shutil.which(thing, path=os.environ["PATH"] + ":/usr/sbin")
    missing = [name.replace("_", "-") for name, thing in packages.items() if not there(thing)]
    if missing:
        print("==> installing", *missing, file=sys.stderr)
        apt = ["apt-get", "-qq", "-o", "DPkg::Options::=--path-include=/usr/share/doc/rust-doc/*"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-qq", "update"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*apt, "install", "-y", "--no-install-recommends", "--reinstall", *missing], check=True,
                       env=environment, stdout=subprocess.DEVNULL)


def built(name, path, *cargo, folder=ROOT, target=TARGET):
    """Path of a program. Builds it in release mode, unless BENCH_BIN names a folder that has it."""
    ready = pathlib.Path(os.environ["BENCH_BIN"]) / name if "BENCH_BIN" in os.environ else None
    if ready and ready.exists():
        return ready.resolve()
    subprocess.run(["cargo", "build", "--release", "--quiet", *cargo], cwd=folder, check=True,
                   env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release" / path


def aranha():
    return built("aranha", "aranha", "-p", "aranha")


def floor():
    return built("floor", "examples/floor", "-p", "aranha-page", "--example", "floor")


def write_speed():
    return built("write_speed", "examples/write_speed", "-p", "aranha-volume", "--example", "write_speed")


def spider():
    """Builds the spider crate's program in its own target folder; the first build takes minutes."""
    install(pkg_config="pkg-config", libssl_dev="/usr/include/openssl/ssl.h")
    return built("spider-peer", "spider-peer", folder=ROOT / "bench" / "peers" / "spider", target=TARGET / "peers")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Nginx:
    """nginx with two workers. `servers` is the text of its server blocks. Runs until it is closed."""

    def __init__(self, here, port, servers, fields="$status\t$sent_http_content_type\t$request_uri"):
        self.log = here / "access.log"
        conf = here / "nginx.conf"
        conf.write_text(f"""
daemon off; worker_processes 2; pid {here}/nginx.pid; error_log {here}/nginx.err;
events {{ worker_connections 8192; }}
http {{
  include /etc/nginx/mime.types; sendfile on; tcp_nopush on; keepalive_requests 1000000; keepalive_timeout 75s;
  log_format seen '{fields}';
  access_log {self.log} seen buffer=256k flush=500ms;
  client_body_temp_path {here}/t1; proxy_temp_path {here}/t2; fastcgi_temp_path {here}/t3;
  uwsgi_temp_path {here}/t4; scgi_temp_path {here}/t5;
{servers}
}}
""")
        path = os.environ["PATH"] + ":/usr/sbin"
        self.process = subprocess.Popen(["nginx", "-p", here, "-c", conf, "-e", here / "nginx.err"],
                                        env={**os.environ, "PATH": path})
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if self.process.poll() is not None:
                    fail(f"nginx did not start: {(here / 'nginx.err').read_text()}")
                time.sleep(0.05)
        self.read = 0

    def lines(self):
        """Log lines since the last call, split into fields."""
        time.sleep(1.2)
        with open(self.log, "rb") as log:
            log.seek(self.read)
            text = log.read()
            self.read += len(text)
        return [line.split("\t") for line in text.decode(errors="replace").splitlines()]

    def pages(self):
        """Number of times that each page was delivered since the last call."""
        return collections.Counter(path for status, kind, path, *_ in self.lines()
                                   if status == "200" and kind.startswith("text/html"))

    def close(self):
        self.process.terminate()
        self.process.wait()


def warm(folder):
    """Reads all pages once, so that the server's files are in the page cache for every crawler."""
    for parent, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".html"):
                with open(os.path.join(parent, name), "rb") as page:
                    while page.read(1 << 20):
                        pass


def measure(command, output, limit=300, log=None, **options):
    """Runs a command. Returns its duration, processor time, peak memory and disk usage."""
    os.sync()
    began = time.monotonic()
    with open(log or os.devnull, "wb") as sink:
        process = subprocess.Popen([str(part) for part in command], stdout=sink, stderr=sink, **options)
        status = usage = None
        memory = 0
        while status is None:
            memory = max(memory, peak(process.pid))
            pid, ended, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status = ended
            elif time.monotonic() - began > limit:
                process.kill()
                fail(f"{command[0]} took more than {limit} s")
            else:
                time.sleep(0.01)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "system": usage.ru_stime,
        "memory": memory, "disk": size(output), "writes": usage.ru_oublock * 512,
        "status": process.returncode,
    }


def peak(pid):
    """Peak memory of a process so far. wait4 is not used, because its figure includes the memory of the parent before exec."""
    try:
        lines = open(f"/proc/{pid}/status").read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def size(path):
    """Disk usage of a file or folder in bytes."""
    if path.is_file():
        return path.stat().st_blocks * 512
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def machine():
    """One line that describes this machine."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = int(open("/proc/meminfo").readline().split()[1]) >> 20
    name = next(line.split("=")[1].strip().strip('"') for line in open("/etc/os-release") if line.startswith("PRETTY"))
    return f"{len(CORES)} cores of {model}, {memory} GiB, {name}, Linux {os.uname().release.split('-')[0]}"
