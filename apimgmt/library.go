package apimgmt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// Query says which records of the library are wanted.
type Query struct {
	// Text has to occur in the name, a description, the title, a path or a tag,
	// without regard to case. Empty means all.
	Text string
	// State is that of one of the versions. Empty means any.
	State State
	// After is the name of the last record that is known already.
	After string
	// Limit is how many are wanted at most. Zero means 100.
	Limit int
}

// List returns records of the library in the order of their names, without their
// routes, and whether there are more. Definitions are not read: the answer shows
// no secrets.
func (p *Publisher) List(ctx context.Context, q Query) (list []Record, more bool, err error) {
	at, err := p.snapshot(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list the library: %w", err)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	text, list := strings.ToLower(strings.TrimSpace(q.Text)), []Record{}
	start, found := slices.BinarySearch(at.keys, keyOf(q.After))
	if found && q.After != "" {
		start++
	}
	for _, key := range at.keys[start:] {
		r := at.records[key]
		if q.State != "" && !slices.ContainsFunc(r.Versions, func(e edition) bool { return e.State == q.State }) || !r.matches(text) {
			continue
		}
		if len(list) == q.Limit {
			return list, true, nil
		}
		list = append(list, p.view(r))
	}
	return list, false, nil
}

// look reads something of a snapshot, and once more of a newer one if a blob is
// gone: somebody has replaced it in between.
func look[T any](ctx context.Context, p *Publisher, op, enabler string, read func(*snapshot) (T, error)) (made T, err error) {
	for {
		var at *snapshot
		if at, err = p.snapshot(ctx); err != nil {
			return made, fmt.Errorf("%s %q: %w", op, clip(enabler), err)
		}
		if made, err = read(at); !p.outdated(ctx, at.catalogue, err) {
			return made, err
		}
	}
}

// Get returns the record of an enabler.
func (p *Publisher) Get(ctx context.Context, enabler string) (Record, error) {
	const op = "read"
	return look(ctx, p, op, enabler, func(at *snapshot) (Record, error) {
		_, r, err := at.get(op, enabler)
		if err != nil {
			return Record{}, err
		}
		return p.full(ctx, r)
	})
}

// VersionRecord is one version of an enabler with its routes.
type VersionRecord struct {
	Enabler string `json:"enabler"`
	Version
	Routes []Route `json:"routes"`
}

// GetVersion returns one version of an enabler.
func (p *Publisher) GetVersion(ctx context.Context, enabler, version string) (VersionRecord, error) {
	const op = "read"
	return look(ctx, p, op, enabler, func(at *snapshot) (VersionRecord, error) {
		_, r, e, err := at.version(op, enabler, version)
		if err != nil {
			return VersionRecord{}, err
		}
		routes, err := p.routes(ctx, e)
		return VersionRecord{Enabler: r.Enabler, Version: e.view(), Routes: routes}, err
	})
}

// File is a definition without its secrets, in the format in which it was uploaded.
// Whoever got it closes it.
type File struct {
	storage.BlobReader
	// Version tells what it is the definition of. Its size and checksum are those of
	// what was uploaded; [storage.BlobReader].Info has those of this file.
	Version Version
}

// Definition opens the definition of a version; an empty one means the version that
// stands for the enabler.
func (p *Publisher) Definition(ctx context.Context, enabler, version string) (*File, error) {
	const op = "read the definition of"
	return look(ctx, p, op, enabler, func(at *snapshot) (*File, error) {
		_, r, err := at.get(op, enabler)
		if err != nil {
			return nil, err
		}
		e := r.current()
		if version != "" {
			e = r.find(version)
		}
		if e == nil {
			return nil, notFound(op, r.Enabler, fmt.Sprintf("there is no version %q", clip(version)))
		}
		reader, err := p.blobs.Open(ctx, shownPrefix+e.Upload)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", op, r.Enabler, err)
		}
		return &File{BlobReader: reader, Version: e.view()}, nil
	})
}
