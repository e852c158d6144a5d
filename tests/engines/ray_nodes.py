"""A Ray cluster of two machines that are processes of this one, for the tests.

The machines are started by a program of their own (`python -m tests.engines.ray_nodes FOLDER
PORT`), since Ray leaves files open in the process that starts them. It ends them when its input
ends.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_NODE = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
_LOSE = "lose"


@dataclass(frozen=True)
class RayCluster:
    """A running cluster of two machines with one core each.

    Attributes:
        address: For programs on a machine of the cluster.
        client_address: For programs on any other machine.
        program: Starts and ends the machines.
    """

    address: str
    client_address: str
    program: subprocess.Popen[str]

    def lose_machine(self) -> None:
        """Ends the second machine as a power cut does, and starts a third."""
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        print(_LOSE, file=self.program.stdin, flush=True)
        assert self.program.stdout.readline().strip() == _LOSE


def free_port() -> int:
    """Returns a port nobody listens at."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """Runs a cluster inside the block, in a folder whose path is short enough for its sockets."""
    folder, port = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), free_port()
    (Path(folder) / "ray").mkdir()
    environment = {
        "RAY_TMPDIR": folder,  # else it says to all programs here that it is their cluster
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
        # else the server for clients, which forks beside its threads, hangs once in ten starts
        "GRPC_ENABLE_FORK_SUPPORT": "0",
    }
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.ray_nodes", folder, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        with program:  # closes its input, and waits for its end
            assert program.stdout is not None
            address = program.stdout.readline().strip()
            yield RayCluster(address, f"ray://127.0.0.1:{port}", program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(folder: str, port: str) -> None:
    """Runs the machines until the input ends."""
    from ray.cluster_utils import Cluster  # not in the tests: the engine sets up how Ray is loaded

    head = {**_NODE, "temp_dir": folder, "ray_client_server_port": int(port)}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    try:
        second = nodes.add_node(**_NODE)
        print(nodes.address, flush=True)
        for line in sys.stdin:
            nodes.remove_node(second, allow_graceful=False)
            second = nodes.add_node(**_NODE)
            print(line.strip(), flush=True)
    finally:
        nodes.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
