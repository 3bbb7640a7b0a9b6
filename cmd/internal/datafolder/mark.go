package datafolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// ErrMarked is returned by [Mark] when a database belongs to another block, or to a newer
// version of this one.
var ErrMarked = errors.New("the database belongs to another program")

// markPrefix begins the keys of the marks of a database: a document for each block.
const markPrefix = "owner/"

// mark is the mark of a block.
type mark struct {
	Owner  string `json:"owner"`
	Format int    `json:"format"`
}

// Mark marks a database as one that a block uses. It returns [ErrMarked] if the database has
// the mark of another block whose keys collide with those of this one, or are not known to this
// version, and if a newer version of the block has marked it. Several processes may call it
// at one time.
func Mark(ctx context.Context, documents storage.Documents, block string) error {
	return markAmong(ctx, documents, block, allTraces())
}

func markAmong(ctx context.Context, documents storage.Documents, block string, known []traces) error {
	if err := alone(ctx, documents, block, known); err != nil {
		return err
	}
	created, err := put(ctx, documents, mark{Owner: block, Format: currentForm(block).format})
	if err != nil {
		return err
	}
	// Another block may have marked the database meanwhile. Of the two, at least one sees the
	// mark of the other.
	if err := alone(ctx, documents, block, known); err != nil {
		if created != 0 {
			return errors.Join(err, documents.Delete(ctx, markPrefix+block, created))
		}
		return err
	}
	return nil
}

// alone returns an error if the database has the mark of a block whose keys collide with
// those of this one.
func alone(ctx context.Context, documents storage.Documents, block string, known []traces) error {
	for doc, err := range storage.All(ctx, documents, markPrefix) {
		if err != nil {
			return err
		}
		other := strings.TrimPrefix(doc.Key, markPrefix)
		if reason := collision(known, block, other); reason != "" {
			return fmt.Errorf("%w: it is that of %s, and this is %s: %s; give %s a database of its own, or remove the document %q "+
				"if %s does not use it any more", ErrMarked, other, block, reason, block, doc.Key, other)
		}
	}
	return nil
}

// put writes the mark of a block unless it is there, and returns the revision of a mark that
// it has created.
func put(ctx context.Context, documents storage.Documents, wanted mark) (created storage.Revision, err error) {
	key, isNew := markPrefix+wanted.Owner, false
	doc, err := storage.Change(ctx, documents, key, func(stored storage.Document) ([]byte, error) {
		if isNew = stored.Revision == 0; isNew {
			return json.Marshal(wanted)
		}
		var found mark
		if err := json.Unmarshal(stored.Data, &found); err != nil || found.Owner != wanted.Owner || found.Format < 1 {
			return nil, fmt.Errorf("%w: the document %q does not say whose database this is: restore it from a backup, or remove it "+
				"if the database is that of %s", ErrMarked, key, wanted.Owner)
		}
		switch {
		case found.Format > wanted.Format:
			return nil, fmt.Errorf("%w: a newer version of %s wrote format %d, and this one reads up to %d; "+
				"run that version, or restore a backup from before it", ErrMarked, wanted.Owner, found.Format, wanted.Format)
		case found.Format == wanted.Format:
			return nil, nil
		}
		return json.Marshal(wanted)
	})
	if err != nil || !isNew {
		return 0, err
	}
	return doc.Revision, nil
}

// collision says why two blocks cannot use one database, and nothing if they can.
func collision(known []traces, block, other string) string {
	if block == other {
		return ""
	}
	keys := func(name string) *traces {
		if i := slices.IndexFunc(known, func(t traces) bool { return t.block == name }); i >= 0 {
			return &known[i]
		}
		return nil
	}
	ours, theirs := keys(block), keys(other)
	if theirs == nil || ours == nil {
		return "this version does not know the keys of " + other
	}
	for _, pair := range [][2][]string{{ours.documents, theirs.documents}, {ours.blobs, theirs.blobs}} {
		for _, a := range pair[0] {
			for _, b := range pair[1] {
				if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
					return fmt.Sprintf("both use keys that begin with %q", max(a, b))
				}
			}
		}
	}
	return ""
}
