#!/usr/bin/env bash
# Sets up what is missing and runs the tests: every tier, or those named with --tier.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() {
    echo "test.sh: $1" >&2
    exit 1
}

command -v cargo >/dev/null || fail "cargo is missing: install Rust with rustup, then start again"
cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 ||
    rustup component add clippy rustfmt ||
    fail "clippy or rustfmt is missing: rustup component add clippy rustfmt"

# Rust links with it, and tests compile small C programs. Tiers install what they alone need.
if ! command -v cc >/dev/null; then
    [[ $(id -u) == 0 ]] || fail "a C compiler is missing: install gcc and libc6-dev"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends gcc libc6-dev
fi

exec cargo xtask test "$@"
