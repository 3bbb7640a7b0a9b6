package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// documentChecks returns the suite of storage.Documents.
func documentChecks() []check[storage.Documents] {
	return append(append(documentStateChecks(), documentKeyChecks()...), documentRaceChecks()...)
}

func documentStateChecks() []check[storage.Documents] {
	return []check[storage.Documents]{
		{
			"a missing key is not found",
			"Get, Update and Delete return ErrNotFound, with the key in the text, when there is no such document",
			missingDocument,
		},
		{
			"a created document reads back",
			"Get and List return the bytes as they were given, and the revision that the write returned",
			documentReadsBack,
		},
		{"a taken key is refused", "Create returns ErrExists when the key is taken, and leaves the document alone", takenKey},
		{
			"an update needs the current revision",
			"Update returns ErrConflict unless prev is the document's revision, and changes nothing then",
			updateComparesRevision,
		},
		{
			"a delete needs the current revision",
			"Delete returns ErrConflict unless prev is the document's revision, and changes nothing then",
			deleteComparesRevision,
		},
		{
			"revisions are not used again",
			"two states of one key never have the same revision, also across a delete and another create",
			revisionsAreUnique,
		},
		{"given bytes are copied", "the caller may change its slice after Create and Update", givenBytesAreCopied},
		{"returned bytes are copied", "the caller may change the slices that Get and List return", returnedBytesAreCopied},
		{
			"the smallest documents are kept",
			"every JSON value is a document, and none of them is the same as no document",
			smallestDocuments,
		},
		{
			"the largest document is kept",
			"a document of MaxDataSize bytes is taken, and one of a byte more is ErrInvalidData",
			largestDocument,
		},
		{
			"data that is not JSON is refused",
			"Create and Update return ErrInvalidData for what ValidData refuses, and write nothing",
			invalidData,
		},
		{
			"an ended context stops every method",
			"a method called with an ended context returns its error and does nothing",
			documentsEndedContext,
		},
	}
}

func missingDocument(ctx context.Context, docs storage.Documents) error {
	const key = "missing/document"
	_, getErr := docs.Get(ctx, key)
	_, updateErr := docs.Update(ctx, key, 1, []byte(`{}`))
	deleteErr := docs.Delete(ctx, key, 1)
	for call, err := range map[string]error{"Get": getErr, "Update": updateErr, "Delete": deleteErr} {
		if err := wantError(call, err, storage.ErrNotFound); err != nil {
			return err
		}
		if !strings.Contains(err.Error(), key) {
			return fmt.Errorf("%s failed with %q, which does not name the key %q", call, err, key)
		}
	}
	page, err := docs.List(ctx, "", "", 0)
	if err != nil || len(page) != 0 {
		return fmt.Errorf("the call List of an empty store gave %d documents and the error %v", len(page), err)
	}
	return nil
}

func documentReadsBack(ctx context.Context, docs storage.Documents) error {
	text := []byte(" {\"b\": 1.0, \"a\": 12345678901234567890, \"a\":\t\"\\u00e9 \u00e9\"}\n")
	revision, err := docs.Create(ctx, "document", text)
	if err := noError("Create", err); err != nil {
		return err
	}
	if err := isDocument(ctx, docs, "document", revision, text); err != nil {
		return fmt.Errorf("after Create: %w", err)
	}
	text = []byte(`[1e400, "changed"]`)
	revision, err = docs.Update(ctx, "document", revision, text)
	if err := noError("Update", err); err != nil {
		return err
	}
	if err := isDocument(ctx, docs, "document", revision, text); err != nil {
		return fmt.Errorf("after Update: %w", err)
	}
	return nil
}

func takenKey(ctx context.Context, docs storage.Documents) error {
	revision, err := docs.Create(ctx, "taken", []byte(`1`))
	if err := noError("Create", err); err != nil {
		return err
	}
	_, err = docs.Create(ctx, "taken", []byte(`2`))
	if err := wantError("a second Create", err, storage.ErrExists); err != nil {
		return err
	}
	return isDocument(ctx, docs, "taken", revision, []byte(`1`))
}

func updateComparesRevision(ctx context.Context, docs storage.Documents) error {
	first, err := docs.Create(ctx, "document", []byte(`1`))
	if err := noError("Create", err); err != nil {
		return err
	}
	other, err := docs.Create(ctx, "other", []byte(`1`))
	if err := noError("Create of another", err); err != nil {
		return err
	}
	for _, wrong := range []storage.Revision{0, first + 1000, other} {
		if wrong == first {
			continue
		}
		_, err := docs.Update(ctx, "document", wrong, []byte(`2`))
		if err := wantError(fmt.Sprintf("Update at %d of a document at %d", wrong, first), err,
			storage.ErrConflict); err != nil {
			return err
		}
	}
	if err := isDocument(ctx, docs, "document", first, []byte(`1`)); err != nil {
		return fmt.Errorf("after conflicts: %w", err)
	}
	second, err := docs.Update(ctx, "document", first, []byte(`1`))
	if err := noError("Update at the current revision", err); err != nil {
		return err
	}
	if second == first {
		return fmt.Errorf("the call Update with equal data kept the revision %d", first)
	}
	_, err = docs.Update(ctx, "document", first, []byte(`3`))
	if err := wantError("Update at the revision before", err, storage.ErrConflict); err != nil {
		return err
	}
	return isDocument(ctx, docs, "document", second, []byte(`1`))
}

func deleteComparesRevision(ctx context.Context, docs storage.Documents) error {
	first, err := docs.Create(ctx, "document", []byte(`1`))
	if err := noError("Create", err); err != nil {
		return err
	}
	second, err := docs.Update(ctx, "document", first, []byte(`2`))
	if err := noError("Update", err); err != nil {
		return err
	}
	for _, wrong := range []storage.Revision{0, first, second + 1000} {
		err := docs.Delete(ctx, "document", wrong)
		if err := wantError(fmt.Sprintf("Delete at %d of a document at %d", wrong, second), err,
			storage.ErrConflict); err != nil {
			return err
		}
	}
	if err := isDocument(ctx, docs, "document", second, []byte(`2`)); err != nil {
		return fmt.Errorf("after conflicts: %w", err)
	}
	if err := noError("Delete at the current revision", docs.Delete(ctx, "document", second)); err != nil {
		return err
	}
	if _, err := docs.Get(ctx, "document"); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("the call Get after Delete returned %v", err)
	}
	return wantError("a second Delete", docs.Delete(ctx, "document", second), storage.ErrNotFound)
}

func revisionsAreUnique(ctx context.Context, docs storage.Documents) error {
	seen := make(map[storage.Revision]string)
	note := func(call string, revision storage.Revision, err error) error {
		if err != nil {
			return noError(call, err)
		}
		if revision == 0 {
			return fmt.Errorf("%s gave the zero revision", call)
		}
		if before, found := seen[revision]; found {
			return fmt.Errorf("%s gave the revision %d, as %s had", call, revision, before)
		}
		seen[revision] = call
		return nil
	}
	for round := range 5 {
		created, err := docs.Create(ctx, "document", []byte(`1`))
		if err := note(fmt.Sprintf("Create %d", round), created, err); err != nil {
			return err
		}
		updated, err := docs.Update(ctx, "document", created, []byte(`2`))
		if err := note(fmt.Sprintf("Update %d", round), updated, err); err != nil {
			return err
		}
		if err := noError("Delete", docs.Delete(ctx, "document", updated)); err != nil {
			return err
		}
	}
	if _, err := docs.Create(ctx, "document", []byte(`1`)); err != nil {
		return noError("Create", err)
	}
	for old := range seen {
		_, err := docs.Update(ctx, "document", old, []byte(`3`))
		if err := wantError("Update at a revision from before the Delete", err, storage.ErrConflict); err != nil {
			return err
		}
	}
	return nil
}

func givenBytesAreCopied(ctx context.Context, docs storage.Documents) error {
	text := []byte(`"first"`)
	revision, err := docs.Create(ctx, "document", text)
	if err := noError("Create", err); err != nil {
		return err
	}
	copy(text, `"wrong"`)
	if err := isDocument(ctx, docs, "document", revision, []byte(`"first"`)); err != nil {
		return fmt.Errorf("the slice given to Create is shared: %w", err)
	}
	copy(text, `"other"`)
	revision, err = docs.Update(ctx, "document", revision, text)
	if err := noError("Update", err); err != nil {
		return err
	}
	copy(text, `"wrong"`)
	if err := isDocument(ctx, docs, "document", revision, []byte(`"other"`)); err != nil {
		return fmt.Errorf("the slice given to Update is shared: %w", err)
	}
	return nil
}

func returnedBytesAreCopied(ctx context.Context, docs storage.Documents) error {
	revision, err := docs.Create(ctx, "document", []byte(`"kept"`))
	if err := noError("Create", err); err != nil {
		return err
	}
	doc, err := docs.Get(ctx, "document")
	if err := noError("Get", err); err != nil {
		return err
	}
	clear(doc.Data)
	if err := isDocument(ctx, docs, "document", revision, []byte(`"kept"`)); err != nil {
		return fmt.Errorf("the slice that Get returns is shared: %w", err)
	}
	page, err := docs.List(ctx, "", "", 0)
	if err != nil || len(page) != 1 {
		return fmt.Errorf("the call List gave %d documents and the error %v", len(page), err)
	}
	clear(page[0].Data)
	if err := isDocument(ctx, docs, "document", revision, []byte(`"kept"`)); err != nil {
		return fmt.Errorf("a slice that List returns is shared: %w", err)
	}
	return nil
}

func smallestDocuments(ctx context.Context, docs storage.Documents) error {
	for _, text := range []string{`null`, `0`, `""`, `{}`, `[]`, `false`} {
		revision, err := docs.Create(ctx, "document", []byte(text))
		if err := noError("Create of "+text, err); err != nil {
			return err
		}
		if err := isDocument(ctx, docs, "document", revision, []byte(text)); err != nil {
			return err
		}
		if err := noError("Delete of "+text, docs.Delete(ctx, "document", revision)); err != nil {
			return err
		}
	}
	return nil
}

func largestDocument(ctx context.Context, docs storage.Documents) error {
	text := bytes.Repeat([]byte(`x`), storage.MaxDataSize)
	text[0], text[len(text)-1] = '"', '"'
	revision, err := docs.Create(ctx, "document", text)
	if err := noError("Create of MaxDataSize bytes", err); err != nil {
		return err
	}
	if err := isDocument(ctx, docs, "document", revision, text); err != nil {
		return err
	}
	_, err = docs.Update(ctx, "document", revision, append(text, ' '))
	return wantError("Update to a byte more than MaxDataSize", err, storage.ErrInvalidData)
}

func invalidData(ctx context.Context, docs storage.Documents) error {
	revision, err := docs.Create(ctx, "document", []byte(`1`))
	if err := noError("Create", err); err != nil {
		return err
	}
	for _, text := range []string{"", " ", "{", "{} {}", "text", "\"\xff\"", "NaN", "'single'"} {
		_, err := docs.Create(ctx, "new", []byte(text))
		if err := wantError(fmt.Sprintf("Create of %q", text), err, storage.ErrInvalidData); err != nil {
			return err
		}
		_, err = docs.Update(ctx, "document", revision, []byte(text))
		if err := wantError(fmt.Sprintf("Update to %q", text), err, storage.ErrInvalidData); err != nil {
			return err
		}
	}
	_, err = docs.Create(ctx, "new", nil)
	if err := wantError("Create of nil", err, storage.ErrInvalidData); err != nil {
		return err
	}
	return isDocument(ctx, docs, "document", revision, []byte(`1`))
}

func documentsEndedContext(ctx context.Context, docs storage.Documents) error {
	revision, err := docs.Create(ctx, "document", []byte(`1`))
	if err := noError("Create", err); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for call, err := range documentCalls(ended, docs, "document", "new", revision) {
		if err := wantError(call+" with an ended context", err, context.Canceled); err != nil {
			return err
		}
	}
	if _, err := docs.Get(ctx, "new"); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("the call Create with an ended context wrote: Get then returned %v", err)
	}
	return isDocument(ctx, docs, "document", revision, []byte(`1`))
}

// documentCalls calls every method, with valid data where needed, and returns
// the error of each.
func documentCalls(ctx context.Context, docs storage.Documents, key, free string,
	revision storage.Revision) map[string]error {
	errs := make(map[string]error)
	_, errs["Get"] = docs.Get(ctx, key)
	_, errs["Create"] = docs.Create(ctx, free, []byte(`2`))
	_, errs["Update"] = docs.Update(ctx, key, revision, []byte(`2`))
	errs["Delete"] = docs.Delete(ctx, key, revision)
	_, errs["List"] = docs.List(ctx, "", "", 0)
	return errs
}

// closedDocuments is the check for a store that has been closed.
func closedDocuments() check[storage.Documents] {
	return check[storage.Documents]{
		"a closed store refuses every method", "every method returns ErrClosed after Close",
		func(ctx context.Context, docs storage.Documents) error {
			for call, err := range documentCalls(ctx, docs, "document", "new", 1) {
				if err := wantError(call+" after Close", err, storage.ErrClosed); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// isDocument returns an error unless Get and List both show the document.
func isDocument(ctx context.Context, docs storage.Documents, key string, revision storage.Revision, text []byte) error {
	doc, err := docs.Get(ctx, key)
	if err != nil {
		return noError("Get", err)
	}
	if err := sameDocument("Get", doc, storage.Document{Key: key, Revision: revision, Data: text}); err != nil {
		return err
	}
	page, err := docs.List(ctx, key, "", 1)
	if err != nil {
		return noError("List", err)
	}
	if len(page) != 1 {
		return fmt.Errorf("the call List with the prefix %.100q and the limit 1 gave %d documents", key, len(page))
	}
	return sameDocument("List", page[0], storage.Document{Key: key, Revision: revision, Data: text})
}

func sameDocument(call string, got, want storage.Document) error {
	if got.Key != want.Key || got.Revision != want.Revision || !bytes.Equal(got.Data, want.Data) {
		return fmt.Errorf("%s gave %.100q at revision %d with the data %.100q, want %.100q at %d with %.100q",
			call, got.Key, got.Revision, got.Data, want.Key, want.Revision, want.Data)
	}
	return nil
}
