package backup

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

// The names of files that every folder may have.
const (
	// ManifestName is the file of the manifest.
	ManifestName = "backup.json"
	// SocketName is the socket of a running server.
	SocketName = "backup.sock"

	// FormatName is the file that names the owner.
	FormatName = "format.json"
	// DatabaseName is the file of the records of a store.
	DatabaseName = "store.db"

	tokenName = "access-token" // of the interfaces, if it was generated
)

// layout is what an owner keeps in its folder and needs to be restored. What a folder
// has besides is created again: the files of rounds, the journal of network devices, which
// describes the machine, unfinished files.
type layout struct {
	store bool     // store.db and blobs
	files []string // besides format.json
	below []block  // the folders of blocks
}

// block is the folder of a block.
type block struct{ folder, owner string }

// findLayout returns the layout of an owner, and false for an unknown one.
func findLayout(owner string) (layout, bool) {
	switch owner {
	case datafolder.Annotator:
		return layout{store: true, files: []string{tokenName, "encryption-secret"}}, true
	case datafolder.ModelRepo, datafolder.FLCollector:
		return layout{store: true, files: []string{tokenName}}, true
	case datafolder.APIManager:
		return layout{store: true, files: []string{tokenName, "credentials.json"}}, true
	case datafolder.MultiLink:
		return layout{store: true, files: []string{tokenName, "token"}}, true
	case datafolder.Enablers:
		return layout{files: []string{tokenName}, below: []block{
			{"annotator", datafolder.Annotator}, {"modelrepo", datafolder.ModelRepo}, {"flcollector", datafolder.FLCollector},
			{"apimanager", datafolder.APIManager}, {"multilink-demo", datafolder.MultiLink},
		}}, true
	}
	return layout{}, false
}

// Folders returns the folders below that of an owner, by name, with their owners; that
// of the owner itself has an empty name. There are none of an unknown owner.
func Folders(owner string) map[string]string {
	l, ok := findLayout(owner)
	if !ok {
		return nil
	}
	all := map[string]string{"": owner}
	for _, b := range l.below {
		all[b.folder] = b.owner
	}
	return all
}

// blobName is the name of a file with the bytes of a blob.
var blobName = regexp.MustCompile(`^blobs/([0-9a-f]{2})/([0-9a-f]{32})$`)

// IsKnownToAny reports whether a backup of any owner may have a file of that name.
func IsKnownToAny(name string) bool {
	for _, owner := range [...]string{
		datafolder.Annotator, datafolder.ModelRepo, datafolder.FLCollector, datafolder.APIManager, datafolder.MultiLink,
		datafolder.Enablers,
	} {
		if isKnown(owner, name) {
			return true
		}
	}
	return false
}

// isKnown reports whether a backup of the owner may have a file of that name.
func isKnown(owner, name string) bool {
	l, ok := findLayout(owner)
	return ok && l.has(name)
}

func (l layout) has(name string) bool {
	if folder, rest, found := strings.Cut(name, "/"); found {
		for _, b := range l.below {
			if b.folder == folder {
				return isKnown(b.owner, rest)
			}
		}
	}
	if name == FormatName || slices.Contains(l.files, name) {
		return true
	}
	if !l.store {
		return false
	}
	blob := blobName.FindStringSubmatch(name)
	return name == DatabaseName || blob != nil && strings.HasPrefix(blob[2], blob[1])
}

// beside returns the names of the files that a folder may have beside its store, in the
// order of names.
func beside(folder, owner string, hasStore bool) []string {
	var names []string
	l, _ := findLayout(owner)
	for _, name := range l.files {
		names = append(names, path.Join(folder, name))
	}
	if !hasStore { // a snapshot has it
		names = append(names, path.Join(folder, FormatName))
	}
	slices.Sort(names)
	return names
}
