package modelrepo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/modelrepo/internal/archive"
	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/modelrepo/oci"
)

// ArtifactType is the type of the artifacts that an export writes: each is a version
// of a model, or a model without versions.
const ArtifactType = archive.ArtifactType

// ArchiveProgress is the progress of an export or an import.
type ArchiveProgress struct {
	// Version is the version that was just handled, or a model without versions.
	Version Path
	// Versions have been handled, of Total.
	Versions, Total int
	// Bytes of content have been written.
	Bytes int64
}

// ExportOptions changes an export. The zero value is the default.
type ExportOptions struct {
	// Progress is called after every version. Nil is not called.
	Progress func(ArchiveProgress)
}

// Export writes a namespace, a model or a version as a tar archive of an OCI image
// layout, which tools such as oras and skopeo copy to any registry: one manifest for
// each version, with a layer for each format, under the name "namespace/model:version".
// Equal content makes equal archives.
//
// The archive has what was there at the beginning, also when it is overwritten or
// deleted meanwhile. The export fails if content was deleted and [Store.Collect] has
// removed it before it is written; the archive then lacks blobs that its index names.
// Memory grows with the number of versions, about 2 KB for each, and not with their
// content. opts may be nil. The error matches [ErrNotFound] if the path names nothing.
func (s *Store) Export(ctx context.Context, at Path, to io.Writer, opts *ExportOptions) error {
	open := func(index oci.Index) (*oci.Writer, error) { return oci.NewTarWriter(to, index) }
	return s.contents.export(ctx, at, opts, open)
}

// ExportDir is [Store.Export] into a folder. The index comes last there: a layout that
// was in the folder before stays until the new one is complete.
func (s *Store) ExportDir(ctx context.Context, at Path, dir string, opts *ExportOptions) error {
	open := func(index oci.Index) (*oci.Writer, error) { return oci.NewDirWriter(dir, index) }
	return s.contents.export(ctx, at, opts, open)
}

// export writes what is at the path into the layout that the function opens.
func (c *contents) export(
	ctx context.Context, at Path, opts *ExportOptions, open func(oci.Index) (*oci.Writer, error),
) error {
	const op = "export"
	layout, err := c.tree.layout(ctx, op, at)
	if err != nil {
		return failed(op, at, err)
	}
	// Before anything is written: a half archive can only be broken off.
	if err := readable(ctx, c.blobs); err != nil {
		return failed(op, at, err)
	}
	writer, err := open(layout.Index)
	if err != nil {
		return failed(op, at, err)
	}
	progress := ArchiveProgress{Total: layout.Len()}
	report := func(r archive.Record, bytes int64) {
		progress.Version, progress.Bytes = recordPath(r), bytes
		progress.Versions++
		if opts != nil && opts.Progress != nil {
			opts.Progress(progress)
		}
	}
	if r, err := layout.Write(ctx, writer, c.layer, report); err != nil {
		return errors.Join(failed(op, recordPath(r), err), writer.Abort())
	}
	if err := writer.Close(); err != nil {
		return failed(op, at, err)
	}
	return nil
}

// layer opens the content of a layer of an export.
func (c *contents) layer(ctx context.Context, l archive.Layer) (io.ReadCloser, error) {
	reader, err := c.checker.Open(ctx, integrity.Content{Blob: l.Blob, Size: l.Size, SHA256: l.SHA256})
	if err != nil {
		return nil, hideAbsence(err)
	}
	return reader, nil
}

// layout returns the layout of all that is at the path and below.
func (t *tree) layout(ctx context.Context, op string, at Path) (*archive.Layout, error) {
	n, err := t.find(ctx, at, max(at.depth(), 1))
	if errors.Is(err, errAbsent) {
		return nil, notFound(op, at)
	}
	if err != nil {
		return nil, err
	}
	layout := archive.NewLayout(at.Namespace)
	var models []archive.Record
	switch at.depth() {
	case 1:
		err = t.eachChild(ctx, at, func(model Path, n node) error {
			models = append(models,
				archive.Record{Namespace: model.Namespace, Model: model.Model, LatestVersion: n.LatestVersion})
			return nil
		})
	case 2:
		models = []archive.Record{{Namespace: at.Namespace, Model: at.Model, LatestVersion: n.LatestVersion}}
	case 3:
		return layout, addVersion(layout, at, n, "")
	}
	if err != nil {
		return nil, err
	}
	for _, model := range models {
		before := layout.Len()
		err := t.eachChild(ctx, recordPath(model), func(version Path, n node) (err error) {
			return addVersion(layout, version, n, model.LatestVersion)
		})
		if err == nil && layout.Len() == before {
			err = addRecord(layout, model)
		}
		if err != nil {
			return nil, err
		}
	}
	return layout, nil
}

// addVersion adds a version to a layout.
func addVersion(to *archive.Layout, at Path, n node, latest string) error {
	r := archive.Record{
		Namespace: at.Namespace, Model: at.Model, Version: at.Version,
		LatestVersion: latest, DefaultFormat: n.DefaultFormat,
	}
	if len(n.Metadata) > 0 {
		text, err := json.Marshal(n.Metadata)
		if err != nil {
			return err
		}
		r.Metadata = string(text)
	}
	for _, e := range n.Formats {
		r.Layers = append(r.Layers, archive.Layer{
			Format: e.Format, SHA256: e.SHA256, ContentType: e.ContentType, Size: e.Size, Blob: e.Blob,
		})
	}
	return addRecord(to, r)
}

func addRecord(to *archive.Layout, r archive.Record) error {
	err := to.Add(r)
	if errors.Is(err, archive.ErrManifest) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", recordPath(r), err)
	}
	return nil
}

func recordPath(r archive.Record) Path {
	return Path{Namespace: r.Namespace, Model: r.Model, Version: r.Version}
}
