package datafolder

import (
	"context"

	"github.com/iotenablers/enablers/storage/disk"
)

// form is the form of an owner's records.
type form struct {
	// format is its number. A version that cannot read the records of a later one, or
	// would damage them, has to refuse them: then the number goes up by one. A member
	// that is added to a document needs no new number, because versions that do not have
	// it keep it.
	format int
	// steps change the records of a format into those of the next one, by the earlier
	// format. A format without a step is read as it is. A step may be called again on
	// records some of which it has changed already.
	steps map[int]func(ctx context.Context, store *disk.Store) error
}

// currentForm returns the present form of an owner's records. The folders of Enablers, and
// those of MultiLink below them, hold files alone, which have no steps.
func currentForm(owner string) form {
	return map[string]form{
		Annotator:   {format: 1},
		ModelRepo:   {format: 1},
		FLCollector: {format: 1},
		APIManager:  {format: 1},
		MultiLink:   {format: 1},
		Enablers:    {format: 1},
	}[owner]
}

// migrate changes the records from a format into those of the next one.
func (f form) migrate(ctx context.Context, store *disk.Store, from int) error {
	if step := f.steps[from]; step != nil {
		return step(ctx, store)
	}
	return nil
}
