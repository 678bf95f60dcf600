# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The node's service, by itself or under SLURM's daemons (tests/faults/cluster.sh)."""
import json
import os
import signal
import subprocess

import kernel
from targets import wait_until

POLICY = "output {}/archives/%u/%j.%n\nrecord all\n"


class Service:
    """One service in a directory of its own; where a shell started it, process has only its pid."""

    def __init__(self, settings, directory):
        self.settings, self.dir = settings, directory
        self.socket, self.state = os.path.join(directory, "n1.socket"), os.path.join(directory, "state-n1")
        self.log = os.path.join(directory, "n1.log")
        self.process = None

    def start(self):
        os.makedirs(os.path.join(self.dir, "archives"), exist_ok=True)
        policy = os.path.join(self.dir, "n1.policy")
        if not os.path.exists(policy):
            with open(policy, "w") as file:
                file.write(POLICY.format(self.dir))
        self.process = subprocess.Popen([self.settings.ioprobe, "serve", "--node", "n1", "--policy", policy, "--state", self.state,
                                         "--socket",
                                         self.socket], stdin=subprocess.DEVNULL, stdout=open(self.log, "a"),
                                         stderr=subprocess.STDOUT)
        return wait_until(lambda: " 1 recorders are loaded" in self.ask("version")[1], 20, 0.05)

    def said(self):
        with open(self.log) as file:
            return file.read()[-300:]

    def revive(self):
        """Starts it again if it has ended."""
        wait_until(lambda: self.process.poll() is not None, 1)
        if self.process.poll() is not None:
            self.start()

    def ask_later(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
        return subprocess.Popen([self.settings.ioprobe, "job", "--socket", self.socket, *arguments], stdin=subprocess.DEVNULL,
                                env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, *arguments):
        request = self.ask_later(*arguments)
        try:
            text, _ = request.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            request.kill()
            return -1, "no answer"
        return request.returncode, text

    def value(self, job, key):
        """From the job's state file; "" if there is none."""
        try:
            with open(os.path.join(self.state, "jobs", f"{job}.json")) as file:
                return json.load(file).get(key, "")
        except (OSError, ValueError):
            return ""

    def wait_phase(self, job, phases, seconds):
        wait_until(lambda: self.value(job, "phase") in phases, seconds, 0.05)
        return self.value(job, "phase")

    def stop(self):
        """Recorders outlive the service: all that run with its directory are ended."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for name in os.listdir(os.path.join(self.state, "jobs")) if os.path.isdir(os.path.join(self.state, "jobs")) else []:
            pid = self.value(name.removesuffix(".json"), "pid")
            if pid and self.value(name.removesuffix(".json"), "phase") not in ("done", "failed", "empty") and \
                    kernel.runs_program(pid, self.settings.ioprobe):
                os.kill(pid, signal.SIGKILL)


class Shell:
    """A process that was started elsewhere: what Service needs of a Popen."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        return None if os.path.exists(f"/proc/{self.pid}/exe") and kernel.thread_states(self.pid).get(str(self.pid)) not in (None,
                "Z") else 0


class SlurmService(Service):
    def __init__(self, settings, directory, shell):
        super().__init__(settings, directory)
        self.shell = shell

    def start(self):
        self.process = Shell(int(self.shell("start_service")))
        return True


class Cluster:
    """SLURM's daemons on two nodes of this host, of which n1 has a service."""

    def __init__(self, settings):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster.sh")
        environment = dict(os.environ, TMP=os.path.join(settings.tmp, "slurm"), IOPROBE=settings.ioprobe)
        os.makedirs(environment["TMP"])
        self.process = subprocess.Popen(["bash", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                                        stderr=open(os.path.join(settings.tmp, "slurm.err"), "w"))
        line = self.process.stdout.readline().strip()
        if not line.startswith("ready "):
            raise RuntimeError(line or "the cluster does not start")
        _, self.conf, directory = line.split()
        self.service = SlurmService(settings, directory, self.tell)
        self.service.start()
        self.environment = {"PATH": os.environ["PATH"], "SLURM_CONF": self.conf, "HOME": "/tmp"}

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def command(self, *arguments, **options):
        return subprocess.run(arguments, env=self.environment, capture_output=True, text=True, timeout=60, **options).stdout.strip()

    def submit(self, directory, command):
        script, out = os.path.join(directory, "script"), os.path.join(directory, "out")
        with open(script, "w") as file:
            file.write("#!/bin/bash\nexec " + " ".join(command) + "\n")
        os.chmod(script, 0o755)
        os.chmod(directory, 0o777)
        return self.command("sbatch", "--parsable", "--comment=ioprobe", "-D", "/tmp", "-o", out, "-N1", "-n1", "-w", "n1", script,
                            user="games",
                            group="games", extra_groups=[])

    def job_problem(self, job):
        def state():
            text = self.command("scontrol", "-o", "show", "job", job)
            return text if not any(s in text for s in ("JobState=PENDING", "JobState=RUNNING", "JobState=COMPLETING")) else ""
        text = wait_until(state, 40, 0.1)
        if text and "JobState=COMPLETED" in text and "ExitCode=0:0" in text:
            return ""
        return f"job {job}: {text[:200] if text else 'does not end'}"

    def drained(self):
        return "; ".join(line for line in self.command("sinfo", "-h", "-N", "-o", "%N %T %E").splitlines()
                         if any(w in line.lower() for w in ("drain", "down", "fail")))

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)
