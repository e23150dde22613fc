#!/bin/sh
# Builds what is installed and packaged, target/dist: the program, and the archive that the libraries are linked from.
#
# The archive is built alone: where cargo makes several kinds of library at once, each keeps what any of them exports, and is a quarter larger
# (docs/decisions/0074-what-is-packaged.md).
set -eu

cd "$(dirname "$0")/.."
scripts/reproducible.sh cargo build --profile dist --locked -p lockgate-cli
scripts/reproducible.sh cargo rustc --profile dist --locked -p lockgate-c --lib --crate-type staticlib
