package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/iotenablers/enablers/modelrepo/oci"
	"github.com/iotenablers/enablers/storage"
)

// ArchiveProgress says how far an export or an import is.
type ArchiveProgress struct {
	// Version is what was just dealt with: a version, or a model without any.
	Version Path
	// Versions have been dealt with, of Total.
	Versions, Total int
	// Bytes of content have been written.
	Bytes int64
}

// ExportOptions changes an export. The zero value is the default.
type ExportOptions struct {
	// Progress is called after every version. Nil is not called.
	Progress func(ArchiveProgress)
}

// Export writes a namespace, a model or a version as a tar archive of an OCI
// image layout, which tools such as oras and skopeo copy to any registry: one
// manifest for each version, with a layer for each format, under the name
// "namespace/model:version". Equal content makes equal archives.
//
// What is written is what was there at the beginning, also when it is
// overwritten or deleted meanwhile; content that was deleted and that
// [Store.Collect] has removed by the time it is due makes the export fail. When
// it fails, the archive lacks blobs that its index names. Memory grows with the
// number of versions, about 2 KB for each, and not with their content. opts may
// be nil. The error matches [ErrNotFound] if there is no such place.
func (s *Store) Export(ctx context.Context, at Path, to io.Writer, opts *ExportOptions) error {
	return s.export(ctx, at, opts, func(index oci.Index) (*oci.Writer, error) { return oci.NewTarWriter(to, index) })
}

// ExportDir is [Store.Export] into a folder. The index comes last there: a
// layout that was in the folder before stays until the new one is complete.
func (s *Store) ExportDir(ctx context.Context, at Path, dir string, opts *ExportOptions) error {
	return s.export(ctx, at, opts, func(index oci.Index) (*oci.Writer, error) { return oci.NewDirWriter(dir, index) })
}

// packed is a version that is going to be written.
type packed struct {
	record
	manifest []byte
	describe oci.Descriptor
}

func (s *Store) export(ctx context.Context, at Path, opts *ExportOptions, open func(oci.Index) (*oci.Writer, error)) error {
	const op = "export"
	if opts == nil {
		opts = &ExportOptions{}
	}
	all, err := s.packAll(ctx, op, at)
	if err != nil {
		return failed(op, at, err)
	}
	index := oci.Index{Annotations: map[string]string{annotationNamespace: at.Namespace}}
	for _, p := range all {
		index.Manifests = append(index.Manifests, p.describe)
	}
	writer, err := open(index)
	if err != nil {
		return failed(op, at, err)
	}
	progress := ArchiveProgress{Total: len(all)}
	// Manifests first: whoever reads the archive knows then what he needs.
	for _, p := range all {
		if err := writer.Bytes(p.describe, p.manifest); err != nil {
			return errors.Join(failed(op, p.at, err), writer.Abort())
		}
	}
	for _, p := range all {
		if err := s.write(ctx, writer, p, &progress.Bytes); err != nil {
			return errors.Join(failed(op, p.at, err), writer.Abort())
		}
		progress.Version = p.at
		progress.Versions++
		if opts.Progress != nil {
			opts.Progress(progress)
		}
	}
	if err := writer.Close(); err != nil {
		return failed(op, at, err)
	}
	return nil
}

// packAll makes the manifests of all that is at the path and below.
func (s *Store) packAll(ctx context.Context, op string, at Path) ([]packed, error) {
	n, err := s.find(ctx, at, max(at.depth(), 1))
	if errors.Is(err, errAbsent) {
		return nil, notFound(op, at)
	}
	if err != nil {
		return nil, err
	}
	var models []record
	switch at.depth() {
	case 1:
		err = s.eachChild(ctx, at, func(model Path, n node) error {
			models = append(models, record{at: model, latestVersion: n.LatestVersion})
			return nil
		})
	case 2:
		models = []record{{at: at, latestVersion: n.LatestVersion}}
	case 3:
		return appendPacked(nil, recordOf(at, n, ""))
	}
	if err != nil {
		return nil, err
	}
	var all []packed
	for _, model := range models {
		before := len(all)
		err := s.eachChild(ctx, model.at, func(version Path, n node) (err error) {
			all, err = appendPacked(all, recordOf(version, n, model.latestVersion))
			return err
		})
		if err == nil && len(all) == before {
			all, err = appendPacked(all, model)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eachChild calls do for every visible child.
func (s *Store) eachChild(ctx context.Context, at Path, do func(Path, node) error) error {
	for doc, err := range storage.All(ctx, s.docs, at.childPrefix()) {
		if err != nil {
			return err
		}
		n, err := decode[node](doc)
		if err != nil {
			return err
		}
		if !n.visible() {
			continue
		}
		if err := do(at.child(doc.Key[len(at.childPrefix()):]), n); err != nil {
			return err
		}
	}
	return nil
}

func recordOf(at Path, n node, latest string) record {
	r := record{at: at, latestVersion: latest, defaultFormat: n.DefaultFormat, metadata: n.Metadata, formats: slices.Clone(n.Formats)}
	r.sort()
	return r
}

func appendPacked(to []packed, r record) ([]packed, error) {
	describe, manifest, err := r.pack()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.at, err)
	}
	return append(to, packed{r, manifest, describe}), nil
}

// write writes the blobs that a manifest refers to.
func (s *Store) write(ctx context.Context, w *oci.Writer, p packed, bytes *int64) error {
	empty := oci.Empty()
	if err := w.Bytes(empty, empty.Data); err != nil {
		return err
	}
	for _, e := range p.formats {
		err := w.Blob(e.layer(), func() (io.ReadCloser, error) {
			reader, err := s.blobs.Open(ctx, e.Blob)
			if err != nil {
				return nil, fmt.Errorf("format %q: %w", e.Format, hide(err))
			}
			*bytes += e.Size
			return reader, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
