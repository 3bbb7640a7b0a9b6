package datafolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/storage/disk"
)

// ReadOwner returns the owner that format.json of a folder names, empty if there is no
// such file.
func ReadOwner(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "format.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var found struct {
		Owner string `json:"owner"`
	}
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err == nil && found.Owner == "" {
		err = errors.New("it has no owner")
	}
	if err != nil {
		return "", fmt.Errorf("read format.json of folder %q: %w", dir, err)
	}
	return found.Owner, nil
}

// Recognise returns the block whose records a store without an owner has, empty if it
// has those of none or of several.
func Recognise(store *disk.Store) (block string, err error) {
	for _, t := range allTraces() {
		found, err := t.in(store)
		switch {
		case err != nil:
			return "", err
		case found == "":
		case block != "":
			return "", nil
		default:
			block = t.block
		}
	}
	return block, nil
}
