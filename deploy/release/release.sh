#!/usr/bin/env bash
# Makes everything of a release, out of a clean checkout:
#
#	deploy/release/release.sh VERSION DIR [PLATFORM…]
#
# VERSION is as v1.2.3 or v1.2.3-rc.1, and has a section in CHANGELOG.md. DIR has to be missing or
# empty. It gets enablers_VERSION_PLATFORM.tar.gz with the commands, packages of Debian and
# OpenWrt, images with their bills of materials and provenance, the Helm chart as
# enablers-VERSION.tgz, compose.yaml and example.env, NOTES.md, SHA256SUMS of all that, and its
# signature, SHA256SUMS.sig. Chart and compose name the images of this version. Platforms are
# linux/amd64, linux/arm64, linux/arm/v7 and linux/riscv64 by default. The same commit and Go give
# the same files, but for the signature.
#
#	SIGNING_KEY   file of a private SSH key, or text of one; without it the release fails.
#	              allowed_signers beside this script has to have its public half
#	ALLOW_UNSIGNED=1  make a release without a signature, and say so in SHA256SUMS.unsigned
#
# stamp.sh names further settings, such as IMAGE_REPOSITORY.

set -euo pipefail

fail() {
	echo "release.sh: $*" >&2
	exit 1
}

if [[ $# -lt 2 || $1 == -* ]]; then
	sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
key=${SIGNING_KEY:-}
unset SIGNING_KEY REVISION # the builds need no key, and the commit is that of the checkout
VERSION=$1
target=$2
shift 2
[[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
	fail "version \"$VERSION\": expected one such as v1.2.3 or v1.2.3-rc.1"
# shellcheck source=deploy/release/stamp.sh
source "$(dirname "${BASH_SOURCE[0]}")/stamp.sh"

[[ -n $REVISION ]] || fail "$root is not a checkout of git: a release names its commit"
[[ $REVISION != *-dirty ]] || fail "files were changed or added since commit ${REVISION%-dirty}: commit or remove them:
$(git -C "$root" status --short | head)"
if tagged=$(git -C "$root" rev-parse -q --verify "refs/tags/$VERSION^{commit}"); then
	[[ $tagged == "$REVISION" ]] || fail "tag $VERSION is on commit $tagged, and this is $REVISION: check the tag out"
fi
notes=$(bash "$root/deploy/release/notes.sh" "$VERSION")
if [[ -z $key && ${ALLOW_UNSIGNED:-} != 1 ]]; then
	fail "no SIGNING_KEY: give a file with a private SSH key, or ALLOW_UNSIGNED=1"
fi
if [[ -d $target && -n $(ls -A "$target") ]]; then
	fail "folder \"$target\" is not empty: files of another release would be signed with this one's"
fi

umask 022
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# sign FILE writes FILE.sig, which anyone with allowed_signers can check.
sign() {
	ssh-keygen -q -Y sign -f "$key" -n file "$1" &&
		ssh-keygen -q -Y verify -f "$root/deploy/release/allowed_signers" -I release@iotenablers -n file -s "$1.sig" <"$1"
}
if [[ $key == -----BEGIN* ]]; then
	(umask 077 && printf '%s\n' "$key" >"$scratch/key")
	key=$scratch/key
fi
if [[ -n $key ]]; then
	# Before all is built.
	[[ -f $key ]] || fail "SIGNING_KEY: no file \"$key\""
	key=$(realpath "$key")
	echo try >"$scratch/try"
	sign "$scratch/try" || fail "SIGNING_KEY: what it signs does not pass deploy/release/allowed_signers: add its public half there"
fi

arguments "$target" "$@"
set -- "${platforms[@]}"
export BINARIES=$scratch/binaries
bash "$root/deploy/release/binaries.sh" "$BINARIES" "$@"

for platform; do
	name=enablers_${VERSION#v}_${platform//\//_}
	mkdir "$scratch/$name"
	cp "$BINARIES/${platform//\//_}"/* "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$scratch/$name/"
	tool archive -out "$out/$name.tar.gz" -epoch "$SOURCE_DATE_EPOCH" "$scratch/$name"
	rm -r "${scratch:?}/$name"
done
bash "$root/deploy/packages/build.sh" "$out" "$@"
bash "$root/deploy/images/build.sh" "$out" "$@"

# stamp FILE TEXT WITH [TEXT WITH]… copies standard input to a file, with texts replaced. Each has
# to be there.
stamp() {
	local file=$1 text
	text=$(cat)
	shift
	while [[ $# -gt 0 ]]; do
		[[ $text == *"$1"* ]] || fail "$file: no \"$1\" to stamp"
		text=${text//"$1"/"$2"}
		shift 2
	done
	printf '%s\n' "$text" >"$file"
}
number=${VERSION#v}
cp -R "$root/deploy/helm/enablers" "$scratch/enablers"
stamp "$scratch/enablers/Chart.yaml" 'version: 0.0.0-devel' "version: $number" 'appVersion: devel' "appVersion: \"$number\"" \
	<"$root/deploy/helm/enablers/Chart.yaml"
stamp "$scratch/enablers/values.yaml" '  repository: iotenablers' "  repository: $IMAGE_REPOSITORY" \
	<"$root/deploy/helm/enablers/values.yaml"
tool archive -out "$out/enablers-$number.tgz" -epoch "$SOURCE_DATE_EPOCH" "$scratch/enablers"
stamp "$out/compose.yaml" ENABLERS_VERSION:-devel "ENABLERS_VERSION:-$number" \
	ENABLERS_REPOSITORY:-iotenablers "ENABLERS_REPOSITORY:-$IMAGE_REPOSITORY" <"$root/deploy/compose/compose.yaml"
cp "$root/deploy/compose/example.env" "$out/"
printf '%s\n' "$notes" >"$out/NOTES.md"

cd "$out"
LC_ALL=C sha256sum -- * >"$scratch/SHA256SUMS"
mv "$scratch/SHA256SUMS" .
if [[ -n $key ]]; then
	sign SHA256SUMS
else
	echo "The release $VERSION of commit $REVISION is not signed." | tee SHA256SUMS.unsigned >&2
fi
echo "$(wc -l <SHA256SUMS) files of $VERSION, commit $REVISION, in $out"
