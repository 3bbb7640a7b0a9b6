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

arguments "$@"
built
tool pack -binaries "$binaries" -sources "$root" -out "$out" -version "$VERSION" -epoch "$SOURCE_DATE_EPOCH" \
	-commands "${COMMANDS:-}" "${platforms[@]}"
