// Package sharedsecret writes the file beside secrets that all instances of a server on one store use. Of
// several instances that start for the first time, one stores the secret that it has
// generated, and the others read that one.
//
// Each secret is as secret as the store: who can read the store can read it. A file is
// written beside it for people.
package sharedsecret

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/internal/secretfile"
)

<<<<<<< HEAD
=======
// Change changes a document. It calls change with what is stored, nil if that is nothing, and
// stores what change returns; nil leaves the document as it is. When another instance has
// changed the document meanwhile, change is called again: the last call decides.
func Change(ctx context.Context, documents storage.Documents, key string, change func(old []byte) ([]byte, error)) error {
	for {
		doc, err := documents.Get(ctx, key)
		absent := errors.Is(err, storage.ErrNotFound)
		if err != nil && !absent {
			return fmt.Errorf("read document %q: %w", key, err)
		}
		next, err := change(doc.Data)
		if err != nil || next == nil {
			return err
		}
		if absent {
			_, err = documents.Create(ctx, key, next)
		} else {
			_, err = documents.Update(ctx, key, doc.Revision, next)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, storage.ErrExists), errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrNotFound):
		default:
			return fmt.Errorf("store document %q: %w", key, err)
		}
	}
}

>>>>>>> 029e7c7c (cmd: read settings in one way)
// Show writes the file for people, which only its owner can read, unless it has the content
// already. A file that cannot be written is logged, for nothing depends on it.
func Show(name string, content []byte, log *slog.Logger) {
	found, err := os.ReadFile(name)
	if err == nil && bytes.Equal(bytes.TrimSpace(found), bytes.TrimSpace(content)) {
		return
	}
	if err == nil {
		log.Warn("the file had other secrets than the store, which are not used any more", "file", name)
	}
	if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		err = secretfile.Write(name, content)
	}
	if err != nil {
		log.Warn("generated secrets are in the store, and there is no file with them", "file", name, "error", err)
	}
}
