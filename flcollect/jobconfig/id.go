package jobconfig

import (
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// MaxID is the greatest length of a job's id in bytes.
const MaxID = 256

// CheckID returns nil for an id that a job can have. The error matches [ErrInvalid].
func CheckID(id string) error {
	if len(id) > MaxID {
		return fmt.Errorf("%w: the id has %d bytes, the most is %d", ErrInvalid, len(id), MaxID)
	}
	if err := storage.ValidKey(id); err != nil {
		return fmt.Errorf("%w: id %q: %w", ErrInvalid, id, err)
	}
	return nil
}
