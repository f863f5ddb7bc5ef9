"""Fits beyond memory: time, peak memory, skew and kills of fits on disk.

    python benchmarks/scale.py [pair|skew|kills|identity|caps|large|spark]

``pair`` compares the time per pair on disk with that in memory on a set that fits both; ``skew``
one user with 20,000 items with the same pairs spread evenly; ``kills`` ends a fit 20 times at
random moments and continues it; ``identity`` compares fits of real sets in memory and on disk;
``caps`` leaves active users out of the fit; ``large`` fits 20 million events within 4 GB and ranks
10,000 users; ``spark`` runs spark_scale.py. Without a name all of them run.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

PAIR = (100_000, 50_000, 2_000_000)
LARGE = (1_000_000, 300_000, 20_000_000)
KERNELS = ("linear", "disjunctive(8)", "tanimoto")
KILLS = (30_000, 20_000, 600_000)
# Ordinary users with 20 items each beside one with 20,000, and the items of all.
ORDINARY, LENGTH, HEAVY, ITEMS = 100_000, 20, 20_000, 50_000


# Both ways store a compressed matrix; MovieLens-1M would have a dense one in memory by default.
_FIT_SET = """
import sys
from boolrank import KernelRanker, load_dataset
from boolrank.models import fit_on_disk
name, kernel, path = sys.argv[1:]
data, model = load_dataset(name), KernelRanker(kernel, storage="compressed")
if path.endswith("memory"):
    model.fit(data).save(path)
else:
    fit_on_disk(model, data, path, "650MB")
"""


def main() -> None:
    """Run the parts that are asked for, and print a line for each figure."""
    parts = {"pair": pair, "skew": skew, "kills": kills}
    parts |= {"identity": identity, "caps": caps, "large": large, "spark": spark}
    for name in sys.argv[1:] or parts:
        for line in parts[name]():
            print(f"{name}: {line}", flush=True)


def spark() -> list[str]:
    """Run the benchmark of Spark, which prints its own lines."""
    script = Path(__file__).with_name("spark_scale.py")
    subprocess.run([sys.executable, str(script)], check=True)
    return []


def pair() -> list[str]:
    """Fit the same set in memory and on disk, in processes of their own, three times each."""
    with TemporaryDirectory(dir=_out()) as folder:
        events = _events(Path(folder), PAIR)
        times: dict[str, list[float]] = {"memory": [], "disk": []}
        found: dict[str, Any] = {}
        for _ in range(4):
            for path, more in (("memory", []), ("disk", ["--memory", "1GB"])):
                taken = _fit(events, Path(folder, path), *more)
                times[path].append(taken["seconds"])
                found[path] = _hash(Path(folder, path)), taken
        best = {path: min(taken[1:]) for path, taken in times.items()}  # the first run compiles
        pairs = _pairs(Path(folder, "disk"))
    same = found["memory"][0] == found["disk"][0]
    out = [
        f"{PAIR[2]:,} events, {pairs:,} pairs; folders are {'the same' if same else 'DIFFERENT'}",
        f"ratio {best['disk'] / best['memory']:.2f} (at most 3); the limit on disk is 1 GB",
    ]
    for path, seconds in best.items():
        each, peak = 1e9 * seconds / pairs, found[path][1]["peak"] / 1e9
        out.append(f"{path} {seconds:.1f} s, {each:.0f} ns per pair, peak {peak:.2f} GB")
    return out


def skew() -> list[str]:
    """Count with one heavy user, and with as many steps spread over ordinary users."""
    from boolrank import Interactions
    from boolrank.counts.counting import count_sparse

    rng = np.random.default_rng(0)

    def draw(users: int, length: int, first: int) -> tuple[Any, Any]:
        rows = np.repeat(np.arange(first, first + users), length)
        return rows, rng.integers(0, ITEMS, len(rows))

    rows, columns = draw(ORDINARY, LENGTH, 1)
    heavy = np.zeros(HEAVY, np.int64), rng.permutation(ITEMS)[:HEAVY]
    skewed = Interactions.from_pairs(np.append(rows, heavy[0]), np.append(columns, heavy[1]))
    # As many steps by users of 200 items, which share them with each other less often.
    even = draw(HEAVY**2 // 200**2, 200, ORDINARY + 1)
    spread = Interactions.from_pairs(np.append(rows, even[0]), np.append(columns, even[1]))
    out, times = [], []
    for name, data in (("one user with 20,000 items", skewed), ("spread evenly", spread)):
        steps = int((data.rows.lengths**2).sum())
        count_sparse(data)
        taken = []
        for _ in range(3):
            start = time.perf_counter()
            counted = count_sparse(data)
            taken.append(time.perf_counter() - start)
        times.append(min(taken))
        out.append(f"{name}: {steps:,} steps, {counted.pairs:,} pairs, {times[-1]:.2f} s")
    return [*out, f"ratio {times[0] / times[1]:.2f} (at most 1.5)"]


def kills() -> list[str]:
    """End a fit at random moments, continue it, and compare folders."""
    rng = np.random.default_rng(1)
    with TemporaryDirectory(dir=_out()) as folder:
        events, target = _events(Path(folder), KILLS), Path(folder, "model")
        limit = ["--memory", "700MB"]
        taken = min(_fit(events, Path(folder, "whole"), *limit)["seconds"] for _ in range(2))
        expected, killed, done = _bytes(Path(folder, "whole")), 0, 0
        while killed < 20:
            process = subprocess.Popen(_command(events, target, *limit), stderr=subprocess.PIPE)
            time.sleep(rng.uniform(0.1, 0.9) * taken)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            if not (target / "header.json").exists():
                killed += 1
                continue
            # It was done before: compare, and start anew.
            if _bytes(target) != expected:
                return ["DIFFERENT folder"]
            done += 1
            rmtree(target)
        _fit(events, target, *limit)
        same = _bytes(target) == expected
    result = "the same folder each time" if same else "DIFFERENT"
    return [f"20 kills at random moments, {done + 1} fits that ended: {result}"]


def identity() -> list[str]:
    """Fit real sets in memory and on disk; compare arrays and the lists of all users."""
    from boolrank import load_model

    out = []
    with TemporaryDirectory(dir=_out()) as folder:
        for name, kernel in product(("movielens-1m", "gowalla"), KERNELS):
            for path in ("memory", "disk"):
                _run([sys.executable, "-c", _FIT_SET, name, kernel, f"{folder}/{path}"])
            arrays = [_header(Path(folder, path))["arrays"] for path in ("memory", "disk")]
            common = arrays[0].keys() & arrays[1].keys()
            same = all(arrays[0][each]["sha256"] == arrays[1][each]["sha256"] for each in common)
            lists = [load_model(f"{folder}/{path}").recommend(n=20) for path in ("memory", "disk")]
            alike = np.array_equal(lists[0].scores, lists[1].scores, equal_nan=True)
            alike &= bool((lists[0].items == lists[1].items).all())
            out.append(f"{name}, {kernel}: {len(common)} arrays {same}, lists {alike}")
    return out


def caps() -> list[str]:
    """Leave users with many items out of the fit on Gowalla, and rank all by their full lists."""
    from boolrank import ItemKNN, KernelRanker
    from boolrank.data import DATASETS

    train, test = DATASETS["gowalla"].load_parts(None)
    lengths, out = train.rows.lengths, []
    profiles = [train.items.ids[train.rows.row(user)].tolist() for user in range(len(lengths))]
    truth = [set(test.items.ids[test.rows.row(t)].tolist()) for t in range(len(test.users))]
    places, gains = test.users.find(train.users), 1 / np.log2(np.arange(2, 22))
    models = (
        ItemKNN(user_exponent=1.0),
        KernelRanker("disjunctive(8)", user_exponent=0.5),
    )
    for cap in (int(lengths.max()), 400, 200, 100, 50):
        data = train[np.repeat(lengths <= cap, lengths)]
        steps = int((data.rows.lengths**2).sum())
        for model in models:
            lists = model.fit(data).recommend_profiles(profiles, n=20, unknown="ignore").items
            recall, ndcg = [], []
            for user, place in enumerate(places):
                if place >= 0:
                    hits = np.array([item in truth[place] for item in lists[user]])
                    best = gains[: len(truth[place])].sum()
                    recall.append(hits.sum() / len(truth[place]))
                    ndcg.append(hits @ gains / best)
            shown = f"recall@20 {np.mean(recall):.4f}, ndcg@20 {np.mean(ndcg):.4f}"
            out.append(f"at most {cap} items, {steps:,} steps, {type(model).__name__}: {shown}")
    return out


def large() -> list[str]:
    """Fit 20 million events within 4 GB, and rank 10,000 users."""
    with TemporaryDirectory(dir=_out()) as folder:
        events, target = _events(Path(folder), LARGE), Path(folder, "model")
        fit = _fit(events, target, "--memory", "4GB")
        pairs = _pairs(target)
        size = sum(file.stat().st_size for file in target.iterdir())
        users = Path(folder, "users.txt")
        users.write_text("\n".join(map(str, range(0, 1_000_000, 100))))
        lists = Path(folder, "lists.parquet")
        command = [sys.executable, "-m", "boolrank", "recommend", str(target)]
        rank = _run([*command, "--users", f"@{users}", "--n", "20", "--out", str(lists)])
        import polars as pl

        rows = pl.scan_parquet(lists).select(pl.len()).collect().item()
    each = 1e9 * fit["seconds"] / pairs
    return [
        f"{LARGE[0]:,} users, {LARGE[1]:,} items, {LARGE[2]:,} events, {pairs:,} pairs",
        f"fit {fit['seconds']:.0f} s, {each:.0f} ns per pair, folder {size / 1e9:.1f} GB",
        f"peak {fit['peak'] / 1e9:.2f} GB (at most 4.4)",
        f"10,000 users in {rank['seconds']:.0f} s, peak {rank['peak'] / 1e9:.2f} GB, {rows:,} rows",
    ]


def _out() -> Path:
    Path("bench").mkdir(exist_ok=True)
    return Path("bench")


def _events(folder: Path, shape: tuple[int, int, int]) -> Path:
    """Write synthetic events in random order, in a process of its own, and return the file."""
    path = folder / "events.parquet"
    code = (
        "import sys, numpy as np, polars as pl\n"
        "from boolrank.data.synthetic import synthetic\n"
        "users, items, events = map(int, sys.argv[2:])\n"
        "data = synthetic(users, items, events)\n"
        "order = np.random.default_rng(0).permutation(data.size)\n"
        "frame = pl.DataFrame({'user': data.rows.numbers[order], 'item': data.indices[order]})\n"
        "frame.write_parquet(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, path, *map(str, shape)], check=True)
    return path


def _command(events: Path, target: Path, *more: str) -> list[str]:
    program = [sys.executable, "-m", "boolrank", "fit", str(events), "--kernel", "disjunctive(8)"]
    return [*program, "--out", str(target), *more]


def _fit(events: Path, target: Path, *more: str) -> dict[str, float]:
    return _run(_command(events, target, *more))


def _run(command: list[str]) -> dict[str, float]:
    """Return the time of a command in seconds, and its peak memory in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    peak = 0
    while process.poll() is None:
        # The peak of the process that started this one is none of ours, so ask while it runs.
        lines = status.read_text().splitlines() if status.exists() else []
        peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    return {"seconds": time.perf_counter() - start, "peak": 1024 * peak}


def _header(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "header.json").read_text())["content"]
    return content


def _pairs(folder: Path) -> int:
    return int(_header(folder)["arrays"]["overlaps-columns"]["shape"][0])


def _hash(folder: Path) -> str:
    from boolrank.models import model_info

    return str(model_info(folder)["hash"])


def _bytes(folder: Path) -> dict[str, str]:
    """Return a hash of every array and of the description without its date; no other files."""
    content = _header(folder)
    files = {name: entry["file"] for name, entry in content["arrays"].items()}
    there = {file.name for file in folder.iterdir()}
    if there != {"header.json", *files.values()}:
        raise SystemExit(f"{folder} has leftovers: {sorted(there - set(files.values()))}")
    about = {name: value for name, value in content["about"].items() if name != "created"}
    found = {name: (folder / file).read_bytes() for name, file in files.items()}
    found["about"] = json.dumps(about, sort_keys=True).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


if __name__ == "__main__":
    main()
