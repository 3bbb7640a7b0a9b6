package web

import (
	"fmt"

	"github.com/iotenablers/enablers/modelrepo"
)

// RemovalWarnings returns the warnings of the deletion of a version: effects that the client may
// not expect.
func RemovalWarnings(at modelrepo.Path, removed modelrepo.Removed) []string {
	var all []string
	for _, alias := range removed.Aliases {
		all = append(all, fmt.Sprintf("The alias '%s', which was pointing to the version, was deleted, too.", alias))
	}
	if removed.WasLatest {
		all = append(all, fmt.Sprintf("The 'latestVersion' of model '%s' is still pointing to the version. Please update the pointer.",
			at.Parent()))
	}
	return all
}
