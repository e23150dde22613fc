#!/bin/sh
# docs.sh: the documents as a site, in build/site: pages, manual pages, Rust documentation, search. All links are checked.
# mdBook is compiled once, into build/mdbook; without optimisation, because that takes a third of the time.
set -eu
cd "$(dirname "$0")/.."

version=0.5.4
mdbook=build/mdbook/bin/mdbook
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet --debug mdbook --version "$version" \
        --no-default-features --features search --root build/mdbook --target-dir build/mdbook/target
    rm -rf build/mdbook/target
fi

rm -rf build/site build/site-pages build/man
cargo run --locked --quiet -p lockgate-cli -- man build/man
cargo run --locked --quiet -p site -- pages build/man build/site-pages
"$mdbook" build site
# Only what is documented here, not what an earlier run has left.
rm -rf target/doc
RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --no-deps \
    -p lockgate -p lockgate-verify -p lockgate-abi -p lockgate-guest -p lockgate-programs
cp -r target/doc build/site/rust
cargo run --locked --quiet -p site -- check build/site
echo "build/site/index.html"
