package entity

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// Kind is the kind of an entity, in the singular, as in messages and changes.
type Kind string

// The kinds of entities.
const (
	KindService  Kind = "service"
	KindRoute    Kind = "route"
	KindPlugin   Kind = "plugin"
	KindConsumer Kind = "consumer"
	KindKey      Kind = "keyauth_credential"
	KindUpstream Kind = "upstream"
	KindTarget   Kind = "target"
)

// ErrInvalid is wrapped by every [FieldError].
var ErrInvalid = errors.New("entity: invalid")

// ErrConflict is wrapped by the [FieldError] of a value that must be unique and is not.
var ErrConflict = errors.New("entity: not unique")

// ErrReference is wrapped by the [FieldError] of a reference to an entity that
// is not there.
var ErrReference = errors.New("entity: refers to nothing")

// FieldError reports which field of which entity breaks a rule. The error of a
// configuration joins one for each, up to a hundred of them.
type FieldError struct {
	// Kind, ID and Name identify the entity. The name of a plugin is its kind of
	// plugin, that of a target its address; keys have none.
	Kind Kind
	ID   string
	Name string
	// Field is the JSON name of the field, with an index in brackets for an item of
	// a list.
	Field string
	// Reason is the rule, and the value where it is not a secret.
	Reason string

	sentinel error
}

// Error is a sentence such as `check route "things": paths[0]: …`.
func (e *FieldError) Error() string {
	name := e.Name
	if name == "" {
		name = e.ID
	}
	return fmt.Sprintf("check %s %q: %s: %s", e.Kind, name, e.Field, e.Reason)
}

// Unwrap returns [ErrInvalid], and [ErrConflict] or [ErrReference] where it is one.
func (e *FieldError) Unwrap() []error {
	if e.sentinel == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.sentinel}
}

// problems collects errors of fields.
type problems struct {
	found []error
	more  int
}

// maxProblems is the number of errors that are reported at once.
const maxProblems = 100

func (p *problems) add(e *FieldError) {
	if len(p.found) >= maxProblems {
		p.more++
		return
	}
	p.found = append(p.found, e)
}

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.found, fmt.Errorf("%w: %d more", ErrInvalid, p.more))...)
	}
	return errors.Join(p.found...)
}

// subject is the entity whose fields are being checked.
type subject struct {
	*problems
	kind     Kind
	id, name string
}

func (s subject) failf(field, format string, args ...any) {
	s.add(&FieldError{Kind: s.kind, ID: s.id, Name: s.name, Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (s subject) conflictf(field, format string, args ...any) {
	s.add(&FieldError{Kind: s.kind, ID: s.id, Name: s.name, Field: field, Reason: fmt.Sprintf(format, args...), sentinel: ErrConflict})
}

func (s subject) danglingf(field, format string, args ...any) {
	s.add(&FieldError{Kind: s.kind, ID: s.id, Name: s.name, Field: field, Reason: fmt.Sprintf(format, args...), sentinel: ErrReference})
}

func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// namespace is the namespace of the ids of this package (RFC 9562, section 5.5).
func namespace() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/iotenablers/enablers/apimgmt/entity"))
}

// deriveID is the id of an entity that has none, from what names it. Each part
// is preceded by its length, so that no two lists of parts are the same text.
func deriveID(kind Kind, parts ...string) string {
	name := []byte(kind)
	for _, part := range parts {
		name = append(name, ':')
		name = strconv.AppendInt(name, int64(len(part)), 10)
		name = append(name, ':')
		name = append(name, part...)
	}
	return uuid.NewSHA1(namespace(), name).String()
}
