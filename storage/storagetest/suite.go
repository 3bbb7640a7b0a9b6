package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// patience is how long one check may take before its context ends, so that a
// driver that hangs fails with a message.
const patience = 10 * time.Minute

// check is one rule of a contract over a store of type S. It is a value and
// not a test, so that the suite can be tried on stores that break the rule.
type check[S any] struct {
	name string // the rule as a test name
	rule string // the rule in words, shown on failure
	run  func(ctx context.Context, store S) error
}

// Documents runs the suite of [storage.Documents]. Each check calls open for an
// empty store of its own; open registers its clean-up with t.Cleanup. A wrapper
// may shorten the longest key by up to 128 bytes.
func Documents(t *testing.T, open func(t *testing.T) storage.Documents) {
	t.Helper()
	runAll(t, documentChecks(), open)
}

// Blobs runs the suite of [storage.Blobs]. Each check calls open for an empty
// store of its own; open registers its clean-up with t.Cleanup. A wrapper may
// shorten the longest key by up to 128 bytes.
func Blobs(t *testing.T, open func(t *testing.T) storage.Blobs) {
	t.Helper()
	runAll(t, blobChecks(), open)
}

// ClosedDocuments checks the documents of a driver that has been closed.
func ClosedDocuments(t *testing.T, docs storage.Documents) {
	t.Helper()
	report(t, closedDocuments(), docs)
}

// ClosedBlobs checks the blobs of a driver that has been closed.
func ClosedBlobs(t *testing.T, blobs storage.Blobs) {
	t.Helper()
	report(t, closedBlobs(), blobs)
}

func runAll[S any](t *testing.T, checks []check[S], open func(t *testing.T) S) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { report(t, c, open(t)) })
	}
}

func report[S any](t *testing.T, c check[S], store S) {
	t.Helper()
	if err := c.try(t.Context(), store); err != nil {
		t.Errorf("broken rule: %s\nseen: %v", c.rule, err)
	}
}

// try runs the check with limited patience.
func (c check[S]) try(ctx context.Context, store S) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.run(ctx, store)
}

// wantError returns an error unless err matches want.
func wantError(call string, err, want error) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s succeeded, want the error %q", call, want)
	case !errors.Is(err, want):
		return fmt.Errorf("%s failed with %q, want an error that matches %q", call, err, want)
	}
	return nil
}

// noError puts the call before an error, if there is one.
func noError(call string, err error) error {
	if err != nil {
		return fmt.Errorf("%s failed: %w", call, err)
	}
	return nil
}

// together runs a function n times at once and joins the errors.
func together(n int, run func(i int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- run(i) }()
	}
	var all []error
	for range n {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
