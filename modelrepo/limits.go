package modelrepo

import (
	"cmp"
	"fmt"
)

// Limits are the quotas of a repository. Zero means that there is no limit.
//
// ModelsPerNamespace and VersionsPerModel hold for any number of clients and
// processes that create at one time: which one is the last that fits is decided
// by a compare-and-set of the parent's document. Only a creation that stalls
// between its last two steps while 32 others come or go is not counted by
// those. A creation that crashed there takes a place until [Store.Repair], or
// until 32 others came or went.
//
// NamespaceBytes counts content as it was uploaded: each format of each version
// with its whole size, also where the bytes are stored once and shared. It is
// never exceeded by the uploads of one process, however many run at one time;
// one that would just fit may be refused while others are ending.
// Several processes over one storage see each other's uploads within a minute,
// and may together exceed it by what they add in that time. What is deleted
// makes room at once in the process that did it, and within a second in others.
//
// Lowering a limit removes nothing; what is above it only cannot grow.
type Limits struct {
	// ModelsPerNamespace is the most models that a namespace can have.
	ModelsPerNamespace int
	// VersionsPerModel is the most versions that a model can have.
	VersionsPerModel int
	// ContentBytes is the largest content, in bytes.
	ContentBytes int64
	// NamespaceBytes is the most content of all versions in a namespace, in
	// bytes.
	NamespaceBytes int64
	// MetadataBytes is the most metadata of one namespace, model or version,
	// in bytes of their JSON form. Zero means [MaxMetadataSize], which is also
	// the most.
	MetadataBytes int
}

// check says which limit is not possible.
func (l Limits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"ModelsPerNamespace", int64(l.ModelsPerNamespace)}, {"VersionsPerModel", int64(l.VersionsPerModel)},
		{"ContentBytes", l.ContentBytes}, {"NamespaceBytes", l.NamespaceBytes}, {"MetadataBytes", int64(l.MetadataBytes)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("modelrepo: Config.Limits.%s is %d, and has to be positive, or 0 for no limit", limit.name, limit.value)
		}
	}
	if l.MetadataBytes > MaxMetadataSize {
		return fmt.Errorf("modelrepo: Config.Limits.MetadataBytes is %d, the most is %d", l.MetadataBytes, MaxMetadataSize)
	}
	return nil
}

// metadata is how large metadata can be.
func (l Limits) metadata() int { return cmp.Or(l.MetadataBytes, MaxMetadataSize) }

// children is how many children a node of that depth can have; 0 if that is not
// limited.
func (l Limits) children(depth int) int {
	return [...]int{0, l.ModelsPerNamespace, l.VersionsPerModel, 0}[depth]
}
