#!/usr/bin/env bash
# Makes everything of a release, out of a clean checkout:
#
#	deploy/release/release.sh VERSION DIR [PLATFORM…]
#
# VERSION is as v1.2.3 or v1.2.3-rc.1, and has a section in CHANGELOG.md. DIR has to be missing or
# empty. It gets enablers_VERSION_PLATFORM.tar.gz with the commands, packages of Debian and
# OpenWrt, images with their bills of materials and provenance, NOTES.md, SHA256SUMS of all
# that, and its signature, SHA256SUMS.sig. Platforms are linux/amd64, linux/arm64, linux/arm/v7 and
# linux/riscv64 by default. The same commit and Go give the same files, but for the signature.
#
#	SIGNING_KEY   file of a private SSH key, or text of one; without it the release fails
#	ALLOW_UNSIGNED=1  make a release without a signature, and say so in SHA256SUMS.unsigned
#
# The signature is checked with:
#
#	ssh-keygen -Y verify -f allowed_signers -I release@iotenablers -n file -s SHA256SUMS.sig <SHA256SUMS

set -euo pipefail

fail() {
	echo "release.sh: $*" >&2
	exit 1
}

if [[ $# -lt 2 || $1 == -* ]]; then
	sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
VERSION=$1
target=$2
shift 2
if [[ $# -eq 0 ]]; then
	set -- linux/amd64 linux/arm64 linux/arm/v7 linux/riscv64
fi
[[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
	fail "version \"$VERSION\": expected one such as v1.2.3 or v1.2.3-rc.1"
# shellcheck source=deploy/release/stamp.sh
source "$(dirname "${BASH_SOURCE[0]}")/stamp.sh"

[[ -n $REVISION ]] || fail "$root is no checkout of git: a release names its commit"
[[ $REVISION != *-dirty ]] || fail "files were changed or added since commit ${REVISION%-dirty}: commit or remove them:
$(git -C "$root" status --short | head)"
if tagged=$(git -C "$root" rev-parse -q --verify "refs/tags/$VERSION^{commit}"); then
	[[ $tagged == "$REVISION" ]] || fail "tag $VERSION is on commit $tagged, and this is $REVISION: check the tag out"
fi
notes=$(bash "$root/deploy/release/notes.sh" "$VERSION")
if [[ -z ${SIGNING_KEY:-} && ${ALLOW_UNSIGNED:-} != 1 ]]; then
	fail "no SIGNING_KEY: give a file with a private SSH key, or ALLOW_UNSIGNED=1"
fi
if [[ -d $target && -n $(ls -A "$target") ]]; then
	fail "folder \"$target\" is not empty: files of another release would be signed with this one's"
fi
out=$(absolute "$target")

umask 022
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export BINARIES=$scratch/binaries
bash "$root/deploy/release/binaries.sh" "$BINARIES" "$@"

for platform; do
	name=enablers_${VERSION#v}_${platform//\//_}
	mkdir "$scratch/$name"
	cp "$BINARIES/${platform//\//_}"/* "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$scratch/$name/"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u+w,go-w,a+rX --format=posix \
		--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime -C "$scratch" -c "$name" | gzip -n -9 >"$out/$name.tar.gz"
	rm -r "${scratch:?}/$name"
done
bash "$root/deploy/packages/build.sh" "$out" "$@"
bash "$root/deploy/images/build.sh" "$out" "$@"
printf '%s\n' "$notes" >"$out/NOTES.md"

cd "$out"
LC_ALL=C sha256sum -- * >"$scratch/SHA256SUMS"
mv "$scratch/SHA256SUMS" .
if [[ -n ${SIGNING_KEY:-} ]]; then
	key=$SIGNING_KEY
	if [[ ! -f $key ]]; then
		key=$scratch/key
		(umask 077 && printf '%s\n' "$SIGNING_KEY" >"$key")
	fi
	ssh-keygen -q -Y sign -f "$key" -n file SHA256SUMS
else
	echo "The release $VERSION of commit $REVISION is not signed." | tee SHA256SUMS.unsigned >&2
fi
echo "$(wc -l <SHA256SUMS) files of $VERSION, commit $REVISION, in $out"
