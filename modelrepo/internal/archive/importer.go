package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// Target is where an import stores a layout.
type Target interface {
	// Ensure creates the namespace of a layout without artifacts if it is missing.
	Ensure(ctx context.Context, namespace string) error
	// Accept checks a record before its content is read. It may change the names of
	// the record. It returns true if the version needs no content.
	Accept(ctx context.Context, r *Record) (done bool, err error)
	// Stage makes the content of a layer durable.
	Stage(ctx context.Context, d oci.Descriptor, content io.Reader) error
	// OpenStaged opens content that was staged.
	OpenStaged(ctx context.Context, digest string) (io.ReadCloser, error)
	// Complete makes the version of a record visible. All its layers are staged.
	Complete(ctx context.Context, r Record) error
}

// MissingError is returned for a layout that lacks a blob.
type MissingError struct {
	// Digest names the blob.
	Digest string
	// Needs is the record that needs it; nil for a manifest that the index names.
	Needs *Record
}

// Error names the blob.
func (e *MissingError) Error() string { return "archive: the layout lacks the blob " + e.Digest }

// Importer reads one layout and stores it in a [Target].
type Importer struct {
	// Ignored counts manifests of artifacts of other types.
	Ignored int

	target    Target
	indexed   bool
	manifests map[string]bool       // the digests of the manifests in the index; true when it was read
	waiting   map[string][]*arrival // by the digest of a layer that is missing
	staged    map[string]bool       // digests of staged content
	unread    int                   // manifests that are still missing
}

// arrival is a version whose manifest was read.
type arrival struct {
	record  Record
	missing int // layers
}

// NewImporter returns an importer of one layout.
func NewImporter(target Target) *Importer {
	return &Importer{
		target:    target,
		manifests: map[string]bool{}, waiting: map[string][]*arrival{}, staged: map[string]bool{},
	}
}

// Total returns how many artifacts the layout has.
func (i *Importer) Total() int { return len(i.manifests) }

// Import stores the layout that read visits. It returns a [*MissingError] if the layout
// lacks a blob.
func (i *Importer) Import(ctx context.Context, read func(oci.Visitor) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := read(visitor{ctx, i}); err != nil {
		return err
	}
	return i.missing()
}

// visitor passes what a layout holds to an importer.
type visitor struct {
	ctx context.Context
	to  *Importer
}

// Index implements [oci.Visitor].
func (v visitor) Index(index oci.Index) error { return v.to.index(v.ctx, index) }

// Blob implements [oci.Visitor].
func (v visitor) Blob(d oci.Descriptor, content io.Reader) error { return v.to.blob(v.ctx, d, content) }

func (i *Importer) index(ctx context.Context, index oci.Index) error {
	i.indexed = true
	for _, d := range index.Manifests {
		if d.MediaType != oci.MediaTypeManifest || d.ArtifactType != "" && d.ArtifactType != ArtifactType {
			i.Ignored++
			continue
		}
		i.manifests[d.Digest] = false
	}
	i.unread = len(i.manifests)
	if len(index.Manifests) == 0 {
		if err := i.target.Ensure(ctx, index.Annotations[annotationNamespace]); err != nil {
			return err
		}
	}
	for digest := range i.manifests { // of those that came before the index
		if !i.staged[digest] {
			continue
		}
		if err := i.stagedManifest(ctx, digest); err != nil {
			return err
		}
	}
	return nil
}

func (i *Importer) stagedManifest(ctx context.Context, digest string) error {
	reader, err := i.target.OpenStaged(ctx, digest)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	return i.manifest(ctx, digest, reader)
}

func (i *Importer) blob(ctx context.Context, d oci.Descriptor, content io.Reader) error {
	read, isManifest := i.manifests[d.Digest]
	switch {
	case isManifest && !read:
		return i.manifest(ctx, d.Digest, content)
	case isManifest || i.staged[d.Digest]:
		return nil
	case len(i.waiting[d.Digest]) == 0 && i.indexed && i.unread == 0:
		return nil // no version needs it
	}
	if err := i.target.Stage(ctx, d, content); err != nil {
		return err
	}
	i.staged[d.Digest] = true
	waiting := i.waiting[d.Digest]
	delete(i.waiting, d.Digest)
	for _, a := range waiting {
		a.missing--
		if err := i.complete(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// manifest reads a manifest, and completes its version if no layer is missing.
func (i *Importer) manifest(ctx context.Context, digest string, content io.Reader) error {
	data, err := oci.ReadSmall(content, oci.MaxManifest)
	if err != nil {
		return fmt.Errorf("manifest %s: %w", digest, err)
	}
	m, err := oci.ParseManifest(data)
	if err != nil {
		return fmt.Errorf("manifest %s: %w", digest, err)
	}
	i.manifests[digest] = true
	i.unread--
	if m.ArtifactType != ArtifactType {
		i.Ignored++
		return nil
	}
	a := &arrival{record: unpack(m)}
	if done, err := i.target.Accept(ctx, &a.record); done || err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, layer := range a.record.Layers {
		digest := layer.Digest()
		if !i.staged[digest] && !missing[digest] {
			missing[digest] = true
			i.waiting[digest] = append(i.waiting[digest], a)
		}
	}
	a.missing = len(missing)
	return i.complete(ctx, a)
}

// complete makes a version visible if no layer is missing.
func (i *Importer) complete(ctx context.Context, a *arrival) error {
	if a.missing > 0 {
		return nil
	}
	return i.target.Complete(ctx, a.record)
}

// missing returns a [*MissingError] if the layout lacks a blob.
func (i *Importer) missing() error {
	for digest, read := range i.manifests {
		if !read {
			return &MissingError{Digest: digest}
		}
	}
	for digest, waiting := range i.waiting {
		return &MissingError{Digest: digest, Needs: &waiting[0].record}
	}
	return nil
}
