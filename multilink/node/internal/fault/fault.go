// Package fault has the error of a request that an instance refuses: why, and about which
// field of the request.
package fault

import "fmt"

// Kind is why a request cannot be met.
type Kind int

// The kinds of faults.
const (
	Malformed   Kind = iota // the request is invalid
	Unknown                 // its object does not exist
	Conflict                // it contradicts the configuration
	Denied                  // a right is missing
	Unsupported             // this host cannot do that
	Unavailable             // not at the moment
	Full                    // the storage has no space
	Internal                // a fault of this program
)

// Fault is why a request cannot be met. Detail is for the client, Err for the log.
type Fault struct {
	Kind   Kind
	Field  string // of the request; empty if it is about no single one
	Detail string
	Err    error
}

// Error returns the field and the detail.
func (f *Fault) Error() string {
	text := f.Detail
	if f.Field != "" {
		text = f.Field + ": " + text
	}
	if f.Err != nil && f.Detail == "" {
		text += f.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Wrong returns the fault of a request with an invalid field.
func Wrong(field, format string, args ...any) error {
	return &Fault{Kind: Malformed, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Absent returns the fault of a request for an object that does not exist.
func Absent(field, format string, args ...any) error {
	return &Fault{Kind: Unknown, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Clash returns the fault of a request that contradicts the configuration.
func Clash(field, format string, args ...any) error {
	return &Fault{Kind: Conflict, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Busy returns the fault of a request that cannot be met at the moment.
func Busy(format string, args ...any) error {
	return &Fault{Kind: Unavailable, Detail: fmt.Sprintf(format, args...)}
}
