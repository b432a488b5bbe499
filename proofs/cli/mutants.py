"""The command ``mutants`` searches, for each promise that holds, a mutation that breaks it, and writes the run on
request, so that ``verify`` can replay it."""

import time
from pathlib import Path
from typing import Any

import click
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import FRESH, JSON, MASTER, PROFILE, PROTOCOL, complete_variant, on_spark
from fencepost.proofs.cli.shared.output import bound_in_words, console, duration
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, find, protocols
from fencepost.properties.nearest import quantity


@click.command()
@click.argument("names", nargs=-1, metavar="[PROTOCOL[/VARIANT]]...", shell_complete=complete_variant, type=PROTOCOL)
@PROFILE
@JSON
@FRESH
@click.option("--write", is_flag=True, help="Write the runs into the files of the properties.")
@MASTER
def mutants(
    names: tuple[str, ...], profile: Profile, json_file: Path | None, fresh: bool, write: bool, master: str | None
) -> int:
    """Find, for each promise that holds, a mutation that breaks it.

    A promise that nothing could have broken within its bounds is no evidence, and `fencepost verify` calls it vacuous.
    The runs are in files next to the properties, and `verify` replays them. After a change of a model, only runs that
    no longer fit are searched again. The files are written with --write alone, and only where they change. Without it,
    the files that would change are named.

    Where a promise is asked within several bounds, a mutation is searched for each of them, among 50,000 states of each
    mutant. Where none is found, the promise stands against nothing that is met there. Without names, the command
    searches all protocols. The exit code is 1 if some promise is left without any mutation, or if one is broken that is
    declared true by construction (`no_mutant`). Example: fencepost mutants transactions/core-v2
    """
    from fencepost.proofs.necessity import proof_mutants
    from fencepost.proofs.necessity.keeping import hand_in_searches
    from fencepost.proofs.necessity.killers import bounds_by_feature, file_of
    from fencepost.proofs.necessity.saved_runs import differ, write_runs
    from fencepost.proofs.scale.jobs import Jobs
    from fencepost.proofs.scope.scopes import in_words

    start = time.perf_counter()
    chosen = _chosen(names)
    left, spared_wrongly, documents = 0, 0, list[dict[str, Any]]()
    with reported(json_file, lambda: documents), Jobs(len(chosen), spark=on_spark(master)) as jobs:
        for (entry, variant), searched in hand_in_searches(jobs, chosen, profile, fresh):
            file = file_of(variant)
            if file is None:
                raise CatalogueError(f"{variant.name} is written in no file beside which runs could be kept")
            found = searched()
            changed = [file] if differ(file, found.runs) else []
            if (proofs := proof_mutants.file_of(variant)) is not None and proof_mutants.differ(variant, found.refused):
                changed.append(proofs)
            if write:
                write_runs(file, found.runs)
                proof_mutants.write(variant, found.refused)
            mine = f"{entry.name}/{variant.name}"
            new = f"{len(found.new)} of them new, {duration(found.seconds)}"
            console.print(f"{mine}: {quantity(len(found.runs), 'run')}, {new}")
            for run in found.new:
                console.print(f"    {run.property} is broken by {run}", markup=False)
            for each in changed:
                console.print(f"    {'written' if write else 'with --write it would change'}: {each}", markup=False)
            for name, feature in found.missing:
                bounds = bound_in_words(bounds_by_feature(variant, profile)[feature])
                console.print(f"    [red]nothing breaks[/] {name} within {bounds}")
            unbroken: dict[str, list[str]] = {}
            for name, feature in found.unbroken:
                unbroken.setdefault(name, []).append(feature)
            for name, features in unbroken.items():
                console.print(f"    nothing is known that breaks {name} within {in_words(features)}", markup=False)
            for name in found.unrefused:
                console.print(f"    [red]no mutation is refused[/] by the proof of {name}")
            for name in found.wrongly_spared:
                console.print(f"    [red]the no_mutant is not so[/] of {name}: leave it out")
            without = [*(name for name, _ in found.missing), *found.unrefused]
            left += len(without)
            spared_wrongly += len(found.wrongly_spared)
            runs = [run.as_dict() for run in found.runs]
            about = {"protocol": entry.name, "variant": variant.name}
            documents.append(about | {"runs": runs, "without": without, "unbroken": unbroken})
    took = f"{quantity(len(chosen), 'variant')} in {time.perf_counter() - start:.0f} s"
    console.print(f"{took}; {quantity(left, 'promise')} that nothing breaks")
    if left:
        console.print(
            "only what cites a rule is got wrong: give rule=… to the guards and updates that a promise rests on"
        )
    return 1 if left or spared_wrongly else 0


def _chosen(names: tuple[str, ...]) -> list[tuple[ProtocolEntry, Variant]]:
    if not names:
        return [(entry, v) for entry in protocols().values() if entry.verified for v in entry.variants]
    found = [find(name) for name in dict.fromkeys(names)]
    return [(entry, v) for entry, variant in found for v in ([variant] if variant else entry.variants)]
