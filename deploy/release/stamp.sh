# Sourced by the scripts of deploy: says what is built, for all of them alike.
#
#	VERSION            version to stamp; by default devel with the commit, as the programs say it themselves
#	REVISION           commit, with -dirty behind it if files were changed; by default that of the checkout,
#	                   and empty outside a checkout
#	SOURCE_DATE_EPOCH  seconds since 1970 of everything that has a time; by default the commit's
#	IMAGE_REPOSITORY   what stands before /NAME:VERSION of images; by default iotenablers
#
# A script hands these on to those that it calls, so that all parts of a build have the same.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PATH="$PATH:/usr/local/go/bin"

# Settings of the surroundings that would reach the binaries.
unset GOARCH GOOS GOARM GOARM64 GOAMD64 GORISCV64 GO386 GOEXPERIMENT GOFIPS140
export GOENV=off GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0

if [[ $(git -C "$root" rev-parse --show-toplevel 2>/dev/null) == "$root" ]]; then
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
	if [[ -z ${REVISION:-} ]]; then
		REVISION=$(git -C "$root" rev-parse HEAD)
		if [[ -n $(git -C "$root" status --porcelain) ]]; then
			REVISION+=-dirty
		fi
	fi
fi
REVISION=${REVISION:-}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
if [[ -z ${VERSION:-} ]]; then
	VERSION=devel${REVISION:+-${REVISION:0:12}}
	if [[ $REVISION == *-dirty ]]; then
		VERSION+=-dirty
	fi
fi
IMAGE_REPOSITORY=${IMAGE_REPOSITORY:-iotenablers}
export VERSION REVISION SOURCE_DATE_EPOCH IMAGE_REPOSITORY

# tool NAME ARGUMENTS… runs a program of deploy/tools on this machine.
tool() {
	local name=$1 program
	shift
	program=$(mktemp)
	(cd "$root/deploy/tools" && go build -buildvcs=false -o "$program" "./$name") || return
	"$program" "$@" || { rm -f "$program"; return 1; }
	rm -f "$program"
}

# arguments DIR [PLATFORM…] creates the folder, and sets out to its path, and platforms. Without a
# folder it shows the head of the script.
arguments() {
	if [[ $# -lt 1 || $1 == -* ]]; then
		sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
		exit 2
	fi
	out=$(mkdir -p "$1" && cd "$1" && pwd)
	platforms=("${@:2}")
	if [[ ${#platforms[@]} -eq 0 ]]; then
		platforms=(linux/amd64 linux/arm64 linux/arm/v7 linux/riscv64)
	fi
}

# built sets binaries to the folder BINARIES, or to one with new binaries that goes in the end.
built() {
	binaries=${BINARIES:-}
	if [[ -z $binaries ]]; then
		binaries=$(mktemp -d)
		trap 'rm -rf "$binaries"' EXIT
		bash "$root/deploy/release/binaries.sh" "$binaries" "${platforms[@]}"
	fi
}
