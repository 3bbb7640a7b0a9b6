# Sourced by the scripts of deploy: says what is built, for all of them alike.
#
#	VERSION            version to stamp; by default devel with the commit, as the programs say it themselves
#	REVISION           commit, with -dirty behind it if files were changed; by default that of the checkout,
#	                   and empty where there is none
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

# absolute DIR makes a folder and prints its path.
absolute() { mkdir -p "$1" && (cd "$1" && pwd); }
