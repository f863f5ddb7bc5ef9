"""Damage saved models in every way, sealed anew or not, and use whatever still opens.

    python tests/folder_fuzz.py COUNT SEED [NAME ...]

prints for each kind how many folders were refused and how many still answered. A folder from
elsewhere may give wrong answers; it must never crash or hang the process, or raise anything but a
BoolrankError.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from boolrank import BoolrankError, Interactions, ItemTable, make_model, paper_protocol
from boolrank.data.splits import Split
from boolrank.models import MODELS, load_model

SMALL = {"als": {"factors": 3}, "bpr": {"factors": 3}, "logistic-mf": {"factors": 3}}
# Forms of the kernel matrix beside the usual one: by storage, scaled, and around another origin.
VARIANTS = {
    "kernel-ranker compressed": {"storage": "compressed", "kernel": "disjunctive(2)"},
    "kernel-ranker dense": {"storage": "dense", "kernel": "disjunctive(2)"},
    "kernel-ranker scaled": {"storage": "dense", "kernel": "monotone_dnf"},
    "kernel-ranker scaled compressed": {"storage": "compressed", "kernel": "monotone_dnf"},
    "kernel-ranker centred": {"storage": "compressed", "kernel": "disjunctive(300)"},
    "kernel-ranker centred dense": {"storage": "dense", "kernel": "disjunctive(300)"},
    "kernel-ranker tags": {"storage": "compressed", "kernel": "disjunctive(2) + linear[tags]"},
    "kernel-ranker tags dense": {"storage": "dense", "kernel": "linear + 2*tanimoto[tags]"},
    "kernel-ranker tags alone": {"storage": "compressed", "kernel": "conjunctive(2)[tags]"},
    "kernel-ranker masses": {"storage": "compressed", "kernel": "tanimoto", "user_exponent": 0.5},
    "kernel-ranker recency": {"recency": 2.0},
    "spectral-ranker kernel": {"kernel": "disjunctive(2)"},
    "item-knn recency": {"recency": 2.0},
    "ease single": {"dtype": "float32"},
    "ease sparse": {"storage": "sparse", "density": 0.3},
    "kernel-ease sparse": {"storage": "sparse", "density": 0.3},
}
NAMES = [*MODELS, *VARIANTS]
SECONDS = 60  # of processor time for one folder


def small_data(name: str) -> Interactions:
    """Few items, two of them equal; many users where values are to be too small for doubles."""
    rng = np.random.default_rng(7)
    users = 2600 if "scaled" in name or "centred" in name else 14
    matrix = rng.random((users, 9)) < (0.5 if users > 100 else 0.4)
    matrix[:, 4] = matrix[:, 2]
    matrix[3] = False
    items = [f"ite{k}é" for k in range(9)]
    if "recency" not in name:
        return Interactions.from_matrix(matrix, items=items)
    rows, columns = np.nonzero(matrix)
    times = rng.integers(10**9, 10**9 + 10**6, len(rows))
    return Interactions.from_pairs(rows, [items[k] for k in columns], time=times)


def fitted(name: str):
    """The model of a name, fitted on small data, or a split of these."""
    if name == "split":
        return paper_protocol(small_data("recency"), folds=2, least=2)
    model = name.partition(" ")[0]
    given = SMALL.get(model, {}) | VARIANTS.get(name, {})
    return make_model(model, **given).fit(small_data(name), items=small_table())


def small_table() -> ItemTable:
    """A column of every type; one item has no row, and one row no item."""
    import polars as pl

    columns = {
        "item": [f"ite{k}é" for k in range(1, 10)],
        "title": ["Tée", None, *"abcdefg"],
        "price": [1.5, None, *range(7)],
        "new": [True, None, False] * 3,
        "day": pl.Series(["2020-01-01", None, "2021-05-05"] * 3).str.to_date(),
        "tags": [["x", "é"], [], ["y"]] * 3,
    }
    return ItemTable.from_frame(pl.DataFrame(columns))


def seal(folder: Path) -> None:
    """Compute all checksums of a folder anew."""
    path = folder / "header.json"
    header = json.loads(path.read_text())
    for entry in header["content"]["arrays"].values():
        file = folder / str(entry.get("file"))
        if file.is_file():
            entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    text = json.dumps(header["content"], sort_keys=True).encode()
    header["sha256"] = hashlib.sha256(text).hexdigest()
    path.write_text(json.dumps(header))


def damage(folder: Path, rng: np.random.Generator) -> None:
    """Change a folder in one to three ways."""
    for _ in range(rng.integers(1, 4)):
        way = WAYS[rng.integers(0, len(WAYS))]
        way(folder, rng)
        if way is special_file:
            return  # a pipe would block whoever reads it next


def _header(folder):
    return json.loads((folder / "header.json").read_text())


def _write(folder, header):
    (folder / "header.json").write_text(json.dumps(header))


def _arrays(folder):
    return [file for file in sorted(folder.iterdir()) if file.suffix == ".bin" and file.is_file()]


def _one(folder, rng):
    files = _arrays(folder)
    return files[rng.integers(0, len(files))] if files else None


def _entry(folder, rng):
    """The header's entry of an array, and its file, which may be gone by now."""
    arrays = _header(folder)["content"]["arrays"]
    entry = arrays[list(arrays)[rng.integers(0, len(arrays))]]
    file = folder / entry["file"]
    if not file.is_file():
        raise FileNotFoundError(file)
    return entry, file


def flip(folder, rng):
    """Flip bits of a file, the header among them, without sealing it."""
    file = [*_arrays(folder), folder / "header.json"][rng.integers(-1, len(_arrays(folder)))]
    raw = bytearray(file.read_bytes())
    for at in rng.integers(0, max(len(raw), 1), 3):
        if raw:
            raw[at] ^= 1 << int(rng.integers(0, 8))
    file.write_bytes(raw)


def truncate(folder, rng):
    file = _one(folder, rng)
    if file:
        raw = file.read_bytes()
        file.write_bytes(raw[: rng.integers(0, max(len(raw), 1))])


def odd_values(folder, rng):
    """Put NaN, infinities, huge, tiny and negative numbers into an array."""
    entry, file = _entry(folder, rng)
    array = np.frombuffer(file.read_bytes()[: 8 * (file.stat().st_size // 8)], np.uint8).copy()
    kind = np.dtype(entry["type"]) if isinstance(entry["type"], str) else np.dtype("u1")
    values = array[: len(array) // kind.itemsize * kind.itemsize].view(kind)
    odd = [0, 1, -1, 7, 2**31 - 1, -(2**31), np.nan, np.inf, -np.inf, 1e308, -1e-320, 1e30, 255]
    for at in rng.integers(0, max(len(values), 1), rng.integers(1, 4)):
        if len(values):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values[at] = np.float64(odd[rng.integers(0, len(odd))]).astype(kind)
    file.write_bytes(array.tobytes())
    seal(folder)


def random_content(folder, rng):
    """Replace an array by random numbers of its type."""
    entry, file = _entry(folder, rng)
    size = file.stat().st_size
    if entry["type"] == "float64":
        content = (rng.standard_normal(size // 8) * 10.0 ** rng.integers(-3, 9)).tobytes()
    elif entry["type"] in ("int32", "int64"):
        wide = np.dtype(entry["type"])
        content = rng.integers(-2, 12, size // wide.itemsize).astype(wide).tobytes()
    else:
        content = rng.bytes(size)
    file.write_bytes(content)
    seal(folder)


def plausible_content(folder, rng):
    """Replace an array by numbers that may well be valid."""
    entry, file = _entry(folder, rng)
    values = np.frombuffer(file.read_bytes(), entry["type"]).copy()
    if entry["type"] == "float64":
        values = rng.uniform(rng.choice([-1.0, 0.0]), 1, len(values))
    else:
        rng.shuffle(values)
    file.write_bytes(values.tobytes())
    seal(folder)


def other_header(folder, rng):
    """Change a value of the header's description, at any depth."""
    header = _header(folder)
    place = header["content"]["about"]
    while True:
        key = list(place)[rng.integers(0, len(place))]
        if isinstance(place[key], dict) and place[key] and rng.random() < 0.7:
            place = place[key]
            continue
        break
    odd = [None, True, -1, 0, 3, 1e99, 1e300, "", "x", "../x", [], {}, [1, 2], {"kind": "sparse"}]
    odd += ["linear", "float32", "groups", "simplex", "dense-matrix", "2020-01-01", float("nan")]
    if rng.random() < 0.2:
        place.pop(key)
    else:
        place[key] = odd[rng.integers(0, len(odd))]
    _write(folder, header)
    seal(folder)


def other_entry(folder, rng):
    """Change type, shape or file of an array."""
    header = _header(folder)
    arrays = header["content"]["arrays"]
    names = list(arrays)
    entry = arrays[names[rng.integers(0, len(names))]]
    shapes = [[], [0], [-1], [3], [9], [2**60], [1, 1, 1], "9", [9, 9], [None], [True], [9.0], [81]]
    changes = {
        "type": ["float64", "float32", "int64", "int32", "uint8", "object", None, 7],
        "shape": [*shapes, list(reversed(entry["shape"])) if entry["shape"] else []],
        "file": ["header.json", "../header.json", "/etc/passwd", "x.bin", None, 5],
        "sha256": ["", None],
    }
    key = list(changes)[rng.integers(0, len(changes))]
    entry[key] = changes[key][rng.integers(0, len(changes[key]))]
    _write(folder, header)
    seal(folder)


def other_content(folder, rng):
    """Change the header outside of its description."""
    header = _header(folder)
    content = header["content"]
    odd = [None, [], {}, 0, "x", True]
    if rng.random() < 0.5:
        key = list(content)[rng.integers(0, len(content))]
        content[key] = odd[rng.integers(0, len(odd))]
    else:
        names = list(content["arrays"])
        entry = content["arrays"][names[rng.integers(0, len(names))]]
        entry.pop(list(entry)[rng.integers(0, len(entry))])
    _write(folder, header)
    text = json.dumps(content, sort_keys=True).encode()
    header["sha256"] = hashlib.sha256(text).hexdigest()
    _write(folder, header)


def swap(folder, rng):
    """Swap two arrays, drop one, or add one."""
    header = _header(folder)
    arrays = header["content"]["arrays"]
    names = list(arrays)
    a, b = (names[k] for k in rng.integers(0, len(names), 2))
    way = rng.integers(0, 4)
    if way == 0:
        arrays[a], arrays[b] = arrays[b], arrays[a]
    elif way == 1:
        arrays.pop(a)
    elif way == 2:
        arrays["scorer-matrix-classes"] = arrays[a]
    else:
        arrays["../x"] = arrays[a]
    _write(folder, header)
    seal(folder)


def special_file(folder, rng):
    """Put a link, a pipe or a folder in the place of a file."""
    file = [*_arrays(folder), folder / "header.json"][rng.integers(-1, len(_arrays(folder)))]
    kept = file.read_bytes()
    file.unlink()
    way = rng.integers(0, 3)
    if way == 0:
        target = folder.parent / f"target-{rng.integers(1 << 40)}"
        target.write_bytes(kept)
        file.symlink_to(target)
    elif way == 1:
        os.mkfifo(file)
    else:
        file.mkdir()


WAYS = [odd_values, odd_values, random_content, random_content, other_header, other_entry, swap]
WAYS += [other_content, flip, truncate, special_file, *[plausible_content] * 8]


def use(path: Path, name: str) -> None:
    """Load a model and ask it everything, or all folds of a split."""
    if name == "split":
        list(Split.load(path))
        return
    model = load_model(path)
    model.recommend(n=4)
    model.score()
    items = list(model.interactions.items)[:3]
    for call in (
        lambda: model.recommend_profile(items, n=3),
        lambda: model.explain_profile(items, items[0]),
        lambda: model.similar_items(items, n=3, where="title > 'a'"),
        lambda: model.recommend(n=3, where="tags has 'x' or price < 3 and new or day is null"),
        lambda: model.recommend(n=3, per={"tags": 1, "title": 1, "day": 1}).to_dict(),
        lambda: model.item_table.number("tée"),
        lambda: model.update(Interactions.from_pairs([0], items[:1])),
    ):
        with contextlib.suppress(BoolrankError):
            call()


def fuzz(name: str, count: int, seed: int) -> tuple[int, int]:
    """Return how many damaged folders were refused, and how many answered."""
    rng = np.random.default_rng(seed)
    refused = answered = 0
    with tempfile.TemporaryDirectory() as temporary:
        whole, folder = Path(temporary, "whole"), Path(temporary, "folder")
        fitted(name).save(whole)
        use(whole, name)
        for trial in range(count):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            shutil.copytree(whole, folder)
            # What is damaged already may not bear further damage.
            broken = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError)
            with contextlib.suppress(*broken):
                damage(folder, rng)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    use(folder, name)
                answered += 1
            except BoolrankError:
                refused += 1
            except BaseException:
                kept = Path(tempfile.gettempdir(), f"boolrank-fuzz-{os.getpid()}-{trial}")
                shutil.copytree(folder, kept, symlinks=True, ignore_dangling_symlinks=True)
                sys.stderr.write(f"{name}, seed {seed}, trial {trial}: see {kept}\n")
                raise
            shutil.rmtree(folder)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return refused, answered


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # tells where it hangs, and ends the process
    for each in sys.argv[3:] or [*NAMES, "split"]:
        counts = fuzz(each, int(sys.argv[1]), int(sys.argv[2]))
        sys.stdout.write(f"{each}: {counts[0]} refused, {counts[1]} answered\n")
        sys.stdout.flush()
