package modelrepo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/modelrepo/internal/archive"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/modelrepo/oci"
	"github.com/iotenablers/enablers/storage"
)

// ImportOptions changes an import. The zero value is the default.
type ImportOptions struct {
	// Namespace is the namespace for all versions. Empty keeps the names of the layout.
	// With a name, a layout with several namespaces is refused.
	Namespace string
	// Overwrite permits replacing a version that has other content, metadata or another
	// default format, and the latestVersion of a model.
	Overwrite bool
	// Progress is called after every version. Nil is not called.
	Progress func(ArchiveProgress)
}

// Imported counts what an import did, up to the failure of one that failed.
type Imported struct {
	// Created, Identical and Overwritten count versions, and models without versions:
	// new ones, those that were there with the same content, and those that were
	// replaced.
	Created     int `json:"created"`
	Identical   int `json:"identical"`
	Overwritten int `json:"overwritten"`
	// Ignored counts manifests of artifacts of other types.
	Ignored int `json:"ignored"`
	// Bytes is how many bytes of content were stored.
	Bytes int64 `json:"bytes"`
}

// Import reads a tar archive of an OCI image layout, as [Store.Export] or a tool such
// as oras writes it, and creates the namespaces, models and versions in it that are
// missing.
//
// Each version becomes visible in one step, when all of its content is durable and has
// the digests of the layout. A version that is there with the same content is left
// alone, so that a failed import may be repeated. The latestVersion of an existing
// model stays unless Overwrite is set.
//
// Content streams into the store, and memory grows only with the number of versions. An
// archive whose index does not come first may store content for a while that is not
// needed. opts may be nil.
//
// The error matches [ErrContentExists] if a version is there with other content and
// Overwrite is not set, [ErrInvalid] for bytes that are not an image layout or break
// the rules for names, [ErrDigest] for bytes that do not have their digest,
// [ErrIncomplete] if something is missing or the reader failed, [ErrImmutable],
// [ErrTooLarge] or [ErrQuota].
func (s *Store) Import(ctx context.Context, from io.Reader, opts *ImportOptions) (Imported, error) {
	return newImporter(s, opts).run(ctx, func(v oci.Visitor) error { return oci.ReadTar(from, v) })
}

// ImportDir is [Store.Import] from a folder.
func (s *Store) ImportDir(ctx context.Context, dir string, opts *ImportOptions) (Imported, error) {
	return newImporter(s, opts).run(ctx, func(v oci.Visitor) error { return oci.ReadDir(dir, v) })
}

// importer stores one layout. It implements [archive.Target].
type importer struct {
	store    *Store
	contents *contents
	tree     *tree
	options  ImportOptions
	result   Imported
	total    func() int // artifacts of the layout
	source   string     // the namespace of the layout, if all goes into one
	buffer   []byte

	staged map[string]storage.BlobInfo // content that is durable, by digest
	kept   map[string]bool             // blobs that the repository may refer to
}

func newImporter(s *Store, opts *ImportOptions) *importer {
	i := &importer{
		store: s, contents: s.contents, tree: s.tree,
		buffer: make([]byte, 128<<10), staged: map[string]storage.BlobInfo{}, kept: map[string]bool{},
	}
	if opts != nil {
		i.options = *opts
	}
	return i
}

// run reads a layout and stores it.
func (i *importer) run(ctx context.Context, read func(oci.Visitor) error) (Imported, error) {
	at := Path{Namespace: i.options.Namespace}
	if at.Namespace != "" && !at.valid(1) {
		return Imported{}, refuse("import", at, ErrInvalid,
			"Invalid namespace name. Namespace names must match regex: %s", namespaceRule)
	}
	reader := archive.NewImporter(i)
	i.total = reader.Total
	err := reader.Import(ctx, read)
	i.discard(ctx)
	i.result.Ignored = reader.Ignored
	return i.result, importError(ctx, at, err)
}

// importError returns the error in the words of the interface.
func importError(ctx context.Context, at Path, err error) error {
	var known *Error
	var missing *archive.MissingError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return failed("import", at, ctx.Err())
	case errors.As(err, &missing) && missing.Needs == nil:
		return refuse("import", Path{}, ErrIncomplete,
			"The layout lacks the manifest %s, which its index names.", missing.Digest)
	case errors.As(err, &missing):
		needs := recordPath(*missing.Needs)
		return refuse("import", needs, ErrIncomplete,
			"The layout lacks the blob %s, which '%s' needs.", missing.Digest, needs)
	}
	for _, c := range []struct{ theirs, ours error }{
		{oci.ErrDigest, ErrDigest}, {oci.ErrInvalid, ErrInvalid}, {oci.ErrIncomplete, ErrIncomplete},
	} {
		if errors.Is(err, c.theirs) {
			text := strings.ToValidUTF8(err.Error(), "?")
			return &Error{
				Op: "import", Path: at.String(), Err: fmt.Errorf("%w: %w", c.ours, err),
				Text: "The image layout cannot be imported: " + text + ".",
			}
		}
	}
	return failed("import", at, err)
}

// Ensure implements [archive.Target].
func (i *importer) Ensure(ctx context.Context, namespace string) error {
	at := Path{Namespace: namespace}
	if !at.valid(1) {
		return nil
	}
	if i.options.Namespace != "" {
		at.Namespace = i.options.Namespace
	}
	return i.ensureNamespace(ctx, at)
}

// ensureNamespace creates a namespace if it is missing.
func (i *importer) ensureNamespace(ctx context.Context, at Path) error {
	if _, err := i.tree.find(ctx, at, 1); !errors.Is(err, errAbsent) {
		return err
	}
	if err := i.store.CreateNamespace(ctx, at.Namespace, NamespaceUpdate{}); !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}

// Accept implements [archive.Target]. A version that is there with the same content,
// or that must not be replaced, needs no content.
func (i *importer) Accept(ctx context.Context, r *archive.Record) (done bool, err error) {
	if err := checkRecord(*r); err != nil {
		return false, err
	}
	if err := i.rename(r); err != nil {
		return false, err
	}
	return i.present(ctx, *r)
}

// checkRecord refuses a record that breaks the rules.
func checkRecord(r archive.Record) error {
	const op = "import"
	at, depth := recordPath(r), 3
	if at.Version == "" {
		depth = 2
	}
	if !at.valid(depth) || at.Version == Latest {
		return refuse(op, at, ErrInvalid, "The layout names a model version that breaks the rules for names.")
	}
	if err := (ModelUpdate{LatestVersion: r.LatestVersion}).check(op, at, true); err != nil {
		return err
	}
	if err := (VersionUpdate{DefaultFormat: r.DefaultFormat}).check(op, at, true); err != nil {
		return err
	}
	if _, err := recordMetadata(r); err != nil {
		return refuse(op, at, ErrInvalid, "The layout has metadata that are no JSON object of strings.")
	}
	formats := map[string]bool{}
	for _, l := range r.Layers {
		switch {
		case !validFormat(l.Format) || depth < 3:
			return refuse(op, at, ErrInvalid, "The layout has a layer without a valid format tag.")
		case formats[l.Format]:
			return refuse(op, at, ErrInvalid, "The layout has the format '%s' twice.", l.Format)
		case !validContentType(l.ContentType):
			return refuse(op, at, ErrInvalid, "The layout has a content type that no header can carry.")
		}
		formats[l.Format] = true
	}
	return nil
}

// recordMetadata returns the metadata of a record; nil for none.
func recordMetadata(r archive.Record) (metadata Metadata, err error) {
	if r.Metadata != "" {
		err = json.Unmarshal([]byte(r.Metadata), &metadata)
	}
	return metadata, err
}

// rename puts the version into the namespace that everything goes into.
func (i *importer) rename(r *archive.Record) error {
	if i.options.Namespace == "" {
		return nil
	}
	if i.source != "" && i.source != r.Namespace {
		return refuse("import", recordPath(*r), ErrInvalid,
			"The layout has the namespaces '%s' and '%s', and cannot go into one.", i.source, r.Namespace)
	}
	i.source, r.Namespace = r.Namespace, i.options.Namespace
	return nil
}

// present reports whether the version is there with the same content, and refuses one
// that would be replaced without permission.
func (i *importer) present(ctx context.Context, r archive.Record) (bool, error) {
	at := recordPath(r)
	if at.depth() < 3 {
		return false, nil
	}
	n, _, err := i.tree.load(ctx, at)
	switch {
	case errors.Is(err, errAbsent):
		return false, nil
	case err != nil:
		return false, failed("import", at, err)
	case sameAs(r, n):
		whole, err := i.mend(ctx, n)
		if err != nil {
			return false, failed("import", at, err)
		}
		if !whole {
			return false, nil
		}
		i.result.Identical++
		i.report(at)
		return true, i.setLatest(ctx, r)
	case !i.options.Overwrite:
		return false, refuse("import", at, ErrContentExists, "Model version '%s' already exists with another content. "+
			"If you really want to overwrite it, retry the import with the 'overwrite=1' query parameter.", at)
	}
	return false, nil
}

// mend replaces content of a version that is known to be damaged by what was staged. It
// returns false if it has to be staged first.
func (i *importer) mend(ctx context.Context, n node) (whole bool, err error) {
	whole = true
	for _, e := range n.Formats {
		if !i.contents.checker.IsDamaged(ctx, e.Blob) {
			continue
		}
		staged, found := i.staged[archive.Layer{SHA256: e.SHA256}.Digest()]
		if whole = whole && found; found {
			if err := i.contents.checker.Ensure(ctx, e.content(), staged.Key); err != nil {
				return false, err
			}
		}
	}
	return whole, nil
}

// sameAs reports whether a version has the record's default format, metadata and
// content.
func sameAs(r archive.Record, n node) bool {
	metadata, _ := recordMetadata(r) // checked before
	same := maps.EqualFunc(n.Metadata, metadata, slices.Equal[Values])
	if !same || n.DefaultFormat != r.DefaultFormat || len(n.Formats) != len(r.Layers) {
		return false
	}
	return !slices.ContainsFunc(r.Layers, func(l archive.Layer) bool {
		i := n.entryAt(l.Format)
		return i < 0 || n.Formats[i].SHA256 != l.SHA256 || n.Formats[i].ContentType != l.ContentType
	})
}

// setLatest sets the latestVersion of an existing model to that of the record if the
// options allow it.
func (i *importer) setLatest(ctx context.Context, r archive.Record) error {
	if r.LatestVersion == "" || !i.options.Overwrite {
		return nil
	}
	model := Path{Namespace: r.Namespace, Model: r.Model}
	_, err := i.store.UpdateModel(ctx, model, ModelUpdate{LatestVersion: r.LatestVersion})
	return err
}

// Stage implements [archive.Target]. The key of the blob is one that nothing refers
// to: if the process ends, collection removes it.
func (i *importer) Stage(ctx context.Context, d oci.Descriptor, content io.Reader) error {
	if most := i.contents.maxBytes; most > 0 && d.Size > most {
		return refuse("import", Path{Namespace: i.options.Namespace}, ErrTooLarge,
			"The blob %s is too large: the most is %d bytes.", d.Digest, most)
	}
	writer, err := i.contents.blobs.Create(ctx, blobPrefix+newID())
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	if _, err := io.CopyBuffer(struct{ io.Writer }{writer}, content, i.buffer); err != nil {
		return fmt.Errorf("blob %s: %w", d.Digest, err)
	}
	info, err := writer.Commit(ctx)
	if err != nil {
		return err
	}
	i.staged[d.Digest] = info
	i.result.Bytes += info.Size
	return nil
}

// OpenStaged implements [archive.Target].
func (i *importer) OpenStaged(ctx context.Context, digest string) (io.ReadCloser, error) {
	reader, err := i.contents.blobs.Open(ctx, i.staged[digest].Key)
	if err != nil {
		return nil, hideAbsence(err)
	}
	return reader, nil
}

// discard deletes content that was staged and that nothing refers to.
func (i *importer) discard(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for _, info := range i.staged {
		if !i.kept[info.Key] && i.contents.blobs.Delete(ctx, info.Key) == nil {
			i.result.Bytes -= info.Size
		}
	}
}

// report calls the progress function after a version was handled.
func (i *importer) report(at Path) {
	if i.options.Progress == nil {
		return
	}
	i.options.Progress(ArchiveProgress{
		Version: at, Total: i.total(), Bytes: i.result.Bytes,
		Versions: i.result.Created + i.result.Identical + i.result.Overwritten,
	})
}
