package modelrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// The ways to write documentation.
const (
	// Markdown is CommonMark.
	Markdown = "markdown"
	// GFM is CommonMark with the additions of GitHub: tables, task lists,
	// struck text and bare links.
	GFM = "gfm"
)

// documentation says which pages a version has. It is a stored format.
type documentation struct {
	ID        string    `json:"id"`
	Plugin    string    `json:"plugin"`
	Generated time.Time `json:"generated"`
}

// pagePrefix is what the keys of pages begin with: behind it are the version,
// the documentation's identifier and a digest of the page's path.
const pagePrefix = "page/"

func pageOwner(at Path, id string) string { return at.String() + "/" + id }

func pageKey(at Path, id, name string) string {
	sum := sha256.Sum256([]byte(name))
	return pagePrefix + pageOwner(at, id) + "/" + hex.EncodeToString(sum[:16])
}

// Page is a page or another file of a version's documentation that is being
// read. Close it. One goroutine at a time.
type Page struct {
	io.ReadSeekCloser
	// Name is its path, such as "guide/start.html".
	Name string
	// ContentType is its media type.
	ContentType string
	// ETag identifies its bytes, without quotation marks.
	ETag string
	// Modified is when it was made, in UTC.
	Modified time.Time
}

// GenerateDocumentation renders files into the documentation pages of a
// version, by the plugin [Markdown] or [GFM], and returns the handle that
// identifies the pages. The pages are there when it returns: they are rendered
// at once, one set at a time. The keys of files are their paths. What ends in
// .md or .markdown becomes a page that ends in .html, with relative links to
// such files changed in the same way; HTML in it is left out. index.md or else
// README.md is the first page; without one it is a list of the pages. Other
// files stay what they are.
//
// The error matches [ErrInvalid] for a bad plugin or file and for files that
// would take too long to render, [ErrTooLarge] for more than 50 files or 4 MiB,
// [ErrNotFound] if there is no such version, [ErrContentExists] if there is
// documentation and overwrite is not set, [ErrImmutable], [ErrExpired].
func (s *Store) GenerateDocumentation(ctx context.Context, at Path, plugin string, files map[string][]byte, overwrite bool) (handle string, err error) {
	const op = "generate documentation"
	if err := refuseLatest(op, at); err != nil {
		return "", err
	}
	if !at.valid(3) {
		return "", missingVersion(op, at)
	}
	g := generation{store: s, op: op, at: at, overwrite: overwrite, made: documentation{ID: newID(), Plugin: plugin}}
	err = g.run(ctx, files)
	switch {
	case errors.Is(err, errAbsent):
		return "", s.unlessAlias(ctx, op, at, missingVersion(op, at))
	case err != nil:
		return "", failed(op, at, err)
	}
	return g.made.ID, nil
}

// generation is documentation that is being made.
type generation struct {
	store     *Store
	op        string
	at        Path
	overwrite bool
	made      documentation
	replaced  *documentation
}

func (g *generation) run(ctx context.Context, files map[string][]byte) error {
	n, err := g.store.find(ctx, g.at, 3)
	if err == nil {
		err = g.allowed(&n)
	}
	if err != nil {
		return err
	}
	pages, err := g.render(ctx, files)
	if err != nil {
		return err
	}
	// With the ticket the version needs what is written under its identifier.
	_, err = g.store.edit(ctx, g.at, func(n *node) error {
		if err := g.allowed(n); err != nil {
			return err
		}
		n.Uploads = append(n.Uploads, ticket{ID: g.made.ID, Renewed: time.Now().UTC()})
		return nil
	})
	if err != nil {
		return err
	}
	if err = g.store.writePages(ctx, g.at, g.made.ID, pages); err == nil {
		err = g.finish(ctx)
	}
	if err != nil {
		u := upload{store: g.store, at: g.at, ticket: ticket{ID: g.made.ID}}
		u.abandon(ctx, false) // Repair takes the pages away
		return err
	}
	if g.replaced != nil {
		g.store.removePages(ctx, g.at, g.replaced.ID)
	}
	return nil
}

func (g *generation) allowed(n *node) error {
	if n.Immutable {
		return n.refuseImmutable(g.op, g.at)
	}
	if n.Documentation != nil && !g.overwrite {
		return refuse(g.op, g.at, ErrContentExists, "Documentation already exists for this model version. If you really want to overwrite it, retry with the 'overwrite=1' query parameter.")
	}
	return nil
}

// render takes its turn: rendering needs a processor, and memory.
func (g *generation) render(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	select {
	case g.store.rendering <- struct{}{}:
		defer func() { <-g.store.rendering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b := book{op: g.op, at: g.at, plugin: g.made.Plugin, files: files}
	return b.render(ctx)
}

// finish replaces the ticket by the documentation.
func (g *generation) finish(ctx context.Context) error {
	_, err := g.store.edit(ctx, g.at, func(n *node) error {
		i := n.ticketAt(g.made.ID)
		if i < 0 {
			return refuse(g.op, g.at, ErrExpired, "The documentation took too long and was given up. Please upload it again.")
		}
		if err := g.allowed(n); err != nil {
			return err
		}
		n.Uploads = slices.Delete(n.Uploads, i, i+1)
		g.made.Generated = time.Now().UTC()
		g.replaced, n.Documentation = n.Documentation, &g.made
		return nil
	})
	return err
}

func (s *Store) writePages(ctx context.Context, at Path, id string, pages map[string][]byte) error {
	for name, data := range pages {
		if err := s.writePage(ctx, pageKey(at, id, name), data); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) writePage(ctx context.Context, key string, data []byte) error {
	writer, err := s.blobs.Create(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	if _, err := writer.Write(data); err != nil {
		return err
	}
	_, err = writer.Commit(ctx)
	return err
}

// removePages deletes pages that no version refers to. What fails here is done
// by Repair.
func (s *Store) removePages(ctx context.Context, at Path, id string) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	for info, err := range s.blobs.List(ctx, pagePrefix+pageOwner(at, id)+"/") {
		if err != nil || s.blobs.Delete(ctx, info.Key) != nil {
			return
		}
	}
}

// needsPages reports whether a version has documentation, or is getting it.
func (s *Store) needsPages(ctx context.Context, owner string) (bool, error) {
	version, id := path.Split(owner)
	at, err := ParsePath(strings.TrimSuffix(version, "/"))
	if err != nil || at.depth() != 3 {
		return true, nil // not ours
	}
	n, err := s.find(ctx, at, 3)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil && (n.Documentation != nil && n.Documentation.ID == id || n.ticketAt(id) >= 0), err
}

// OpenPage opens a page of a version's documentation by its path; an empty one,
// or one that ends in a slash, means the index.html there. The version's tag
// may be [Latest]. The context holds for reading too. The error matches
// [ErrNotFound].
func (s *Store) OpenPage(ctx context.Context, at Path, name string) (*Page, error) {
	const op = "open page"
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	missing := ""
	for {
		real, n, err := s.readVersion(ctx, op, at)
		if err != nil {
			return nil, err
		}
		if n.Documentation == nil {
			return nil, refuse(op, real, ErrNotFound, "There is no documentation for model version '%s'.", real)
		}
		reader, err := s.blobs.Open(ctx, pageKey(real, n.Documentation.ID, name))
		switch {
		case errors.Is(err, storage.ErrNotFound) && missing != n.Documentation.ID:
			missing = n.Documentation.ID // replaced between the two steps, or no such page
		case errors.Is(err, storage.ErrNotFound):
			return nil, refuse(op, real, ErrNotFound, "There is no page '%.200s' in the documentation of model version '%s'.", name, real)
		case err != nil:
			return nil, failed(op, real, err)
		default:
			return &Page{ReadSeekCloser: reader, Name: name, ContentType: pageType(name), ETag: reader.Info().SHA256, Modified: n.Documentation.Generated}, nil
		}
	}
}

// DeleteDocumentation removes the documentation pages of a version. The error
// matches [ErrInvalid] for the tag [Latest], [ErrNotFound], [ErrImmutable].
func (s *Store) DeleteDocumentation(ctx context.Context, at Path) error {
	const op = "delete documentation"
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	err, id := errAbsent, ""
	if at.valid(3) {
		_, err = s.edit(ctx, at, func(n *node) error {
			if n.Immutable {
				return n.refuseImmutable(op, at)
			}
			if n.Documentation == nil {
				return refuse(op, at, ErrNotFound, "There is no documentation for model version '%s'.", at)
			}
			id, n.Documentation = n.Documentation.ID, nil
			return nil
		})
	}
	switch {
	case errors.Is(err, errAbsent):
		return s.unlessAlias(ctx, op, at, notFound(op, at))
	case err != nil:
		return failed(op, at, err)
	}
	s.removePages(ctx, at, id)
	return nil
}
