# Sourced by the scripts of deploy: says what is built, for all of them alike.
#
#	VERSION            version to stamp; by default devel with the commit, as the programs say it themselves
#	SOURCE_DATE_EPOCH  seconds since 1970 of everything that has a time; by default the commit's
#
# It sets REVISION, the commit, besides: with -dirty behind it if files were changed, and empty
# where there is no repository.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PATH="$PATH:/usr/local/go/bin"
unset GOARCH GOOS GOARM GOAMD64 GOEXPERIMENT # of the surroundings; binaries.sh sets them

REVISION=
if [[ $(git -C "$root" rev-parse --show-toplevel 2>/dev/null) == "$root" ]]; then
	REVISION=$(git -C "$root" rev-parse HEAD)
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
	if [[ -n $(git -C "$root" status --porcelain) ]]; then
		REVISION+=-dirty
	fi
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
if [[ -z ${VERSION:-} ]]; then
	VERSION=devel${REVISION:+-${REVISION:0:12}}
	if [[ $REVISION == *-dirty ]]; then
		VERSION+=-dirty
	fi
fi
export VERSION REVISION SOURCE_DATE_EPOCH

# tool NAME ARGUMENTS… runs a program of deploy/tools on this machine.
tool() {
	local name=$1 program
	shift
	program=$(mktemp)
	(cd "$root/deploy/tools" && GOFLAGS="${GOFLAGS:-} -mod=readonly" go build -buildvcs=false -o "$program" "./$name") || return
	"$program" "$@" || { rm -f "$program"; return 1; }
	rm -f "$program"
}

# absolute DIR makes a folder and prints its path.
absolute() { mkdir -p "$1" && (cd "$1" && pwd); }
