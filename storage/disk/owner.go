package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

const (
	ownerName = "format.json"
	// unfinishedOwner begins the names under which it is written.
	unfinishedOwner = ownerName + ".new-"
)

// ErrOwner is returned by [Open] and [MarkOwner] when the folder belongs to another
// owner, or to a newer version of this one.
var ErrOwner = errors.New("storage/disk: the folder belongs to another program")

// ownerRecord is the content of format.json.
type ownerRecord struct {
	Owner  string `json:"owner"`
	Format int    `json:"format"`
	// From is the format that a migration to Format has reached, absent when it is done.
	// Meanwhile programs that read only earlier formats refuse the folder.
	From *int `json:"from,omitempty"`
}

// MarkOwner marks a folder as that of an owner, for a program that keeps files in it
// without a [Store], with the number of their format: 1 or greater. It creates the folder
// and its parents if they are missing, and returns [ErrOwner] when the folder is marked
// as that of another owner, or with a greater number. A smaller one is replaced.
func MarkOwner(dir, owner string, format int) error {
	err := makeFolder(dir)
	if err == nil {
		var found ownerRecord
		want := ownerRecord{Owner: owner, Format: format}
		if found, err = readOwner(dir, want); err == nil && found.Format != format {
			err = writeOwner(dir, want)
		}
	}
	if err != nil {
		return fmt.Errorf("mark folder %q: %w", dir, err)
	}
	return nil
}

// readOwner returns how the folder is marked; of format 0 if it is not. It returns an
// error for a folder of another owner, and for one of a greater format.
func readOwner(dir string, want ownerRecord) (ownerRecord, error) {
	data, err := os.ReadFile(filepath.Join(dir, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return ownerRecord{}, nil
	}
	if err != nil {
		return ownerRecord{}, err
	}
	var found ownerRecord
	if err := json.Unmarshal(data, &found); err != nil || found.Owner == "" || found.Format < 1 ||
		found.From != nil && (*found.From < 0 || *found.From >= found.Format) {
		return found, fmt.Errorf("%s does not say whose folder this is: restore it from a backup, "+
			"or write {\"owner\": %q, \"format\": %d} into it if the folder is that of %s", ownerName, want.Owner, want.Format, want.Owner)
	}
	switch {
	case found.Owner != want.Owner:
		return found, fmt.Errorf("%w: %s says that it is the folder of %s, and this is %s; give %s a folder of its own",
			ErrOwner, ownerName, found.Owner, want.Owner, want.Owner)
	case found.Format > want.Format:
		return found, fmt.Errorf("%w: %s says that a newer version of %s wrote format %d, and this one reads up to %d; "+
			"run that version, or restore a backup from before it", ErrOwner, ownerName, want.Owner, found.Format, want.Format)
	}
	return found, nil
}

// own makes a locked folder that of its owner, in the format of the options.
func (s *Store) own(ctx context.Context, dir string, options *Options) error {
	want := ownerRecord{Owner: options.Owner, Format: max(options.Format, 1)}
	found, err := readOwner(dir, want)
	if err != nil {
		return err
	}
	if found.Owner == "" && options.Adopt != nil {
		if err := options.Adopt(s); err != nil {
			return err
		}
	}
	from := found.Format
	if found.From != nil {
		from = *found.From
	}
	if found.Format == want.Format && found.From == nil {
		return nil
	}
	empty, err := s.isEmpty()
	if err != nil {
		return err
	}
	if options.Migrate != nil && !empty {
		if err := s.migrate(ctx, dir, want, from, options.Migrate); err != nil {
			return err
		}
	}
	return writeOwner(dir, want)
}

// migrate takes the records from one format to the next, until they have the wanted one.
// The mark says before each step what it begins with, so that an interrupted step is
// repeated, and no program of an earlier format opens the folder in between.
func (s *Store) migrate(
	ctx context.Context, dir string, want ownerRecord, from int, step func(context.Context, *Store, int) error,
) error {
	for ; from < want.Format; from++ {
		begun := want
		begun.From = &from
		if err := writeOwner(dir, begun); err != nil {
			return err
		}
		if err := step(ctx, s, from); err != nil {
			return fmt.Errorf("change the records of %s from format %d to %d: %w; the next start goes on with it, "+
				"earlier versions need a backup from before it", want.Owner, from, from+1, err)
		}
	}
	return nil
}

// isEmpty reports whether the store has no documents and no blobs.
func (s *Store) isEmpty() (empty bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		document, _ := tx.Bucket([]byte(documentsBucket)).Cursor().First()
		blob, _ := tx.Bucket([]byte(blobsBucket)).Cursor().First()
		empty = document == nil && blob == nil
		return nil
	})
	return empty, err
}

// writeOwner marks the folder, in one step.
func writeOwner(dir string, record ownerRecord) (err error) {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, unfinishedOwner+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the incomplete file is not needed
		}
	}()
	_, err = file.Write(append(data, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), filepath.Join(dir, ownerName)); err != nil {
		return err
	}
	return syncFolder(dir)
}
