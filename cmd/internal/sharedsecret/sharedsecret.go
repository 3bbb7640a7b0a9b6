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
