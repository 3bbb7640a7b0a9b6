package modelrepo

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

// node is the stored document of the repository itself, a namespace, a model or
// a version. It is a stored format.
type node struct {
	// ID is assigned at creation, so that a node that was deleted and created again has
	// another one.
	ID string `json:"id"`
	// Mark is set while the node is being created or deleted.
	Mark *mark `json:"mark,omitempty"`

	// Changes counts the children that were added and removed. Recent names the last of
	// them, at most recentChanges, the newest at the end.
	Changes uint64   `json:"changes,omitempty"`
	Recent  []string `json:"recent,omitempty"`

	Metadata Metadata `json:"metadata,omitempty"`

	// LatestVersion and Aliases (targets by name) are of models.
	LatestVersion string            `json:"latestVersion,omitempty"`
	Aliases       map[string]string `json:"aliases,omitempty"`

	// The other fields are of versions. Formats and Uploads have no order.
	DefaultFormat string   `json:"defaultFormat,omitempty"`
	Immutable     bool     `json:"immutable,omitempty"`
	Formats       []entry  `json:"formats,omitempty"`
	Uploads       []ticket `json:"uploads,omitempty"`
	// Documentation is nil if there is none.
	Documentation *pageSet `json:"documentation,omitempty"`
	// Published names the resumable uploads that were published last.
	Published []string `json:"published,omitempty"`

	unknown keep.Members
}

// recentChanges is how many changes the names that another process has indexed may lack
// without being read again.
const recentChanges = 32

// mark is an operation on the node that is in progress.
type mark struct {
	Kind  markKind  `json:"kind"`
	By    string    `json:"by" keep:"key"` // the operation
	Since time.Time `json:"since"`
}

// markMember is part of the JSON text of every node that has a mark. In a string its
// quotation marks would be escaped.
const markMember = `"mark":`

type markKind string

const (
	pending markKind = "pending" // being created: not visible yet
	leaving markKind = "leaving" // being deleted: still visible
)

// entry is the content of a version in one format.
type entry struct {
	Format      string    `json:"format"`
	Blob        string    `json:"blob"` // its key
	SHA256      string    `json:"sha256"`
	MD5         string    `json:"md5"`
	Size        int64     `json:"size"`
	ContentType string    `json:"contentType"`
	Uploaded    time.Time `json:"uploaded"`
}

// ticket is an upload in progress. It protects the blob of the upload from collection.
// Without its ticket an upload cannot finish.
type ticket struct {
	ID   string `json:"id" keep:"key"`
	Blob string `json:"blob"` // the key that the bytes go to
	// SHA256 is the digest of bytes that another blob has already.
	SHA256  string    `json:"sha256,omitempty"`
	Renewed time.Time `json:"renewed"`
}

// digest is the stored document of one content: where the bytes of a digest are.
type digest struct {
	Blob string `json:"blob"`
	Size int64  `json:"size"`
	// Unreferenced is when collection first found that nothing refers to it.
	Unreferenced time.Time `json:"unreferenced,omitzero"`

	unknown keep.Members
}

// visible reports whether readers see the node.
func (n *node) visible() bool { return n.Mark == nil || n.Mark.Kind == leaving }

// note records that a child was added or will be removed.
func (n *node) note(child string) {
	n.Changes++
	n.Recent = append(n.Recent, child)
	if over := len(n.Recent) - recentChanges; over > 0 {
		n.Recent = slices.Delete(n.Recent, 0, over)
	}
}

// missed returns the names of the children that changed since the count was seen, and
// false if they are no longer known.
func (n *node) missed(seen uint64) ([]string, bool) {
	behind := n.Changes - seen
	if seen > n.Changes || behind > uint64(len(n.Recent)) {
		return nil, false
	}
	return n.Recent[len(n.Recent)-int(behind):], true
}

// entryAt returns the index of a format's entry, or -1.
func (n *node) entryAt(format string) int {
	return slices.IndexFunc(n.Formats, func(e entry) bool { return e.Format == format })
}

// ticketAt returns the index of an upload's ticket, or -1.
func (n *node) ticketAt(id string) int {
	return slices.IndexFunc(n.Uploads, func(t ticket) bool { return t.ID == id })
}

var (
	nodeType   = keep.TypeFor[node]()
	digestType = keep.TypeFor[digest]()
)

// decodeNode reads the stored document of a node.
func decodeNode(doc storage.Document) (n node, err error) {
	n.unknown, err = decodeInto(&n, nodeType, doc)
	return n, err
}

// decodeDigest reads the stored document of a digest.
func decodeDigest(doc storage.Document) (d digest, err error) {
	d.unknown, err = decodeInto(&d, digestType, doc)
	return d, err
}

// decodeInto reads a stored document of a type, and returns the members of it that this
// version does not have.
func decodeInto(value any, of keep.Type, doc storage.Document) (keep.Members, error) {
	unknown, err := of.Unmarshal(doc.Data, value)
	if err != nil {
		return keep.Members{}, fmt.Errorf("read document %q: %w", doc.Key, err)
	}
	return unknown, nil
}

// peekNode is decodeNode for a document that is not written again.
func peekNode(doc storage.Document) (n node, err error) {
	if err := json.Unmarshal(doc.Data, &n); err != nil {
		return n, fmt.Errorf("read document %q: %w", doc.Key, err)
	}
	return n, nil
}

// encode returns the stored document, with the members of it that this version does not
// have. Structs of strings, numbers and times always have a JSON form.
func (n node) encode() []byte {
	data, _ := n.unknown.Marshal(n)
	return data
}

// encode is that of a node.
func (d digest) encode() []byte {
	data, _ := d.unknown.Marshal(d)
	return data
}
