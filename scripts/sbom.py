#!/usr/bin/env python3
"""The bill of materials of what users get, in CycloneDX's form: sbom.py [FILE] (standard output).

The crates that the packages on the command line of `make dist` are linked from, as Cargo.lock names them, with licence and checksum;
nothing of the time or the machine is in it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What is installed and packaged.
SHIPPED = ["lockgate-c", "lockgate-cli", "lockgate-python"]
TARGET = "x86_64-unknown-linux-gnu"


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def checksums():
    text = (ROOT / "Cargo.lock").read_text()
    found = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', text)
    return {(name, version): checksum for name, version, checksum in found}


def reached(nodes, start):
    """Packages that are linked in or run when these are built, tests left out."""
    todo, seen = list(start), set()
    while todo:
        package = todo.pop()
        if package not in seen:
            seen.add(package)
            for dependency in nodes[package]["deps"]:
                if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                    todo.append(dependency["pkg"])
    return seen


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums):
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := sums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def bill():
    data, sums = metadata(), checksums()
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    start = [key for key, package in packages.items() if package["name"] in SHIPPED]
    found = reached(nodes, start)
    key = lambda package: (packages[package]["name"], packages[package]["version"])  # noqa: E731
    version = next(packages[package]["version"] for package in start)
    dependencies = [
        {
            "ref": reference(packages[package]),
            "dependsOn": sorted(reference(packages[d["pkg"]]) for d in nodes[package]["deps"] if d["pkg"] in found),
        }
        for package in sorted(found, key=key)
    ]
    dependencies.append({"ref": "lockgate", "dependsOn": sorted(reference(packages[package]) for package in start)})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": "lockgate", "name": "lockgate", "version": version}
        },
        "components": [component(packages[package], sums) for package in sorted(found, key=key)],
        "dependencies": dependencies,
    }


text = json.dumps(bill(), indent=1, ensure_ascii=False) + "\n"
if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(text)
else:
    sys.stdout.write(text)
