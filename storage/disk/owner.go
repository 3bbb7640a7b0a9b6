package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	ownerName   = "format.json"
	ownerFormat = 1
)

// ErrOwner is returned by [Open] and [MarkOwner] when the folder belongs to another
// owner, or to a newer version of this one.
var ErrOwner = errors.New("storage/disk: the folder belongs to another program")

// ownerRecord is the content of format.json.
type ownerRecord struct {
	Owner  string `json:"owner"`
	Format int    `json:"format"`
}

// MarkOwner marks a folder as that of an owner, for a program that keeps files in it
// without a [Store]. It creates the folder and its parents if they are missing, and
// returns [ErrOwner] when the folder is marked as that of another owner.
func MarkOwner(dir, owner string) error {
	err := makeFolder(dir)
	if err == nil {
		var marked bool
		if marked, err = checkOwner(dir, owner); err == nil && !marked {
			err = writeOwner(dir, owner)
		}
	}
	if err != nil {
		return fmt.Errorf("mark folder %q: %w", dir, err)
	}
	return nil
}

// checkOwner reports whether the folder is marked. It returns an error for a
// folder of another owner.
func checkOwner(dir, owner string) (marked bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found ownerRecord
	if err := json.Unmarshal(data, &found); err != nil || found.Owner == "" || found.Format < 1 {
		return false, fmt.Errorf("%s does not say whose folder this is: restore it from a backup, "+
			"or write {\"owner\": %q, \"format\": %d} into it if the folder is that of %s", ownerName, owner, ownerFormat, owner)
	}
	switch {
	case found.Owner != owner:
		return false, fmt.Errorf("%w: %s says that it is the folder of %s, and this is %s; give %s a folder of its own",
			ErrOwner, ownerName, found.Owner, owner, owner)
	case found.Format > ownerFormat:
		return false, fmt.Errorf("%w: %s says that a newer version of %s wrote format %d, and this one reads up to %d; "+
			"run that version, or restore a backup from before it", ErrOwner, ownerName, owner, found.Format, ownerFormat)
	}
	return true, nil
}

// writeOwner marks the folder, in one step.
func writeOwner(dir, owner string) (err error) {
	data, err := json.Marshal(ownerRecord{owner, ownerFormat})
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ownerName+".new-*")
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
