# Lockgate. `make demo` shows the main job, `make test` passes the tests; both do their own set-up.
.POSIX:
.PHONY: help setup build install demo postgres-demo python test lint docs bench peers mutants sweep attacks verifier systems libclangs torture forks stubs-hammer stubs-differ stubs-libraries fuzz evidence man clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

setup:
	@scripts/setup.sh

build: ## the lockgate program, target/release/lockgate
	@scripts/setup.sh build
	cargo build --release --locked -p lockgate-cli -p lockgate-c

PREFIX = /usr/local

install: build ## program, library for C and C++, annotations, manual pages, below $(DESTDIR)$(PREFIX)
	mkdir -p "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/lockgate/stubs"
	cp target/release/lockgate "$(DESTDIR)$(PREFIX)/bin/"
	cp share/gdb/lockgate.py "$(DESTDIR)$(PREFIX)/share/lockgate/"
	cp share/stubs/*.lg.h "$(DESTDIR)$(PREFIX)/share/lockgate/stubs/"
	scripts/install-library.sh target/release "$(PREFIX)"
	target/release/lockgate man "$(DESTDIR)$(PREFIX)/share/man"

demo: ## a plugin and SQLite in domains, a hostile module that fails, a latency table
	@scripts/setup.sh demo
	cargo build --release --locked -p lockgate-demo
	target/release/lockgate-demo

postgres-demo: setup build ## PostgreSQL: a role with a module of its own, a hostile module that fails, a table of times
	cargo run --release --locked --quiet -p lockgate-postgres

python: build ## the Python package, optimised, in the virtual environment build/python
	@scripts/setup.sh python
	scripts/python.sh build/python release

lint: setup ## formatting, lints, prose of documents and headers, documentation warnings
	cargo fmt --all --check
	cargo fmt --check --manifest-path bench/peers/wasmtime/Cargo.toml
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked --quiet -p hygiene --test prose
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# Test programs that hang are ended, with a backtrace; what was left out on this machine is said last. (Under a runner, examples in
# documentation would share a process: they are run by themselves.)
test: lint ## lints, then every test
	@mkdir -p build && : >build/skipped
	LOCKGATE_SKIPPED="$$PWD/build/skipped" cargo test --workspace --locked --no-fail-fast --tests --config 'target."cfg(unix)".runner = "scripts/watchdog.sh"'
	cargo test --workspace --locked --doc
	scripts/python.sh build/python-test dev
	scripts/watchdog.sh build/python-test/bin/python -m pytest -o faulthandler_timeout=600
	@[ ! -s build/skipped ] || { echo "Left out on this machine (build/skipped):" && sort build/skipped; }

docs: ## the documents as a site with search, in build/site/; all links are checked
	@scripts/setup.sh docs
	scripts/docs.sh

bench: setup build python ## all benchmarks, JSON in build/bench/
	mkdir -p build/bench
	for b in calls capi dlopen ipc postgres python stubs split verify rewrite create overhead; do \
		target/release/lockgate bench $$b --json build/bench/$$b.json || exit 1; done

peers: setup ## Wasmtime for `lockgate bench ipc`, once (minutes): it has a compiler of its own inside
	cargo build --release --locked --manifest-path bench/peers/wasmtime/Cargo.toml --target-dir bench/peers/wasmtime/target

mutants: setup ## takes every protection away, one at a time: its test must go red; build/mutants.json
	mkdir -p build
	cargo run --release --locked --quiet -p mutants -- --json build/mutants.json

sweep: setup ## makes every mutation of the verifier's functions: its tests must notice each; build/sweep.json
	mkdir -p build
	cargo run --release --locked --quiet -p sweep -- --json build/sweep.json

attacks: setup ## the attack suite; build/attacks.json
	mkdir -p build
	cargo run --release --locked --quiet -p attacks -- --json build/attacks.json

verifier: setup ## the verifier against other decoders, the processor and arithmetic (an hour); build/evidence.json
	mkdir -p build
	cargo run --release --locked --quiet -p lockgate-evidence -- --effort long --json build/evidence.json

systems: setup build ## real libraries at all flags, real build systems, random options of gcc and clang, random call graphs, GCC's own test programs, Csmith's random ones, in full
	cargo test --release --locked -p lockgate-toolchain --test corpus -- --include-ignored
	cargo test --release --locked -p lockgate-cli --test build_systems --test compilers -- --include-ignored
	cargo test --release --locked -p lockgate --test call_graphs -- --include-ignored
	scripts/compiler-tests.sh || [ $$? -eq 77 ]
	scripts/random-programs.sh || [ $$? -eq 77 ]

libclangs: setup ## what reads C by libclang, with each version that is installed or that apt has: the same is made, and the tests pass
	scripts/libclangs.sh || [ $$? -eq 77 ]

torture: setup build ## a thousand million calls among signals, crashes and kills; a hundred million, and steps of random programs, among handlers on control stacks; a million domains; PostgreSQL for ten minutes; ThreadSanitizer; build/bench/{soak,cycles,postgres-soak}.json
	mkdir -p build/bench
	target/release/lockgate bench soak --json build/bench/soak.json
	target/release/lockgate bench cycles --json build/bench/cycles.json
	target/release/lockgate bench postgres-soak --json build/bench/postgres-soak.json
	LOCKGATE_RANDOM_STEPS=100000000 cargo test --release --locked -p lockgate --test any_handlers --test random_returns -- --include-ignored
	-scripts/thread-sanitizer.sh build/thread-sanitizer

COUNT ?= 1000000
forks: setup ## forks in the middle of other threads' calls, COUNT=1000000 (hours; goes on where it ended); build/forks.json
	scripts/forks.sh $(COUNT)

SECONDS ?= 600
stubs-hammer: ## random answers to every function of share/stubs under sanitizers, SECONDS=600 for each header
	LOCKGATE_HAMMER_SECONDS=$(SECONDS) cargo test --locked -p lockgate-cli --test hammer -- --nocapture

HEADERS ?= 2000
ANSWERS ?= 500
SEED ?= 1
stubs-differ: ## HEADERS=2000 random headers, answered at random ANSWERS=500 times by a hostile library: the clients in C, Rust and Python must say the same; SEED is the first
	LOCKGATE_DIFFER_HEADERS=$(HEADERS) LOCKGATE_DIFFER_ANSWERS=$(ANSWERS) LOCKGATE_DIFFER_SEED=$(SEED) cargo test --locked -p lockgate-cli --test differ -- --nocapture

stubs-libraries: ## libraries of share/stubs that the tests do not bring along, from SOURCES=folder or Debian's source packages, with their own programs
	scripts/stubs-libraries.sh $(SOURCES) || [ $$? -eq 77 ]

fuzz: setup ## ten million inputs for each fuzz target (a night); build/fuzz.json
	-scripts/fuzz.sh

evidence: verifier fuzz mutants sweep attacks systems libclangs torture bench ## all of these (hours), then what they show together
	target/release/lockgate bench evidence

man: build ## manual pages, in build/man/
	target/release/lockgate man build/man

clean: ## removes what was built
	cargo clean
	rm -rf build
