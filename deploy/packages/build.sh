#!/usr/bin/env bash
# Builds packages of Debian for each command, and packages of OpenWrt for multi-link:
#
#	deploy/packages/build.sh DIR [PLATFORM…]
#
# Platforms are linux/amd64, linux/arm64, linux/arm/v7 and linux/riscv64 by default.
#
#	BINARIES  folder of binaries that are built already by deploy/release/binaries.sh
#	COMMANDS  names of commands with commas between, all by default
#
# deploy/release/stamp.sh names the settings of version and time.

set -euo pipefail
# shellcheck source=deploy/release/stamp.sh
source "$(dirname "${BASH_SOURCE[0]}")/../release/stamp.sh"

if [[ $# -lt 1 || $1 == -* ]]; then
	sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
out=$(absolute "$1")
shift
if [[ $# -eq 0 ]]; then
	set -- linux/amd64 linux/arm64 linux/arm/v7 linux/riscv64
fi
binaries=${BINARIES:-}
if [[ -z $binaries ]]; then
	binaries=$(mktemp -d)
	trap 'rm -rf "$binaries"' EXIT
	bash "$root/deploy/release/binaries.sh" "$binaries" "$@"
fi
tool pack -binaries "$binaries" -sources "$root" -out "$out" -version "$VERSION" -epoch "$SOURCE_DATE_EPOCH" \
	-commands "${COMMANDS:-}" "$@"
