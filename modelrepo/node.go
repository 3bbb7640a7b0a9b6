package modelrepo

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// node is the stored document of the repository itself, a namespace, a model or
// a version. It is a stored format.
type node struct {
	// ID is given at creation, so that one that was deleted and created again
	// is another one.
	ID string `json:"id"`
	// Mark is there while the node is being created or deleted.
	Mark *mark `json:"mark,omitempty"`

	// Changes counts the children that came and went, and Recent names the
	// last of them, at most recentChanges, the newest at the end.
	Changes uint64   `json:"changes,omitempty"`
	Recent  []string `json:"recent,omitempty"`

	Metadata Metadata `json:"metadata,omitempty"`

	// LatestVersion and Aliases, the targets by name, are of models.
	LatestVersion string            `json:"latestVersion,omitempty"`
	Aliases       map[string]string `json:"aliases,omitempty"`

	// The others are of versions. Formats and Uploads are in no order.
	DefaultFormat string   `json:"defaultFormat,omitempty"`
	Immutable     bool     `json:"immutable,omitempty"`
	Formats       []entry  `json:"formats,omitempty"`
	Uploads       []ticket `json:"uploads,omitempty"`
	// Documentation is nil if there is none.
	Documentation *pageSet `json:"documentation,omitempty"`
	// Published names the uploads in pieces that ended last.
	Published []string `json:"published,omitempty"`
}

// recentChanges is how far another process's list of names may be behind and
// still catch up without reading all children again.
const recentChanges = 32

// mark says that an operation is under way on a node.
type mark struct {
	Kind  markKind  `json:"kind"`
	By    string    `json:"by"` // the operation
	Since time.Time `json:"since"`
}

// markMember is in the JSON text of every node that has a mark. Inside of a
// string its quotation marks would be escaped.
const markMember = `"mark":`

type markKind string

const (
	pending markKind = "pending" // being created: nobody sees it yet
	leaving markKind = "leaving" // being deleted: everybody still sees it
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

// ticket is an upload under way. It protects what the upload has written, and
// is what the upload's end is checked against.
type ticket struct {
	ID   string `json:"id"`
	Blob string `json:"blob"` // the key that the bytes go to
	// SHA256 is the digest of bytes that are there already, under another key.
	SHA256  string    `json:"sha256,omitempty"`
	Renewed time.Time `json:"renewed"`
}

// digest is the stored document of one content.
type digest struct {
	Blob string `json:"blob"`
	Size int64  `json:"size"`
	// Unreferenced is when collection first found that nothing refers to it.
	Unreferenced time.Time `json:"unreferenced,omitzero"`
}

// visible reports whether the node is there for those who read.
func (n *node) visible() bool { return n.Mark == nil || n.Mark.Kind == leaving }

// note records that a child came or is about to go.
func (n *node) note(child string) {
	n.Changes++
	n.Recent = append(n.Recent, child)
	if over := len(n.Recent) - recentChanges; over > 0 {
		n.Recent = slices.Delete(n.Recent, 0, over)
	}
}

// missed returns the names of the children that changed since the count was
// seen, and false if they are no longer known.
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

// decode reads a stored document of the repository's own.
func decode[T node | digest](doc storage.Document) (T, error) {
	var value T
	if err := json.Unmarshal(doc.Data, &value); err != nil {
		return value, fmt.Errorf("read document %q: %w", doc.Key, err)
	}
	return value, nil
}

// encode writes it. Structs of strings, numbers and times always have a form.
func encode[T node | digest](value T) []byte {
	data, _ := json.Marshal(value)
	return data
}
