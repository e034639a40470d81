# heddle: the commands of daily work. Each target does all it needs, on a machine where nothing is installed yet.
#
#   make            build build/bin/heddle
#   make demo       build an example and show what heddle knows about it
#   make test       unit tests, end-to-end tests, real programs; those of files and traces with sanitizers (about 20 minutes)
#   make test-long  the same with larger numbers, and all of it with sanitizers (under two hours)
#   make test-fast  about a minute: unit tests and the short end-to-end tests
#   make bench      measurements, as ratios against a baseline of the same run
#   make install    into PREFIX (default /usr/local)
#   make format     clang-format over the sources
#   make clean

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: all deps build demo test test-fast test-long bench install format clean

all: build

deps:
	@scripts/install-deps

build: deps
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@ninja -C build -j $(JOBS)

demo: build
	@scripts/demo

test: build
	@scripts/run-tests full

test-long: build
	@scripts/run-tests long

test-fast: build
	@scripts/run-tests fast

bench: build
	@scripts/bench

install: build
	@cmake --install build --prefix $(PREFIX)

format:
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-19 -i

clean:
	@rm -rf build build-asan
