#!/usr/bin/env bash
# Prints the section of a version out of CHANGELOG.md, and fails if there is none:
#
#	deploy/release/notes.sh v1.2.3 [CHANGELOG.md]

set -euo pipefail
version=${1:?expected a version, such as v1.2.3}
file=${2:-$(dirname "${BASH_SOURCE[0]}")/../../CHANGELOG.md}

notes=$(awk -v heading="## [${version#v}]" '
	index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
	/^\[[^]]*\]: / { inside = 0 } # the links at the end of the file
	inside
' "$file" | sed -e '/./,$!d')
if [[ -z $notes ]]; then
	echo "$file: no section \"## [${version#v}]\" with a text: move what is in Unreleased there" >&2
	exit 1
fi
printf '%s\n' "$notes"
