# Lockgate. `make demo` shows the main job, `make test` passes the tests; both do their own set-up.
.POSIX:
.PHONY: help setup check-setup build benches dist dist-python wheels pythons install release-check deb deb-check reproducible sbom demo postgres-demo python check check-lints test thorough test-examples test-python formatting lint test-lints docs bench peers mutants sweep attacks verifier returns systems redis servers libclangs torture forks crowd stubs-hammer stubs-differ stubs-headers stubs-libraries fuzz evidence man layers findings clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

setup:
	@scripts/setup.sh

# (No debugger, no PostgreSQL, no other Rust: what uses these is in `make test`.)
check-setup:
	@scripts/setup.sh check

build: ## the lockgate program, target/release/lockgate
	@scripts/setup.sh build
	cargo build --release --locked -p lockgate-cli -p lockgate-c

benches: build ## the program that measures, target/release/lockgate-bench
	cargo build --release --locked -p lockgate-bench

dist: ## program and library as they are installed and packaged, target/dist: small, the same bytes from every folder
	@scripts/setup.sh build
	scripts/dist.sh

PYTHON = python3

dist-python: ## the Python package's native half likewise: for CPython 3.11 and later, or for an older PYTHON=python3 alone
	PYO3_PYTHON="$(PYTHON)" scripts/reproducible.sh cargo build --profile dist --locked -p lockgate-python \
		$$("$(PYTHON)" -c 'import sys; print("" if sys.version_info >= (3, 11) else "--no-default-features")')

wheels: ## the Python package's wheels, in build/wheels: for CPython 3.11 and later, for 3.9 and 3.10 where they are installed
	PYTHON="$(PYTHON)" scripts/wheels.sh

pythons: dist ## the wheels, and the Python package's tests with each CPython from 3.9 on that is installed
	scripts/pythons.sh || [ $$? -eq 77 ]

reproducible: dist ## builds the same once more in another folder, and wheels and packages where there are some: equal bytes
	scripts/reproducible-check.sh

sbom: ## build/sbom.cdx.json: the crates that are linked in, with licences and checksums (CycloneDX)
	mkdir -p build
	python3 scripts/sbom.py build/sbom.cdx.json

release-check: dist ## sizes, every crate packaged and built from its package in order, the wheels; publishes nothing
	scripts/release-check.sh

deb: dist sbom ## Debian packages in build/deb, lintian without errors
	$(MAKE) dist-python PYTHON=/usr/bin/python3
	scripts/deb.sh

deb-check: deb ## installs the packages into a scratch root, uses each, removes them (as root)
	scripts/deb-check.sh

PREFIX = /usr/local
LIBDIR = lib

install: ## program, library for C and C++, annotations, manual pages, completions, below $(DESTDIR)$(PREFIX); LIBDIR is lib
	@[ "$$(id -u)" -eq 0 ] && [ -x target/dist/lockgate ] && [ ! -O target/dist/lockgate ] || $(MAKE) dist # root copies what another user has built: he may have no cargo
	scripts/install.sh target/dist "$(PREFIX)" "$(LIBDIR)"

demo: ## a plugin and SQLite in domains, a hostile module whose attacks fail, a latency table
	@scripts/setup.sh demo
	cargo build --release --locked -p lockgate-demo
	target/release/lockgate-demo

postgres-demo: setup benches ## PostgreSQL: a role with a module of its own, a hostile module whose attacks fail, a table of times
	cargo run --release --locked --quiet -p lockgate-postgres

python: build ## the Python package, optimised, in the virtual environment build/python
	@scripts/setup.sh python
	PYTHON="$(PYTHON)" scripts/python.sh build/python release

# Crates that no other project uses: their documentation is read in their sources only. (tests/hygiene compares the list with the manifests.)
UNPUBLISHED = attacks hygiene installed lanes lockgate-bench lockgate-corpus lockgate-demo lockgate-evidence lockgate-example lockgate-fuzz \
	lockgate-postgres lockgate-python lockgate-rewrite-tests lockgate-syscall-tests lockgate-tests models mutants site support sweep

DOCUMENT = RUSTDOCFLAGS="-D warnings" cargo doc --workspace $(UNPUBLISHED:%=--exclude %) --no-deps --locked --quiet

formatting:
	cargo fmt --all --check
	cargo fmt --check --manifest-path bench/peers/wasmtime/Cargo.toml
	cargo fmt --check --manifest-path fuzz/Cargo.toml

lint: formatting ## formatting, lints, prose of documents and headers, documentation warnings
	@scripts/setup.sh build
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked --quiet --workspace --test prose
	$(DOCUMENT)

# What these two build is linted as it is compiled, so that neither compiles anything twice, nor what the other has compiled.
LINTING = RUSTC_WORKSPACE_WRAPPER="$$PWD/scripts/lint-rustc.sh"

check: check-setup formatting ## the quick lane, while you work: formatting, lints of all code, unit tests and quick integration tests
	@mkdir -p build && : >build/skipped
	$(LINTING) LOCKGATE_SKIPPED="$$PWD/build/skipped" cargo run --locked --quiet --bin lanes -- check check-lints
	@[ ! -s build/skipped ] || { echo "Left out on this machine (build/skipped):" && sort build/skipped; }

# Several test programs run at a time (tests/lanes). Those that hang are ended, with a backtrace; what was left out on this machine is said last.
test: setup formatting ## lints, then every test
	@mkdir -p build && : >build/skipped
	$(LINTING) LOCKGATE_SKIPPED="$$PWD/build/skipped" \
		cargo run --locked --quiet --bin lanes -- all test-lints test-examples test-python
	@grep '^SKIPPED' build/tests/make-test-python.log || true
	@[ ! -s build/skipped ] || { echo "Left out on this machine (build/skipped):" && sort build/skipped; }

thorough: ## `make test` with all cases of the tests that take a part of theirs in each run
	LOCKGATE_THOROUGH=1 $(MAKE) test

# What `make test` runs beside the test programs. The first: what no test program is built from is linted as well. (The Python package's native
# half is built, and linted, by test-python.) The second: documentation without warnings, and its examples (scripts/lint-rustdoc.sh).
# (The demo, too, with what `make demo` has of the benchmarks: in the workspace lockgate-cli asks for all of them. Whatever else it is made of is
# what the tests are made of, and is not compiled again.)
test-lints: setup
	cargo build --workspace --bins --examples --locked --quiet
	cargo test --no-run --workspace --exclude lockgate-bench --exclude lockgate-cli --bin lockgate-demo --locked --quiet

# In `make check`: what no test program is built from, the Python package's native half with it.
check-lints: check-setup
	cargo build --workspace --lib --bins --examples --locked --quiet

test-examples: setup
	RUSTDOC="$$PWD/scripts/lint-rustdoc.sh" UNPUBLISHED="$(UNPUBLISHED)" cargo test --workspace --locked --doc

test-python: setup
	PYTHON="$(PYTHON)" scripts/python.sh build/python-test dev
	scripts/watchdog.sh build/python-test/bin/python -m pytest -o faulthandler_timeout=600

docs: ## the documents as a site with search, in build/site/; all links are checked
	@scripts/setup.sh docs
	scripts/docs.sh

bench: setup benches python ## all benchmarks, JSON in build/bench/
	mkdir -p build/bench
	for b in calls capi dlopen ipc postgres programs python stubs split verify rewrite create overhead languages; do \
		target/release/lockgate-bench $$b --json build/bench/$$b.json || exit 1; done

peers: setup ## Wasmtime for `lockgate-bench ipc`, once (minutes): it has a compiler of its own inside
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

verifier: setup ## the verifier against other decoders, the processor and arithmetic, and returns on a model (an hour); build/evidence.json
	mkdir -p build
	cargo run --release --locked --quiet -p lockgate-evidence -- --effort long --json build/evidence.json
	cargo test --release --locked --quiet -p lockgate-verify --test suites -- --ignored --nocapture returns::

returns: setup build ## the own tests of bzip2, Lua, SQLite and zstd in a domain, with a shadow stack of returns (hours; EFFORT=full: days)
	cargo build --release --locked -p lockgate-evidence
	scripts/returns-of-tests.sh || [ $$? -eq 77 ]

systems: setup build ## real libraries at all flags, real build systems, random options of gcc and clang, random call graphs, GCC's own test programs, Csmith's random ones, cores of interpreters, crates and libraries in C and C++ with their own tests, the example with three libraries, libraries of coroutines, Boehm's collector and the C library's own tests, in full
	cargo test --release --locked -p lockgate-toolchain --test suites corpus:: -- --include-ignored
	cargo test --release --locked -p lockgate-cli --test suites -- --include-ignored build_systems:: compilers:: cxx::
	cargo test --release --locked -p lockgate-tests --test suites call_graphs:: -- --include-ignored
	scripts/compiler-tests.sh || [ $$? -eq 77 ]
	scripts/crate-tests.sh || [ $$? -eq 77 ]
	scripts/random-programs.sh || [ $$? -eq 77 ]
	scripts/interpreters.sh || [ $$? -eq 77 ]
	scripts/c-libraries.sh || [ $$? -eq 77 ]
	scripts/cxx-libraries.sh || [ $$? -eq 77 ]
	scripts/cpp-example.sh || [ $$? -eq 77 ]
	scripts/coroutine-libraries.sh || [ $$? -eq 77 ]
	scripts/collector-tests.sh || [ $$? -eq 77 ]
	scripts/libc-tests.sh || [ $$? -eq 77 ]

redis: setup benches ## Redis, unchanged, as a server in a domain: its own tests, its benchmark beside a native one, and calls of its commands beside round trips
	scripts/redis-tests.sh || [ $$? -eq 77 ]
	scripts/redis-tests.sh --benchmark || [ $$? -eq 77 ]
	scripts/redis-tests.sh --calls && target/release/lockgate-bench programs --only programs.redis || [ $$? -eq 77 ]

servers: setup build ## nginx, BusyBox, SQLite's shell, memcached and OpenSSL, unchanged, as programs in domains: everyday work of each
	scripts/servers-tests.sh || [ $$? -eq 77 ]

libclangs: setup ## what reads C by libclang, with each version that is installed or that apt has: the same is made, and the tests pass
	scripts/libclangs.sh || [ $$? -eq 77 ]

torture: setup benches ## a thousand million calls among signals, crashes and kills; a hundred million, and steps of random programs, among handlers on control stacks; a million domains; PostgreSQL for ten minutes; ThreadSanitizer; build/bench/{soak,cycles,postgres-soak}.json
	mkdir -p build/bench
	target/release/lockgate-bench soak --json build/bench/soak.json
	target/release/lockgate-bench cycles --json build/bench/cycles.json
	target/release/lockgate-bench postgres-soak --json build/bench/postgres-soak.json
	LOCKGATE_RANDOM_STEPS=100000000 cargo test --release --locked -p lockgate-tests --test suites -- --include-ignored any_handlers:: random_code:: random_returns::
	-scripts/thread-sanitizer.sh build/thread-sanitizer

COUNT ?= 1000000
forks: setup ## forks in the middle of other threads' calls, COUNT=1000000 (hours; goes on where it ended); build/forks.json
	scripts/forks.sh $(COUNT)

SECONDS ?= 600
PROGRAMS ?= 1000
crowd: setup ## PROGRAMS=1000 programs in one process, one in a hundred crashes each second for SECONDS=600: no other connection is lost, nothing grows
	LOCKGATE_CROWD_PROGRAMS=$(PROGRAMS) LOCKGATE_CROWD_SECONDS=$(SECONDS) cargo test --release --locked -p lockgate-cli --test suites up_many:: -- --nocapture

stubs-hammer: ## random answers to every function of share/stubs under sanitizers, SECONDS=600 for each header
	LOCKGATE_HAMMER_SECONDS=$(SECONDS) cargo test --locked -p lockgate-cli --test suites hammer:: -- --nocapture

HEADERS ?= 2000
ANSWERS ?= 500
SEED ?= 1
stubs-differ: ## HEADERS=2000 random headers, answered at random ANSWERS=500 times by a hostile library: the clients in C, C++, Rust and Python must say the same; SEED is the first
	LOCKGATE_DIFFER_HEADERS=$(HEADERS) LOCKGATE_DIFFER_ANSWERS=$(ANSWERS) LOCKGATE_DIFFER_SEED=$(SEED) cargo test --release --locked -p lockgate-cli --test suites differ:: -- --nocapture

stubs-headers: ## what `lockgate stubs --explain` makes of unchanged headers of Debian's packages: the table of docs/stubs.md
	scripts/stubs-headers.sh $(PACKAGES) || [ $$? -eq 77 ]

stubs-libraries: ## libraries of share/stubs that the tests do not bring along, from SOURCES=folder or Debian's source packages, with their own programs
	scripts/stubs-libraries.sh $(SOURCES) || [ $$? -eq 77 ]

fuzz: setup ## ten million inputs for each fuzz target (a night); build/fuzz.json
	-scripts/fuzz.sh

evidence: benches thorough verifier fuzz mutants sweep attacks systems libclangs torture bench ## all of these (hours), then what they show together
	target/release/lockgate-bench evidence

layers: ## the pictures of layers in documents, from tests/hygiene/layers.txt
	cargo run --locked --quiet -p hygiene --bin layers

findings: ## the counts of docs/findings.md, from the tables of its appendix
	cargo run --locked --quiet -p hygiene --bin findings

man: build ## manual pages, in build/man/
	target/release/lockgate man build/man

clean: ## removes what was built
	cargo clean
	rm -rf build
