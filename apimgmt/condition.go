package apimgmt

import "slices"

// Condition is a condition on the stored record of an enabler; a change is refused with
// [ErrPrecondition] or [ErrNotFound] where it does not hold.
type Condition struct {
	// Exists requires that there is a record.
	Exists bool
	// Absent requires that there is none.
	Absent bool
	// Revisions requires that the record has one of them; empty means any.
	Revisions []string
}

func (c Condition) check(op, key string, r record, exists bool) error {
	switch {
	case c.Exists && !exists:
		return notFound(op, key, "there is no enabler of that name")
	case c.Absent && exists, len(c.Revisions) > 0 && (!exists || !slices.Contains(c.Revisions, r.revision())):
		return &Error{Op: op, Key: key, Kind: ErrPrecondition, Text: "the record has changed since it was read"}
	}
	return nil
}
