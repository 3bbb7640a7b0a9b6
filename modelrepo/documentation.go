package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/storage"
)

// The dialects of Markdown in which documentation is written.
const (
	// Markdown is CommonMark.
	Markdown = docpages.Markdown
	// GFM is CommonMark with the additions of GitHub: tables, task lists,
	// struck text and bare links.
	GFM = docpages.GFM
)

// pageSet names the pages of a version. It is a stored format.
type pageSet struct {
	ID        string    `json:"id" keep:"key"`
	Plugin    string    `json:"plugin"`
	Generated time.Time `json:"generated"`
}

// pageOwner returns the owner of the pages of a version with an identifier.
func pageOwner(at Path, id string) string { return at.String() + "/" + id }

// Page reads a page or another file of a version's documentation. Close it. It is for
// one goroutine at a time.
type Page struct {
	io.ReadSeekCloser
	// Name is the path of the page, such as "guide/start.html".
	Name string
	// ContentType is the media type of the page.
	ContentType string
	// ETag is the entity tag of the bytes without its quotation marks.
	ETag string
	// Modified is when the documentation was generated, in UTC.
	Modified time.Time
}

// GenerateDocumentation renders files into the documentation pages of a version, by the
// plugin [Markdown] or [GFM], and returns the handle of the pages. Rendering is
// synchronous, one set of pages at a time. The keys of files are their paths. A file
// that ends in .md or .markdown becomes a page that ends in .html, and relative links
// to such files are changed accordingly; HTML in it is left out. The first page is
// index.md, or else README.md, or else a list of the pages. Other files are stored as
// they are.
//
// The error matches [ErrInvalid] for an invalid plugin or file and for files that would
// take too long to render, [ErrTooLarge] for more than 50 files or 4 MiB, [ErrNotFound]
// if there is no such version, [ErrContentExists] if there is documentation and
// overwrite is not set, [ErrImmutable] or [ErrExpired].
func (s *Store) GenerateDocumentation(
	ctx context.Context, at Path, plugin string, files map[string][]byte, overwrite bool,
) (handle string, err error) {
	const op = "generate documentation"
	if err := refuseLatest(op, at); err != nil {
		return "", err
	}
	if !at.valid(3) {
		return "", missingVersion(op, at)
	}
	g := generation{store: s, op: op, at: at, overwrite: overwrite, made: pageSet{ID: newID(), Plugin: plugin}}
	err = g.run(ctx, files)
	switch {
	case errors.Is(err, errAbsent):
		return "", s.tree.unlessAlias(ctx, op, at, missingVersion(op, at))
	case err != nil:
		return "", failed(op, at, err)
	}
	return g.made.ID, nil
}

// generation is documentation that is being generated.
type generation struct {
	store     *Store
	op        string
	at        Path
	overwrite bool
	made      pageSet
	replaced  *pageSet
}

func (g *generation) run(ctx context.Context, files map[string][]byte) error {
	n, err := g.store.tree.find(ctx, g.at, 3)
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
	// The ticket protects the pages that are written under its identifier.
	_, err = g.store.tree.edit(ctx, g.at, func(n *node) error {
		if err := g.allowed(n); err != nil {
			return err
		}
		n.Uploads = append(n.Uploads, ticket{ID: g.made.ID, Renewed: time.Now().UTC()})
		return nil
	})
	if err != nil {
		return err
	}
	if err = g.store.pages.Write(ctx, pageOwner(g.at, g.made.ID), pages); err == nil {
		err = g.finish(ctx)
	}
	if err != nil {
		u := upload{contents: g.store.contents, at: g.at, ticket: ticket{ID: g.made.ID}}
		u.abandon(ctx, false) // Repair removes the pages
		return err
	}
	if g.replaced != nil {
		g.store.pages.Remove(ctx, pageOwner(g.at, g.replaced.ID))
	}
	return nil
}

func (g *generation) allowed(n *node) error {
	if n.Immutable {
		return n.refuseImmutable(g.op, g.at)
	}
	if n.Documentation != nil && !g.overwrite {
		return refuse(g.op, g.at, ErrContentExists, "Documentation already exists for this model version. "+
			"If you really want to overwrite it, retry with the 'overwrite=1' query parameter.")
	}
	return nil
}

// render waits for its turn, because rendering takes processor time and memory.
func (g *generation) render(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	select {
	case g.store.rendering <- struct{}{}:
		defer func() { <-g.store.rendering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b := docpages.Book{Dialect: g.made.Plugin, Version: g.at.String(), Files: files}
	pages, err := b.Render(ctx)
	var fault *docpages.Error
	switch {
	case errors.As(err, &fault) && fault.TooLarge:
		return nil, refuse(g.op, g.at, ErrTooLarge, "%s", fault.Text)
	case errors.As(err, &fault):
		return nil, refuse(g.op, g.at, ErrInvalid, "%s", fault.Text)
	}
	return pages, err
}

// finish replaces the ticket by the documentation.
func (g *generation) finish(ctx context.Context) error {
	_, err := g.store.tree.edit(ctx, g.at, func(n *node) error {
		i := n.ticketAt(g.made.ID)
		if i < 0 {
			return refuse(g.op, g.at, ErrExpired,
				"The documentation took too long and was given up. Please upload it again.")
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

// needsPages reports whether a version has the pages, or is about to get them.
func (t *tree) needsPages(ctx context.Context, owner string) (bool, error) {
	version, id := path.Split(owner)
	at, err := ParsePath(strings.TrimSuffix(version, "/"))
	if err != nil || at.depth() != 3 {
		return true, nil // not of a version
	}
	n, err := t.find(ctx, at, 3)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil && ((n.Documentation != nil && n.Documentation.ID == id) || n.ticketAt(id) >= 0), err
}

// OpenPage opens a page of a version's documentation by its path. An empty path, or one
// that ends in a slash, means the index.html there. The version's tag may be [Latest]
// or an alias. The context also holds for reading. The error matches [ErrNotFound].
func (s *Store) OpenPage(ctx context.Context, at Path, name string) (*Page, error) {
	const op = "open page"
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	missing := ""
	for {
		real, n, err := s.tree.readVersion(ctx, op, at)
		if err != nil {
			return nil, err
		}
		if n.Documentation == nil {
			return nil, refuse(op, real, ErrNotFound, "There is no documentation for model version '%s'.", real)
		}
		reader, err := s.pages.Open(ctx, pageOwner(real, n.Documentation.ID), name)
		switch {
		case errors.Is(err, storage.ErrNotFound) && missing != n.Documentation.ID:
			missing = n.Documentation.ID // replaced between the two steps, or no such page
		case errors.Is(err, storage.ErrNotFound):
			return nil, refuse(op, real, ErrNotFound,
				"There is no page '%.200s' in the documentation of model version '%s'.", name, real)
		case err != nil:
			return nil, failed(op, real, damagedPage(op, real, err))
		default:
			return &Page{
				ReadSeekCloser: &pageReader{reader, real}, Name: name, ContentType: docpages.PageType(name),
				ETag: reader.Info().SHA256, Modified: n.Documentation.Generated,
			}, nil
		}
	}
}

// pageReader gives the errors about damage the words of the interface.
type pageReader struct {
	storage.BlobReader
	at Path
}

// Read implements [io.Reader].
func (r *pageReader) Read(p []byte) (int, error) {
	n, err := r.BlobReader.Read(p)
	return n, damagedPage("read page", r.at, err)
}

// damagedPage returns the refusal of a damaged page, or another error as it is.
func damagedPage(op string, at Path, err error) error {
	if !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	return &Error{Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", ErrDamaged, err), Text: fmt.Sprintf(
		"The stored page of the documentation of model version '%s' is damaged. Please generate the documentation again.", at)}
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
		_, err = s.tree.edit(ctx, at, func(n *node) error {
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
		return s.tree.unlessAlias(ctx, op, at, notFound(op, at))
	case err != nil:
		return failed(op, at, err)
	}
	s.pages.Remove(ctx, pageOwner(at, id))
	return nil
}
