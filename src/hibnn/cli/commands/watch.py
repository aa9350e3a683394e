"""`hibnn watch`: the report's page, live on this machine."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from hibnn.cli.arguments import parse
from hibnn.errors import UserError
from hibnn.report.page.live import ADDRESS, LivePage, server_of


@dataclass(frozen=True, kw_only=True)
class WatchArguments:
    """Serve the page of 'hibnn report' to browsers on this machine, and refresh it while runs go on; Ctrl-C ends it."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders with runs, at any depth below"""
    port: int = 8765
    """where to listen; 0 takes any port that is free"""


def main(arguments: list[str]) -> int:
    """Serve until interrupted."""
    parsed = parse(WatchArguments, "watch", arguments)
    if not parsed.runs:
        raise UserError("name at least one folder with runs.")
    if not 0 <= parsed.port <= 65_535:
        raise UserError(f"a port is a number from 0 to 65535, not {parsed.port}.")
    page = LivePage(parsed.runs)
    page.version()
    with server_of(page, parsed.port) as server:
        print(f"http://{ADDRESS}:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nEnded.")
    return 0
