"""The command ``new`` writes the files of a protocol of the user's own."""

from pathlib import Path

import click
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cli.shared.options import import_from_here
from fencepost.proofs.cli.shared.output import console, errors

FILES = ("model.py", "claims.py", "events.py", "interface.py", "histories.py", "reference.py")
"""A protocol has these files, in the order in which to read them."""


@click.command()
@click.argument("package")
def new(package: str) -> int:
    """Write a protocol of your own, to begin with.

    PACKAGE is named as in an import statement, and its folder is made here. Where it has a model.py already, the files
    that it lacks are written from the model's actions: an event, a method and an observation for each, and an
    implementation that does nothing yet, which `fencepost agree` finds inconclusive. Otherwise the files are those of
    a small example, a lock with fencing tokens, under your name: it is proved, explored and driven at once.

    No file that is there is changed. Example: fencepost new lease
    """
    from fencepost.proofs.authoring.beginning import example, from_model

    if not all(part.isidentifier() and part.islower() for part in package.split(".")):
        raise InputError(f"{package!r} is no name of a package: write it in small letters, such as lease or my.lease")
    folder = Path(*package.split("."))
    if folder.is_file() or any(folder.glob("claims/*")):
        raise InputError(f"{folder} has other contents than a new protocol; name another package")
    has_model = (folder / "model.py").is_file()
    if not has_model and (there := [name for name in FILES if (folder / name).exists()]):
        raise InputError(f"{folder} has {', '.join(there)} and no model.py; write that first, or name another package")
    import_from_here()
    texts = from_model(package) if has_model else example(package)
    written = _written(folder, texts)
    for name in written:
        console.print(f"written: {folder / name}", markup=False)
    for name in (*FILES,):
        if name not in written:
            console.print(f"left as it is: {folder / name}", markup=False)
    errors.print(
        f"try: fencepost prove {package}; fencepost explore {package}; fencepost agree {package}", markup=False
    )
    return 0


def _written(folder: Path, texts: dict[str, str]) -> list[str]:
    """Write the files that are not there, all or none, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    done: list[Path] = []
    try:
        for name, text in texts.items():
            if not (folder / name).exists():
                with (folder / name).open("x", encoding="utf-8") as file:
                    done.append(folder / name)
                    file.write(text)
    except BaseException:
        for each in done:
            each.unlink()
        raise
    return [each.name for each in done]
