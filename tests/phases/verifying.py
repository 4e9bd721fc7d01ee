"""One made-up task on film, a good answer about it, and a verifier that asks a local server."""

from __future__ import annotations

import copy
import json

import numpy as np
from synthetic import scripted_demo

from phaser.core.demonstration import Demo
from phaser.phases.autopc import AutoPC
from phaser.phases.candidates import candidates
from phaser.phases.signals import SignalRules
from phaser.phases.transcripts import Transcripts
from phaser.phases.verify import Verifier, find_phases
from phaser.phases.vlm import Vlm
from phaser.phases.vlm_server import VlmServer

KEY = "sk-canary-0123456789abcdef"


class Pictures:
    def __init__(self, num_frames):
        self.num_frames = num_frames

    def __len__(self):
        return self.num_frames

    def read(self, frames):
        levels = np.array(frames, np.uint8)[:, None, None, None]
        return np.broadcast_to(levels, (len(frames), 12, 16, 3)).copy()


def filmed(demo, index=0):
    return Demo(
        task=demo.task,
        index=index,
        actions=demo.actions,
        states=demo.states,
        layout=demo.layout,
        cameras={"corner": Pictures(demo.num_frames)},
    )


DEMOS = [filmed(scripted_demo((40, 20, 40)), 0), filmed(scripted_demo((44, 20, 42)), 1)]
FOUND = candidates(DEMOS[0], SignalRules())


def decision(number, action, new=None):
    return {"id": f"C{number}", "action": action, "new_t": new, "reason": "the fingers close"}


def phase(name, start, end):
    return {"name": name, "start_ratio": start, "end_ratio": end}


GOOD = {
    "decisions": [decision(1, "accept"), decision(2, "relocate", 62)],
    "vlm_inserted": [{"t": 80, "reason": "the cup touches the shelf"}],
    "phases": [
        phase("approach_cup", 0, 0.4),
        phase("grasp_cup", 0.4, 0.62),
        phase("transport_cup", 0.62, 0.8),
        phase("release_cup", 0.8, 1.0),
    ],
}


def changed(**parts):
    return json.dumps({**copy.deepcopy(GOOD), **parts})


def phases_without(*, drop=(), **changes):
    found = [copy.deepcopy(one) for k, one in enumerate(GOOD["phases"]) if k not in drop]
    for position, part in changes.items():
        found[int(position[1:])].update(part)
    return changed(phases=found)


def verifier(server_url, folder, **settings):
    verifying = {k: settings.pop(k) for k in ("media", "max_frames") if k in settings}
    verifying.setdefault("max_frames", 8)
    timeout_s = settings.pop("timeout_s", 20.0)
    settings = {"max_retries": 2, "first_pause_s": 0.01, **settings}
    server = VlmServer(url=server_url, model="seer", timeout_s=timeout_s)
    return Verifier(
        vlm=Vlm(server=server, transcripts=Transcripts(folder), **settings), **verifying
    )


def find(one, instruction="put the cup on the shelf"):
    return find_phases(DEMOS, instruction=instruction, auto=AutoPC(), verifier=one)
