package modelrepo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/storage"
)

const (
	// maxScans is how many scans run at one time. Others wait.
	maxScans = 4
	// maxSortedBytes is how many bytes of a value are used for sorting. A scan needs at
	// most about 400 bytes for each child up to the end of the page, and twice that
	// while it runs.
	maxSortedBytes = 256
	// metadataPrefix is the prefix of fields that are keys of metadata.
	metadataPrefix = "metadata."
)

// sortable reports whether a child of the kind has the field, apart from its name.
func sortable(child, field string) bool {
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		return metadataKeys.MatchString(key)
	}
	return child == "model" && field == "latestVersion" || child == "version" && field == "defaultFormat"
}

// fieldNames returns the fields of a kind of child as text.
func fieldNames(child string) string {
	return map[string]string{
		"namespace": "namespace or metadata.KEY",
		"model":     "model, latestVersion or metadata.KEY",
		"version":   "version, defaultFormat or metadata.KEY",
	}[child]
}

// valid reports whether the field, empty for the name, can have the value.
func (f Filter) valid(child string) bool {
	switch f.Field {
	case "":
		switch child {
		case "namespace":
			return namespaceNames.MatchString(f.Value)
		case "model":
			return modelNames.MatchString(f.Value)
		}
		return versionTags.MatchString(f.Value)
	case "latestVersion":
		return versionTags.MatchString(f.Value)
	case "defaultFormat":
		return formatTags.MatchString(f.Value)
	}
	return utf8.ValidString(f.Value) && utf8.RuneCountInString(f.Value) <= MaxMetadataValue
}

// values returns the values of a field other than the name.
func (n *node) values(field string) Values {
	switch field {
	case "latestVersion":
		return Values{n.LatestVersion}
	case "defaultFormat":
		return Values{n.DefaultFormat}
	}
	return n.Metadata[strings.TrimPrefix(field, metadataPrefix)]
}

// candidate is a child that may be on the page.
type candidate struct{ value, name string }

// scan searches the children for those of one page.
type scan struct {
	listing Listing
	needles [][]byte // texts in each document that the filters match
	only    []string // the names that the filters match; empty for any
	total   int
	// kept are the first candidates in the order of the page, up to the end of the
	// page, and at most twice as many while the scan runs.
	kept []candidate
	keep int
}

func newScan(l Listing) *scan {
	c := &scan{listing: l}
	for _, f := range l.Filters {
		if f.Field == "" {
			c.only = append(c.only, f.Value)
			continue
		}
		needle, _ := json.Marshal(f.Value) // as in the stored form
		c.needles = append(c.needles, needle)
	}
	_, c.keep = l.bounds(math.MaxInt / 4)
	return c
}

// holds reports whether all filters match.
func (c *scan) holds(name string, n *node) bool {
	for _, f := range c.listing.Filters {
		if f.Field == "" && f.Value != name || f.Field != "" && !slices.Contains(n.values(f.Field), f.Value) {
			return false
		}
	}
	return true
}

// look adds the child of a document to the candidates if all filters match.
func (c *scan) look(name string, doc storage.Document) error {
	for _, needle := range c.needles {
		if !bytes.Contains(doc.Data, needle) {
			return nil
		}
	}
	n, err := peekNode(doc)
	if err != nil || !n.visible() || !c.holds(name, &n) {
		return err
	}
	c.total++
	found := candidate{name: name}
	if c.listing.SortBy != "" {
		if values := n.values(c.listing.SortBy); len(values) > 0 {
			found.value = strings.Clone(values[0][:min(len(values[0]), maxSortedBytes)])
		}
	}
	if c.kept = append(c.kept, found); len(c.kept) >= 2*max(c.keep, 1000) {
		c.cut()
	}
	return nil
}

// cut sorts the candidates and removes those behind the page.
func (c *scan) cut() {
	slices.SortFunc(c.kept, func(a, b candidate) int {
		order := cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.name, b.name))
		if c.listing.Descending {
			return -order
		}
		return order
	})
	c.kept = c.kept[:min(len(c.kept), c.keep)]
}

// scannedPage reads all children, selects those of the page, and reads these again. A
// child that changed between the two, so that a filter no longer matches, is left out.
func scannedPage[T any](ctx context.Context, t *tree, at Path, l Listing, item func(Path, node) T) (*Set[T], error) {
	select {
	case t.scans <- struct{}{}:
		defer func() { <-t.scans }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := newScan(l)
	if err := t.scan(ctx, at, c); err != nil {
		return nil, err
	}
	c.cut()
	set := &Set[T]{Items: []T{}, TotalCount: int64(c.total), Page: l.Page, PageSize: l.PageSize}
	from, to := l.bounds(len(c.kept))
	for _, found := range c.kept[from:to] {
		child := at.child(found.name)
		n, _, err := t.load(ctx, child)
		switch {
		case errors.Is(err, errAbsent):
		case err != nil:
			return nil, err
		case c.holds(found.name, &n):
			set.Items = append(set.Items, item(child, n))
		}
	}
	return set, nil
}

// scan reads the children: one if the filters name it, otherwise all.
func (t *tree) scan(ctx context.Context, at Path, c *scan) error {
	if len(c.only) > 0 {
		doc, err := t.docs.Get(ctx, at.child(c.only[0]).key())
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.look(c.only[0], doc)
	}
	prefix := at.childPrefix()
	for doc, err := range storage.All(ctx, t.docs, prefix) {
		if err == nil {
			err = c.look(strings.Clone(doc.Key[len(prefix):]), doc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
