// Package release tries deploy/release/release.sh: in a clone with a tag and a key that is thrown
// away it makes a release of two commands for one platform, and checks all of it.
package release
