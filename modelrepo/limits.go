package modelrepo

import (
	"cmp"
	"fmt"
)

// Limits are the quotas of a repository. Zero means no limit.
//
// ModelsPerNamespace and VersionsPerModel hold for any number of clients and processes
// that create at the same time: a compare-and-set of the parent's document decides
// which creation is the last that fits. Only a creation that stalls between its last
// two steps while 32 other children come or go is not counted by these. A creation that
// crashed there counts until [Store.Repair], or until 32 other children came or went.
//
// NamespaceBytes counts each format of each version with its whole size, also where
// versions share the bytes. The uploads of one process never exceed it; an upload that
// would just fit may be refused while others finish. Several processes over one storage
// learn of each other's uploads within a minute, and may together exceed the limit by
// what they add in that time. A deletion makes room at once in its own process, and
// within a second in others.
//
// Lowering a limit removes nothing. What exceeds it cannot grow.
type Limits struct {
	// ModelsPerNamespace is the most models of a namespace.
	ModelsPerNamespace int
	// VersionsPerModel is the most versions of a model.
	VersionsPerModel int
	// ContentBytes is the size of the largest content, in bytes.
	ContentBytes int64
	// NamespaceBytes is the size of all content of a namespace, in bytes.
	NamespaceBytes int64
	// MetadataBytes is the size of the metadata of one namespace, model or version, in
	// bytes of their JSON form. Zero means [MaxMetadataSize], which is also the most.
	MetadataBytes int
}

// check returns an error for an invalid limit.
func (l Limits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"ModelsPerNamespace", int64(l.ModelsPerNamespace)}, {"VersionsPerModel", int64(l.VersionsPerModel)},
		{"ContentBytes", l.ContentBytes}, {"NamespaceBytes", l.NamespaceBytes},
		{"MetadataBytes", int64(l.MetadataBytes)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("modelrepo: Config.Limits.%s is %d, and has to be positive, or 0 for no limit",
				limit.name, limit.value)
		}
	}
	if l.MetadataBytes > MaxMetadataSize {
		return fmt.Errorf("modelrepo: Config.Limits.MetadataBytes is %d, the most is %d", l.MetadataBytes,
			MaxMetadataSize)
	}
	return nil
}

// metadata returns the size of the largest metadata.
func (l Limits) metadata() int { return cmp.Or(l.MetadataBytes, MaxMetadataSize) }

// children returns the most children of a node of that depth; 0 for no limit.
func (l Limits) children(depth int) int {
	return [...]int{0, l.ModelsPerNamespace, l.VersionsPerModel, 0}[depth]
}
