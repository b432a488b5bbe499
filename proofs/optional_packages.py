"""How to get what is optional: from the checkout, since the package index has another project under this name."""

from pathlib import Path


def how_to_install(extra: str) -> str:
    """The command that installs an extra, and where it is given."""
    checkout = Path(__file__).resolve().parents[1]
    where = str(checkout) if (checkout / "pyproject.toml").is_file() else "a checkout of fencepost"
    return f"pip install -e '.[{extra}]' in {where}"
