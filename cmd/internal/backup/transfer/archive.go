package transfer

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/cmd/internal/backup"
)

// archive is a backup as a tar archive: one that a server sends, or a file.
type archive struct {
	content io.Reader
	close   func() error
}

func (a *archive) Close() error { return a.close() }

func (a *archive) read(_ context.Context, each func(name string, content io.Reader) error) (found manifest, err error) {
	reader := tar.NewReader(a.content)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return manifest{}, fmt.Errorf("the archive ends early; the log of the server may say why: %w", errNoManifest)
		}
		if err != nil {
			return manifest{}, fmt.Errorf("read archive: %w", err)
		}
		switch {
		case found.data != nil:
			return manifest{}, fmt.Errorf("file %.80q comes after %s, which is the last one", header.Name, backup.ManifestName)
		case header.Typeflag != tar.TypeReg:
			return manifest{}, fmt.Errorf("%.80q is not a file but of type %q", header.Name, header.Typeflag)
		case header.Name == backup.ManifestName:
			found, err = readManifest(reader)
		default:
			err = each(header.Name, reader)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return manifest{}, fmt.Errorf("the archive ends within %.80q; the log of the server may say why: %w",
				header.Name, errNoManifest)
		}
		if err != nil {
			return manifest{}, err
		}
	}
	if found.data == nil {
		return manifest{}, errNoManifest
	}
	// What follows the end of the archive: the end of the answer, or its error.
	if _, err := io.Copy(io.Discard, a.content); err != nil {
		return manifest{}, fmt.Errorf("read archive: %w", err)
	}
	return found, nil
}

// readManifest reads a manifest up to its limit.
func readManifest(content io.Reader) (manifest, error) {
	data, err := io.ReadAll(io.LimitReader(content, backup.MaxManifest+1))
	if err == nil && len(data) > backup.MaxManifest {
		err = fmt.Errorf("%s has more than %d bytes", backup.ManifestName, backup.MaxManifest)
	}
	if err != nil {
		return manifest{}, err
	}
	m, err := backup.ParseManifest(data)
	return manifest{m, data}, err
}

// readNamed reads a manifest, and calls each for every file that it names. Open calls use with
// the content of a file; absent is what it returns for one that is missing.
func readNamed(open func(name string, use func(content io.Reader) error) error, absent error,
	each func(name string, content io.Reader) error) (found manifest, err error) {
	err = open(backup.ManifestName, func(content io.Reader) (err error) {
		found, err = readManifest(content)
		return err
	})
	if errors.Is(err, absent) {
		return manifest{}, errNoManifest
	}
	if err != nil {
		return manifest{}, err
	}
	for _, file := range found.Files {
		err := open(file.Name, func(content io.Reader) error { return each(file.Name, content) })
		if err != nil && !errors.Is(err, absent) { // the comparison with the manifest names one that is missing
			return manifest{}, err
		}
	}
	return found, nil
}
