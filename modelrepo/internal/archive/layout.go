package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// Layout is an image layout that is going to be written. Create it with [NewLayout] and
// add its artifacts.
type Layout struct {
	// Index is the index of the layout.
	Index     oci.Index
	artifacts []artifact
}

// artifact is one version, or one model without versions.
type artifact struct {
	record     Record
	manifest   []byte
	descriptor oci.Descriptor
}

// NewLayout returns the layout of a namespace without artifacts.
func NewLayout(namespace string) *Layout {
	return &Layout{Index: oci.Index{Annotations: map[string]string{annotationNamespace: namespace}}}
}

// Add adds an artifact. The error matches [ErrManifest].
func (l *Layout) Add(r Record) error {
	r.sort()
	descriptor, manifest, err := r.pack()
	if err != nil {
		return err
	}
	l.artifacts = append(l.artifacts, artifact{r, manifest, descriptor})
	l.Index.Manifests = append(l.Index.Manifests, descriptor)
	return nil
}

// Len returns how many artifacts there are.
func (l *Layout) Len() int { return len(l.artifacts) }

// Progress is called after each artifact, with the bytes of content written so far.
type Progress func(r Record, bytes int64)

// Open opens the content of a layer.
type Open func(ctx context.Context, layer Layer) (io.ReadCloser, error)

// Write writes the manifests and then the content of the artifacts. Manifests come
// first, so that a reader of the archive knows what it needs. When it fails, it returns
// the record that it failed for.
func (l *Layout) Write(ctx context.Context, w *oci.Writer, open Open, done Progress) (Record, error) {
	for _, a := range l.artifacts {
		if err := w.Bytes(a.descriptor, a.manifest); err != nil {
			return a.record, err
		}
	}
	total := int64(0)
	for _, a := range l.artifacts {
		written, err := a.write(ctx, w, open)
		if err != nil {
			return a.record, err
		}
		total += written
		done(a.record, total)
	}
	return Record{}, nil
}

// write writes the blobs that the manifest refers to.
func (a artifact) write(ctx context.Context, w *oci.Writer, open Open) (written int64, err error) {
	empty := oci.Empty()
	if err := w.Bytes(empty, empty.Data); err != nil {
		return 0, err
	}
	for _, layer := range a.record.Layers {
		err := w.Blob(layer.descriptor(), func() (io.ReadCloser, error) {
			reader, err := open(ctx, layer)
			if err != nil {
				return nil, fmt.Errorf("format %q: %w", layer.Format, err)
			}
			written += layer.Size
			return reader, nil
		})
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
