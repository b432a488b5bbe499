"""What the house measures: files and lines by folder, circles of imports, the files of the law, and how often private
words stand in it.

    python tests/script.py tests/support/house.py
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
from cost import FOLDERS, ROOT

LAW = frozenset({"claims", "variants", "events", "interface", "scenarios", "histories", "translator"})
"""What a protocol's folder under `properties` may hold, as files or as folders; `promised` has data."""
PRIVATE = (
    "told", "tell", "tells", "telling", "said", "shown", "shows", "showing", "kept", "beside", "whoever", "nobody",
    "somebody", "fated", "unhindered", "mistimed", "retelling", "bend", "bends", "planted", "newcomers", "calmest",
)  # fmt: skip
"""Words that stand for something in this project alone, or for a person where a node is meant."""


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def sizes() -> dict[str, tuple[int, int]]:
    """Files and lines of each top folder."""
    return {
        folder: (len(found := list(python_files(folder))), sum(len(p.read_text("utf-8").splitlines()) for p in found))
        for folder in (*FOLDERS, "tests")
    }


def outside_the_law() -> list[str]:
    """Files and folders of protocols that have no name of the law."""
    strange = []
    for folder in sorted((ROOT / "properties").iterdir()):
        if (folder / "claims.py").exists() or (folder / "claims").is_dir():
            names = {path.relative_to(folder).parts[0].removesuffix(".py") for path in folder.rglob("*.py")}
            strange += [f"properties/{folder.name}/{name}" for name in sorted(names - LAW - {"__init__"})]
    return strange


@cache
def imports() -> nx.DiGraph:
    """Which module of the four folders imports which, lazily and for types as well; ``load``: when it is loaded."""
    modules = {_name(path): path for path in python_files(*FOLDERS)}
    graph = nx.DiGraph()
    graph.add_nodes_from(modules)
    for name, path in modules.items():
        tree = ast.parse(path.read_text("utf-8"))
        lazily = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for full in (f"{node.module}.{alias.name}" for alias in node.names):
                    target = full if full in modules else node.module
                    if target in modules and target != name:
                        load = node not in lazily or graph.edges.get((name, target), {}).get("load", False)
                        graph.add_edge(name, target, load=load)
    return graph


def circles(*, load: bool) -> list[int]:
    """The sizes of circles of imports, the largest first; ``load``: only of what is imported when a module is."""
    graph = imports()
    if load:
        graph = graph.edge_subgraph([edge for edge in graph.edges if graph.edges[edge]["load"]])
    return sorted((len(c) for c in nx.strongly_connected_components(graph) if len(c) > 1), reverse=True)


def private_words() -> Counter[str]:
    """How often each private word stands in the four folders: in names, docstrings, comments and texts."""
    found: Counter[str] = Counter()
    for path in python_files(*FOLDERS):
        found.update(w for w in re.findall(r"[a-z]+", path.read_text("utf-8").lower()) if w in PRIVATE)
    return found


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("fencepost", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def main() -> None:
    found = sizes()
    for folder, (files, lines) in found.items():
        print(f"{folder}: {files} files, {lines} lines")
    print("source:", sum(lines for folder, (_, lines) in found.items() if folder in FOLDERS), "lines,",
          "all:", sum(files for files, _ in found.values()), "files")  # fmt: skip
    print("outside the law:", outside_the_law())
    print("circles when loaded:", circles(load=True), "and lazily:", circles(load=False))
    print("private words:", dict(private_words().most_common()))


if __name__ == "__main__":
    main()
