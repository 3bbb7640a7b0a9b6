#!/usr/bin/env bash
# Builds an image of each command, without a container engine:
#
#	deploy/images/build.sh DIR [PLATFORM…]
#
# It writes DIR/annotator.tar, an OCI archive, DIR/annotator.cdx.json, its bill of materials in
# CycloneDX's form, and DIR/annotator.provenance.json, an in-toto statement with SLSA's
# provenance; and the same of the other commands. Loaded, it is iotenablers/annotator:VERSION.
# Platforms are linux/amd64, linux/arm64, linux/arm/v7 and linux/riscv64 by default.
#
#	BINARIES  folder of binaries that are built already by deploy/release/binaries.sh
#	COMMANDS  names of commands with commas between, all by default
#	BUILDER   URI of what runs this, for the provenance
#
# deploy/release/stamp.sh names the settings of names, version and time. The same commit and Go give
# the same bytes, on any machine and at any time.

set -euo pipefail
# shellcheck source=deploy/release/stamp.sh
source "$(dirname "${BASH_SOURCE[0]}")/../release/stamp.sh"

arguments "$@"
built
tool image -binaries "$binaries" -out "$out" -version "$VERSION" -revision "$REVISION" \
	-repository "$IMAGE_REPOSITORY" -epoch "$SOURCE_DATE_EPOCH" \
	-commands "${COMMANDS:-}" ${BUILDER:+-builder "$BUILDER"} "${platforms[@]}"
