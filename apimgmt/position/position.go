// Package position names positions in texts of JSON and YAML: API definitions,
// declarative configurations and the entities in them.
package position

import (
	"strconv"
	"strings"
)

// Error is an error at a position of a text.
type Error struct {
	// Line and Column count from one. Zero means unknown.
	Line, Column int
	// Pointer is the JSON pointer (RFC 6901) of the value. It is empty for the root, and
	// if it is unknown.
	Pointer string
	// Err is the error itself.
	Err error
}

// Error returns the position and the text of the error, as in
// line 3, "/paths/~1things": the value is not an object.
func (e *Error) Error() string {
	var position []string
	if e.Line > 0 {
		position = append(position, "line "+strconv.Itoa(e.Line))
	}
	if e.Pointer != "" {
		position = append(position, strconv.Quote(e.Pointer))
	}
	if len(position) == 0 {
		return e.Err.Error()
	}
	return strings.Join(position, ", ") + ": " + e.Err.Error()
}

// Unwrap returns the error without the position.
func (e *Error) Unwrap() error { return e.Err }
