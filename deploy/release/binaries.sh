#!/usr/bin/env bash
# Builds the commands, the same bytes on any machine with the same Go:
#
#	deploy/release/binaries.sh DIR [PLATFORM…]
#
# DIR/linux_arm_v7/annotator is a binary. Platforms are linux/amd64, linux/arm64, linux/arm/v7 and
# linux/riscv64 by default. COMMANDS are names with commas between, all by default; stamp.sh names
# the other settings.

set -euo pipefail
# shellcheck source=deploy/release/stamp.sh
source "$(dirname "${BASH_SOURCE[0]}")/stamp.sh"

arguments "$@"
commands=()
for folder in "$root"/cmd/*/; do
	name=$(basename "$folder")
	if [[ $name != internal && (-z ${COMMANDS:-} || ",$COMMANDS," == *",$name,"*) ]]; then
		commands+=("./cmd/$name")
	fi
done
stamped=github.com/iotenablers/enablers/internal/version.stamped

cd "$root"
for platform in "${platforms[@]}"; do
	IFS=/ read -r os architecture variant <<<"$platform"
	echo "building ${#commands[@]} commands, $VERSION, for $platform" >&2
	GOOS=$os GOARCH=$architecture GOARM=${variant#v} \
		go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X $stamped=$VERSION" \
		-o "$out/${platform//\//_}/" "${commands[@]}"
done
