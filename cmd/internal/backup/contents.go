package backup

import (
	"maps"
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

	formatName   = "format.json"
	databaseName = "store.db"
	blobsName    = "blobs"
	tokenName    = "access-token" // of the interfaces, if it was generated
)

// layout is what an owner keeps in its folder and needs to be restored. What a folder
// has besides is made anew: the files of rounds, the journal of network devices, which
// describes the machine, unfinished files.
type layout struct {
	store   bool              // store.db and blobs
	files   []string          // besides format.json
	folders map[string]string // those of blocks, with their owners
}

// layouts are the layouts by owner.
func layouts() map[string]layout {
	return map[string]layout{
		datafolder.Annotator:   {store: true, files: []string{tokenName, "encryption-secret"}},
		datafolder.ModelRepo:   {store: true, files: []string{tokenName}},
		datafolder.FLCollector: {store: true, files: []string{tokenName}},
		datafolder.APIManager:  {store: true, files: []string{tokenName, "credentials.json"}},
		datafolder.MultiLink:   {store: true, files: []string{tokenName, "token"}},
		datafolder.Enablers: {files: []string{tokenName}, folders: map[string]string{
			"annotator": datafolder.Annotator, "modelrepo": datafolder.ModelRepo, "flcollector": datafolder.FLCollector,
			"apimanager": datafolder.APIManager, "multilink-demo": datafolder.MultiLink,
		}},
	}
}

// Folders returns the folders below that of an owner, by name, with their owners; that
// of the owner itself has an empty name. There are none of an unknown owner.
func Folders(owner string) map[string]string {
	l, ok := layouts()[owner]
	if !ok {
		return nil
	}
	all := map[string]string{"": owner}
	maps.Copy(all, l.folders)
	return all
}

// blobName is the name of a file with the bytes of a blob.
var blobName = regexp.MustCompile(`^blobs/([0-9a-f]{2})/([0-9a-f]{32})$`)

// IsKnown reports whether a backup of the owner may have a file of that name.
func IsKnown(owner, name string) bool { return isKnown(layouts(), owner, name) }

// IsKnownToAny reports whether a backup of any owner may have a file of that name.
func IsKnownToAny(name string) bool {
	all := layouts()
	for owner := range all {
		if isKnown(all, owner, name) {
			return true
		}
	}
	return false
}

func isKnown(all map[string]layout, owner, name string) bool {
	l, ok := all[owner]
	if !ok {
		return false
	}
	if folder, rest, found := strings.Cut(name, "/"); found {
		if below, ok := l.folders[folder]; ok && below != owner {
			return isKnown(all, below, rest)
		}
	}
	if name == formatName || slices.Contains(l.files, name) {
		return true
	}
	if !l.store {
		return false
	}
	blob := blobName.FindStringSubmatch(name)
	return name == databaseName || blob != nil && strings.HasPrefix(blob[2], blob[1])
}

// beside returns the names of the files that a folder may have beside its store, in the
// order of names.
func beside(folder, owner string, hasStore bool) []string {
	var names []string
	for _, name := range layouts()[owner].files {
		names = append(names, path.Join(folder, name))
	}
	if !hasStore { // a snapshot has it
		names = append(names, path.Join(folder, formatName))
	}
	slices.Sort(names)
	return names
}
