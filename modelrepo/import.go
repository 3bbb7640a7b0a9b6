package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/oci"
	"github.com/iotenablers/enablers/storage"
)

// ImportOptions changes an import. The zero value is the default.
type ImportOptions struct {
	// Namespace is where everything goes. Empty keeps the names of the layout.
	// With a name, a layout that holds more than one namespace is refused.
	Namespace string
	// Overwrite allows to replace a version that is there with another content,
	// a default format that differs, and the latestVersion of a model.
	Overwrite bool
	// Progress is called after every version. Nil is not called.
	Progress func(ArchiveProgress)
}

// Imported counts what an import did. It counts up to the failure of one that
// failed.
type Imported struct {
	// Created, Identical and Overwritten count versions, and models without
	// any: new ones, those that were there already, and those replaced.
	Created     int `json:"created"`
	Identical   int `json:"identical"`
	Overwritten int `json:"overwritten"`
	// Ignored counts manifests of artifacts that are not ours.
	Ignored int `json:"ignored"`
	// Bytes of content were stored.
	Bytes int64 `json:"bytes"`
}

// Import reads a tar archive of an OCI image layout, as [Store.Export] or a
// tool such as oras has written it, and creates the namespaces, models and
// versions in it that are missing.
//
// Each version appears whole, in one step, when all of its content is durable
// and has the digests that the layout says. One that is there with the same
// content is left alone, so that an import that failed may be repeated. A
// latestVersion that a model has stays, unless Overwrite is set.
//
// Content streams into the store, and memory grows with the number of versions
// only. From an archive in which the index does not come first, content that
// is not needed may be stored for a while. opts may be nil.
//
// The error matches [ErrContentExists] if a version is there with another
// content and Overwrite is not set, [ErrInvalid] for what is no image layout or
// breaks the rules for names, [ErrDigest] for bytes that are not what the
// layout says, [ErrIncomplete] if something is missing or the reader failed,
// [ErrImmutable], [ErrTooLarge], [ErrQuota].
func (s *Store) Import(ctx context.Context, from io.Reader, opts *ImportOptions) (Imported, error) {
	return s.importFrom(ctx, opts, func(v oci.Visitor) error { return oci.ReadTar(from, v) })
}

// ImportDir is [Store.Import] from a folder.
func (s *Store) ImportDir(ctx context.Context, dir string, opts *ImportOptions) (Imported, error) {
	return s.importFrom(ctx, opts, func(v oci.Visitor) error { return oci.ReadDir(dir, v) })
}

func (s *Store) importFrom(ctx context.Context, opts *ImportOptions, read func(oci.Visitor) error) (Imported, error) {
	i := &importer{ctx: ctx, store: s, buffer: make([]byte, 128<<10),
		staged: map[string]storage.BlobInfo{}, kept: map[string]bool{}, waiting: map[string][]*arrival{}, manifests: map[string]bool{}}
	if opts != nil {
		i.options = *opts
	}
	at := Path{Namespace: i.options.Namespace}
	err := i.prepare()
	if err == nil {
		err = read(i)
	}
	if err == nil {
		err = i.complete()
	}
	i.discard()
	return i.result, i.refusal(at, err)
}

// importer is one import under way. It is what reads the layout.
type importer struct {
	ctx     context.Context
	store   *Store
	options ImportOptions
	result  Imported
	source  string // the namespace of the layout, if all goes into one
	buffer  []byte

	indexed   bool
	manifests map[string]bool       // the digests of those in the index; true when it was read
	waiting   map[string][]*arrival // by the digest of a layer that is missing
	unread    int                   // manifests that are still to come

	staged map[string]storage.BlobInfo // content that is in the store, by digest
	kept   map[string]bool             // blobs that the store may refer to
}

// arrival is a version whose manifest is there.
type arrival struct {
	record
	missing int // layers
}

// prepare refuses a bad name before anything is read.
func (i *importer) prepare() error {
	at := Path{Namespace: i.options.Namespace}
	if at.Namespace != "" && !at.valid(1) {
		return refuse("import", at, ErrInvalid, "Invalid namespace name. Namespace names must match regex: %s", namespaceRule)
	}
	return i.ctx.Err()
}

// Index implements [oci.Visitor].
func (i *importer) Index(index oci.Index) error {
	i.indexed = true
	for _, d := range index.Manifests {
		if d.MediaType != oci.MediaTypeManifest || d.ArtifactType != "" && d.ArtifactType != ArtifactType {
			i.result.Ignored++
			continue
		}
		i.manifests[d.Digest] = false
	}
	i.unread = len(i.manifests)
	if at := (Path{Namespace: index.Annotations[annotationNamespace]}); len(index.Manifests) == 0 && at.valid(1) {
		if i.options.Namespace != "" {
			at.Namespace = i.options.Namespace
		}
		if err := i.store.ensure(i.ctx, at); err != nil {
			return err
		}
	}
	for digest := range i.manifests { // of those that came before the index
		info, found := i.staged[digest]
		if !found {
			continue
		}
		if err := i.stagedManifest(digest, info); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) stagedManifest(digest string, info storage.BlobInfo) error {
	reader, err := i.store.blobs.Open(i.ctx, info.Key)
	if err != nil {
		return hide(err)
	}
	defer func() { _ = reader.Close() }() // it was only read
	return i.manifest(digest, reader)
}

// Blob implements [oci.Visitor].
func (i *importer) Blob(d oci.Descriptor, content io.Reader) error {
	read, isManifest := i.manifests[d.Digest]
	_, staged := i.staged[d.Digest]
	switch {
	case isManifest && !read:
		return i.manifest(d.Digest, content)
	case isManifest || staged:
		return nil
	case len(i.waiting[d.Digest]) == 0 && i.indexed && i.unread == 0:
		return nil // nobody needs it
	}
	return i.stage(d, content)
}

// manifest reads a manifest, and brings in its version if nothing is missing.
func (i *importer) manifest(digest string, content io.Reader) error {
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
		i.result.Ignored++
		return nil
	}
	r, err := unpack(m)
	if err != nil {
		return err
	}
	if err := i.rename(&r); err != nil {
		return err
	}
	// What is there or may not be replaced needs no content.
	if done, err := i.present(r); done || err != nil {
		return err
	}
	a := &arrival{record: r}
	digests := map[string]bool{}
	for _, e := range r.formats {
		digest := "sha256:" + e.SHA256
		if _, staged := i.staged[digest]; !staged && !digests[digest] {
			digests[digest] = true
			i.waiting[digest] = append(i.waiting[digest], a)
		}
	}
	a.missing = len(digests)
	return i.bring(a)
}

// rename puts the version into the namespace that everything goes into.
func (i *importer) rename(r *record) error {
	if i.options.Namespace == "" {
		return nil
	}
	if i.source != "" && i.source != r.at.Namespace {
		return refuse("import", r.at, ErrInvalid, "The layout has the namespaces '%s' and '%s', and cannot go into one.", i.source, r.at.Namespace)
	}
	i.source, r.at.Namespace = r.at.Namespace, i.options.Namespace
	return nil
}

// stage makes content durable under a key that nothing refers to. If the
// process ends, collection finds it.
func (i *importer) stage(d oci.Descriptor, content io.Reader) error {
	if most := i.store.config.Limits.ContentBytes; most > 0 && d.Size > most {
		return refuse("import", Path{Namespace: i.options.Namespace}, ErrTooLarge, "The blob %s is too large: the most is %d bytes.", d.Digest, most)
	}
	writer, err := i.store.blobs.Create(i.ctx, blobPrefix+newID())
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	if _, err := io.CopyBuffer(struct{ io.Writer }{writer}, content, i.buffer); err != nil {
		return fmt.Errorf("blob %s: %w", d.Digest, err)
	}
	info, err := writer.Commit(i.ctx)
	if err != nil {
		return err
	}
	i.staged[d.Digest] = info
	i.result.Bytes += info.Size
	waiting := i.waiting[d.Digest]
	delete(i.waiting, d.Digest)
	for _, a := range waiting {
		a.missing--
		if err := i.bring(a); err != nil {
			return err
		}
	}
	return nil
}

// complete refuses a layout that lacks something.
func (i *importer) complete() error {
	for digest, read := range i.manifests {
		if !read {
			return refuse("import", Path{}, ErrIncomplete, "The layout lacks the manifest %s, which its index names.", digest)
		}
	}
	for digest, waiting := range i.waiting {
		return refuse("import", waiting[0].at, ErrIncomplete, "The layout lacks the blob %s, which '%s' needs.", digest, waiting[0].at)
	}
	return nil
}

// discard deletes what was stored and is not needed.
func (i *importer) discard() {
	ctx, cancel := lastly(i.ctx)
	defer cancel()
	for _, info := range i.staged {
		if !i.kept[info.Key] && i.store.blobs.Delete(ctx, info.Key) == nil {
			i.result.Bytes -= info.Size
		}
	}
}

// refusal gives an error the words of the interface.
func (i *importer) refusal(at Path, err error) error {
	var known *Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case i.ctx.Err() != nil:
		return failed("import", at, i.ctx.Err())
	}
	for _, c := range []struct{ theirs, ours error }{
		{oci.ErrDigest, ErrDigest}, {oci.ErrInvalid, ErrInvalid}, {oci.ErrIncomplete, ErrIncomplete},
	} {
		if errors.Is(err, c.theirs) {
			text := strings.ToValidUTF8(err.Error(), "?")
			return &Error{Op: "import", Path: at.String(), Err: fmt.Errorf("%w: %w", c.ours, err), Text: "The image layout cannot be imported: " + text + "."}
		}
	}
	return failed("import", at, err)
}

// tell reports a version that was dealt with.
func (i *importer) tell(at Path) {
	if i.options.Progress == nil {
		return
	}
	i.options.Progress(ArchiveProgress{
		Version: at, Total: len(i.manifests), Bytes: i.result.Bytes,
		Versions: i.result.Created + i.result.Identical + i.result.Overwritten,
	})
}

// present reports whether the version is there with the same content, and
// refuses to replace one that is not to be replaced.
func (i *importer) present(r record) (bool, error) {
	if r.at.depth() < 3 {
		return false, nil
	}
	n, _, err := i.store.load(i.ctx, r.at)
	switch {
	case errors.Is(err, errAbsent):
		return false, nil
	case err != nil:
		return false, failed("import", r.at, err)
	case r.equal(n):
		i.result.Identical++
		i.tell(r.at)
		return true, i.point(r)
	case !i.options.Overwrite:
		return false, differs(r.at)
	}
	return false, nil
}

func differs(at Path) error {
	return refuse("import", at, ErrContentExists, "Model version '%s' already exists with another content. If you really want to overwrite it, retry the import with the 'overwrite=1' query parameter.", at)
}

// point gives an existing model the record's latestVersion where that is due.
func (i *importer) point(r record) error {
	if r.latestVersion == "" || !i.options.Overwrite {
		return nil
	}
	_, err := i.store.UpdateModel(i.ctx, Path{Namespace: r.at.Namespace, Model: r.at.Model}, ModelUpdate{LatestVersion: r.latestVersion})
	return err
}

// tickets are what protects the content of a version that is coming.
func (i *importer) tickets(r record) []ticket {
	tickets := make([]ticket, 0, len(r.formats))
	for _, e := range r.formats {
		info := i.staged["sha256:"+e.SHA256]
		tickets = append(tickets, ticket{ID: newID(), Blob: info.Key, SHA256: info.SHA256, Renewed: time.Now().UTC()})
	}
	return tickets
}
