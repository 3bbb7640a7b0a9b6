package apimgmt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// Query selects records of the library.
type Query struct {
	// Text has to occur in the name, a description, the title, a path or a tag,
	// without regard to case. Empty means all.
	Text string
	// State is the state of one of the versions. Empty means any.
	State State
	// After is the name of the record after which the list begins.
	After string
	// Limit is the greatest number of records. Zero means 100.
	Limit int
}

// List returns records of the library in the order of their names, without their
// routes, and whether there are more. Definitions are not read: the answer shows
// no secrets.
func (p *Publisher) List(ctx context.Context, q Query) (list []Record, more bool, err error) {
	current, err := p.catalogue.snapshot(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list the library: %w", err)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	text, list := strings.ToLower(strings.TrimSpace(q.Text)), []Record{}
	start, found := slices.BinarySearch(current.keys, enablerKey(q.After))
	if found && q.After != "" {
		start++
	}
	for _, key := range current.keys[start:] {
		r := current.records[key]
		inState := func(e edition) bool { return e.State == q.State }
		if (q.State != "" && !slices.ContainsFunc(r.Versions, inState)) || !r.matches(text) {
			continue
		}
		if len(list) == q.Limit {
			return list, true, nil
		}
		list = append(list, p.view(r))
	}
	return list, false, nil
}

// readSnapshot reads something of a snapshot, and again of a newer one if a blob is
// missing because a change has replaced it in between.
func readSnapshot[T any](ctx context.Context, p *Publisher, op, enabler string, read func(*snapshot) (T, error)) (T, error) {
	for {
		current, err := p.catalogue.snapshot(ctx)
		if err != nil {
			var none T
			return none, fmt.Errorf("%s %q: %w", op, clip(enabler), err)
		}
		result, err := read(current)
		if !p.catalogue.readStale(ctx, current.head, err) {
			return result, err
		}
	}
}

// answer is the record after a change, as the catalogue has it now.
func (p *Publisher) answer(ctx context.Context, key string, made *change) (Record, error) {
	const op = "read"
	return readSnapshot(ctx, p, op, key, func(current *snapshot) (Record, error) {
		r, ok := current.records[key]
		if !ok {
			return Record{}, notFound(op, key, "the enabler has been deleted meanwhile")
		}
		answer, err := p.full(ctx, r)
		answer.Superseded, answer.Carried = made.superseded, made.carried()
		return answer, err
	})
}

// Get returns the record of an enabler.
func (p *Publisher) Get(ctx context.Context, enabler string) (Record, error) {
	const op = "read"
	return readSnapshot(ctx, p, op, enabler, func(current *snapshot) (Record, error) {
		_, r, err := current.get(op, enabler)
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
	// Warnings say where what the definition declares of security and what the gateway
	// enforces differ.
	Warnings []string `json:"warnings,omitempty"`
}

// GetVersion returns one version of an enabler.
func (p *Publisher) GetVersion(ctx context.Context, enabler, version string) (VersionRecord, error) {
	const op = "read"
	return readSnapshot(ctx, p, op, enabler, func(current *snapshot) (VersionRecord, error) {
		_, r, e, err := current.version(op, enabler, version)
		if err != nil {
			return VersionRecord{}, err
		}
		routes, err := p.routes(ctx, e)
		return VersionRecord{Enabler: r.Enabler, Version: e.view(), Routes: routes, Warnings: differences(routes, e.State)}, err
	})
}

// File is a definition without its secrets, in the format in which it was uploaded.
// The caller closes it.
type File struct {
	storage.BlobReader
	// Version is the version that it defines. Its size and checksum are those of the
	// uploaded file; [storage.BlobReader].Info has those of this file.
	Version Version
}

// Definition opens the definition of a version; an empty one means the version that
// stands for the enabler.
func (p *Publisher) Definition(ctx context.Context, enabler, version string) (*File, error) {
	const op = "read the definition of"
	return readSnapshot(ctx, p, op, enabler, func(current *snapshot) (*File, error) {
		_, r, err := current.get(op, enabler)
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
		reader, err := p.config.Blobs.Open(ctx, shownPrefix+e.Upload)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", op, r.Enabler, err)
		}
		return &File{BlobReader: reader, Version: e.view()}, nil
	})
}

// Inventory is the size of the library.
type Inventory struct {
	// Enablers is the number of records, Versions that of versions in each state.
	Enablers int
	Versions map[State]int
}

// Inventory counts the library. It reads one document unless the library has changed.
func (p *Publisher) Inventory(ctx context.Context) (Inventory, error) {
	current, err := p.catalogue.snapshot(ctx)
	if err != nil {
		return Inventory{}, fmt.Errorf("count the library: %w", err)
	}
	inventory := Inventory{Enablers: len(current.records), Versions: map[State]int{}}
	for _, r := range current.records {
		for i := range r.Versions {
			inventory.Versions[r.Versions[i].State]++
		}
	}
	return inventory, nil
}
