package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// The blobs of an upload; see the package documentation.
const (
	filePrefix     = "file/"
	shownPrefix    = "shown/"
	entitiesPrefix = "entities/"
)

func blobPrefixes() []string { return []string{filePrefix, shownPrefix, entitiesPrefix} }

// files reads and writes the blobs of uploads. It is safe for concurrent use.
type files struct {
	blobs storage.Blobs
	log   *slog.Logger

	mu     sync.Mutex
	cached map[string]*content // by upload; of versions that are routed
}

// content is what the gateway serves of a version, secrets included: the blob
// "entities/<id>".
type content struct {
	Config     entity.Config          `json:"config"`
	Operations []definition.Operation `json:"operations"`
	// Declared reports whether the operations have what the file declares of security. What
	// earlier versions stored has not; see [files.operations].
	Declared bool `json:"declared,omitempty"`

	normal entity.Normal        // of Config
	index  *entity.RouteIndex   // of Config
	guard  *guard               // of Config
	ids    map[[2]string]string // of its routes, by method and path
}

// fillIn computes what is not stored.
func (c *content) fillIn() (err error) {
	c.index = entity.NewRouteIndex(c.Config)
	c.normal, err = entity.NewNormal(c.Config)
	if err != nil {
		return err
	}
	c.guard, c.ids = newGuard(c.normal.Shared()), map[[2]string]string{}
	for id, route := range c.guard.routes {
		for _, method := range route.Methods {
			for _, path := range route.Paths {
				c.ids[[2]string{method, path}] = id
			}
		}
	}
	return nil
}

// write writes the blobs of an upload, or none.
func (f *files) write(ctx context.Context, upload string, d *definition.Definition, uploaded []byte, served *content) error {
	shown, err := d.Redacted()
	if err != nil {
		return err
	}
	entities, err := json.Marshal(served)
	if err != nil {
		return err
	}
	for prefix, data := range map[string][]byte{filePrefix: uploaded, shownPrefix: shown, entitiesPrefix: entities} {
		if err := f.writeBlob(ctx, prefix+upload, data); err != nil {
			f.discard(context.WithoutCancel(ctx), []string{upload})
			return err
		}
	}
	return nil
}

func (f *files) writeBlob(ctx context.Context, key string, data []byte) error {
	w, err := f.blobs.Create(ctx, key)
	if err != nil {
		return fmt.Errorf("write blob %q: %w", key, err)
	}
	defer func() { _ = w.Abort() }()
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write blob %q: %w", key, err)
	}
	if _, err := w.Commit(ctx); err != nil {
		return fmt.Errorf("write blob %q: %w", key, err)
	}
	return nil
}

// discard deletes the blobs of uploads that no record refers to. What it leaves behind,
// Run deletes later.
func (f *files) discard(ctx context.Context, uploads []string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, upload := range uploads {
		for _, prefix := range blobPrefixes() {
			if err := f.blobs.Delete(ctx, prefix+upload); err != nil && !errors.Is(err, storage.ErrNotFound) {
				f.log.Warn("delete blob; it will be tried again", "key", prefix+upload, "error", err)
				return
			}
		}
	}
}

// uploads lists all uploads that have a blob.
func (f *files) uploads(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	for _, prefix := range blobPrefixes() {
		for info, err := range f.blobs.List(ctx, prefix) {
			if err != nil {
				return nil, fmt.Errorf("list blobs: %w", err)
			}
			found[strings.TrimPrefix(info.Key, prefix)] = true
		}
	}
	return found, nil
}

// content reads what the gateway serves of a version. The caller does not change it.
func (f *files) content(ctx context.Context, e edition) (*content, error) {
	f.mu.Lock()
	cached := f.cached[e.Upload]
	f.mu.Unlock()
	if cached != nil {
		return cached, nil
	}
	c, err := f.readContent(ctx, e.Upload)
	if err != nil {
		return nil, fmt.Errorf("read the entities of version %q: %w", e.Version, err)
	}
	if e.State.Routed() {
		f.mu.Lock()
		f.cached[e.Upload] = c
		f.mu.Unlock()
	}
	return c, nil
}

func (f *files) readContent(ctx context.Context, upload string) (*content, error) {
	reader, err := f.blobs.Open(ctx, entitiesPrefix+upload)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	c := &content{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	return c, c.fillIn()
}

// operations are those of a version. Of what earlier versions stored the file is read again,
// which reports what it declares of security.
func (f *files) operations(ctx context.Context, e edition) (*content, error) {
	c, err := f.content(ctx, e)
	if err != nil || c.Declared {
		return c, err
	}
	reader, err := f.blobs.Open(ctx, filePrefix+e.Upload)
	if err != nil {
		return nil, fmt.Errorf("read the definition of version %q: %w", e.Version, err)
	}
	defer func() { _ = reader.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(reader, e.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read the definition of version %q: %w", e.Version, err)
	}
	whole := *c
	d, err := definition.Load(ctx, data, definition.Limits{Bytes: len(data)})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // which it had not been for the version that stored it
		f.log.Warn("what a stored definition declares of security is not known", "version", e.Version, "error", err)
	default:
		whole.Operations = d.Operations()
	}
	whole.Declared = true
	if e.State.Routed() {
		f.mu.Lock()
		f.cached[e.Upload] = &whole
		f.mu.Unlock()
	}
	return &whole, nil
}

// keepRouted drops the cached contents of versions that are not routed in a snapshot.
func (f *files) keepRouted(s *snapshot) {
	routed := map[string]bool{}
	for _, r := range s.records {
		for _, e := range r.routed() {
			routed[e.Upload] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.cached, func(upload string, _ *content) bool { return !routed[upload] })
}
