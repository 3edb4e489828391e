"""Print every dependency of the project at the lowest version that pyproject.toml allows, as pip wants requirements."""

import tomllib
from pathlib import Path


def lowest(requirements: list[str]) -> list[str]:
    """Turn ``name>=bound`` into ``name==bound``."""
    return [requirement.replace(">=", "==") for requirement in requirements]


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [
        line for name, lines in extras.items() if name not in ("check", "docs") for line in lines
    ]
    print("\n".join(lowest(sorted(set(wanted)))))


if __name__ == "__main__":
    main()
