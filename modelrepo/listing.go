package modelrepo

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// The bounds of a page.
const (
	// DefaultPageSize is the number of items on a page when none is given.
	DefaultPageSize = 20
	// MaxPageSize is the most items that a page can have.
	MaxPageSize = 50
)

// Listing selects one page of a set. A nil *Listing selects the whole set, in the byte
// order of names; it is then in memory, unlike what [Store.EachNamespace], [Store.EachModel] and
// [Store.EachVersion] yield.
//
// A page by name without filters costs the same wherever it is. Other pages read the
// documents of all children, one after the other.
type Listing struct {
	// Page counts from 1; zero means 1. A page behind the last is empty.
	Page int
	// PageSize is 1 to MaxPageSize; zero means DefaultPageSize.
	PageSize int
	// SortBy is the field to sort by; empty means the name. The fields are
	//
	//	of namespaces  namespace, metadata.KEY
	//	of models      model, latestVersion, metadata.KEY
	//	of versions    version, defaultFormat, metadata.KEY
	//
	// with "name" for the first of each. Values are compared by their bytes,
	// of which the first 256 count, and metadata by the first value; what is
	// not set is less than everything, and names decide between equals.
	SortBy string
	// Descending reverses the order.
	Descending bool
	// Filters must all match. There are at most MaxFilters.
	Filters []Filter
}

// MaxFilters is the most filters of a [Listing].
const MaxFilters = 32

// Filter matches what has a value in a field; for metadata, among the values of the
// key.
type Filter struct {
	// Field is a field that a [Listing] can sort by.
	Field string
	// Value follows the rules for values of the field. Only a value of metadata can be
	// empty.
	Value string
}

// normal returns the listing with its defaults, or a refusal.
func (l Listing) normal(op string, at Path, children string) (Listing, error) {
	if l.Page == 0 {
		l.Page = 1
	}
	if l.PageSize == 0 {
		l.PageSize = DefaultPageSize
	}
	switch {
	case l.Page < 1:
		return l, refuse(op, at, ErrInvalid, "The 'page' parameter must be a positive integer.")
	case l.PageSize < 1 || l.PageSize > MaxPageSize:
		return l, refuse(op, at, ErrInvalid, "The 'page_size' parameter must be an integer from 1 to %d.", MaxPageSize)
	case len(l.Filters) > MaxFilters:
		return l, refuse(op, at, ErrInvalid, "Too many filters: %d, the most is %d.", len(l.Filters), MaxFilters)
	case l.SortBy == children || l.SortBy == "name":
		l.SortBy = ""
	case l.SortBy != "" && !sortable(children, l.SortBy):
		return l, refuse(op, at, ErrInvalid,
			"Invalid sorting key '%s' in the 'sort_by' parameter. A %s can be sorted by %s.",
			clipped(l.SortBy), children, fieldNames(children))
	}
	l.Filters = slices.Clone(l.Filters)
	for i := range l.Filters {
		f := &l.Filters[i]
		if f.Field != children && f.Field != "name" && !sortable(children, f.Field) {
			return l, refuse(op, at, ErrInvalid, "Invalid filtering key 'f.%s'. A %s can be filtered by %s.",
				clipped(f.Field), children, fieldNames(children))
		}
		if f.Field == children || f.Field == "name" {
			f.Field = ""
		}
		if !f.valid(children) {
			return l, refuse(op, at, ErrInvalid, "Invalid value of the filter 'f.%s'.", cmp.Or(f.Field, children))
		}
	}
	return l, nil
}

// bounds returns where the page begins and ends in a set of a size.
func (l Listing) bounds(total int) (from, to int) {
	if l.Page-1 > math.MaxInt/l.PageSize-1 { // the product would overflow
		return total, total
	}
	from = min((l.Page-1)*l.PageSize, total)
	return from, min(from+l.PageSize, total)
}

// Set is a set of namespaces, models or versions, or one page of it.
type Set[T any] struct {
	// Items are in the byte order of their names, or of the [Listing].
	Items []T `json:"items"`
	// TotalCount is the size of the whole set of what the filters match.
	TotalCount int64 `json:"totalCount"`
	// Page and PageSize are those of the [Listing]; zero for a whole set.
	Page     int `json:"page,omitempty"`
	PageSize int `json:"pageSize,omitempty"`
}

// children returns the visible children of a node that was just read. The function item
// converts each.
func children[T any](
	ctx context.Context, t *tree, at Path, parent node, listing *Listing, item func(Path, node) T,
) (*Set[T], error) {
	if listing != nil {
		if listing.SortBy != "" || len(listing.Filters) > 0 {
			return scannedPage(ctx, t, at, *listing, item)
		}
		return childPage(ctx, t, at, parent, *listing, item)
	}
	set := &Set[T]{Items: []T{}}
	for doc, err := range storage.All(ctx, t.docs, at.childPrefix()) {
		if err != nil {
			return nil, err
		}
		child, err := peekNode(doc)
		if err != nil {
			return nil, err
		}
		if child.visible() {
			set.Items = append(set.Items, item(at.child(doc.Key[len(at.childPrefix()):]), child))
		}
	}
	set.TotalCount = int64(len(set.Items))
	return set, nil
}

// childPage reads only the documents of the page, which it gets from the index of names.
func childPage[T any](
	ctx context.Context, t *tree, at Path, parent node, l Listing, item func(Path, node) T,
) (*Set[T], error) {
	set, err := childrenOfPage(ctx, t, at, parent, l, item)
	if err == nil && l.Descending {
		slices.Reverse(set.Items)
	}
	return set, err
}

// childrenOfPage is childPage in ascending order.
func childrenOfPage[T any](
	ctx context.Context, t *tree, at Path, parent node, l Listing, item func(Path, node) T,
) (*Set[T], error) {
	window, err := t.indexes.window(ctx, t, at, parent, l)
	if err != nil {
		return nil, err
	}
	set := &Set[T]{
		Items: make([]T, 0, len(window.names)), TotalCount: int64(window.total), Page: l.Page, PageSize: l.PageSize,
	}
	if len(window.names) == 0 {
		return set, nil
	}
	prefix, after := at.childPrefix(), ""
	if window.before != "" {
		after = prefix + window.before
	}
	last := prefix + window.names[len(window.names)-1]
	for {
		page, err := t.docs.List(ctx, prefix, after, len(window.names))
		if err != nil {
			return nil, err
		}
		for _, doc := range page {
			if doc.Key > last {
				return set, nil
			}
			child, err := peekNode(doc)
			if err != nil {
				return nil, err
			}
			if child.visible() {
				set.Items = append(set.Items, item(at.child(doc.Key[len(prefix):]), child))
			}
		}
		if len(page) < len(window.names) || page[len(page)-1].Key >= last || len(set.Items) >= l.PageSize {
			return set, nil
		}
		after = page[len(page)-1].Key
	}
}

// The bounds of what is read at a time for a sequence: about pageBytes of documents.
const (
	pageBytes = 256 << 10
	firstPage = 32
)

// EachNamespace yields the namespaces in the byte order of their names, as they are read, in
// memory that does not grow with their number. The first error ends it.
func (s *Store) EachNamespace(ctx context.Context) iter.Seq2[Namespace, error] {
	return each(ctx, s.tree, "list namespaces", Path{}, listedNamespace)
}

// EachModel returns a namespace without its models, and a sequence of these as
// [Store.EachNamespace] has it. The error matches [ErrNotFound].
func (s *Store) EachModel(ctx context.Context, name string) (Namespace, iter.Seq2[Model, error], error) {
	const op = "get namespace"
	at := Path{Namespace: name}
	n, err := s.tree.parentOfList(ctx, op, at, 1)
	if err != nil {
		return Namespace{}, nil, err
	}
	return listedNamespace(at, n), each(ctx, s.tree, op, at, listedModel), nil
}

// EachVersion returns a model without its versions, and a sequence of these as
// [Store.EachNamespace] has it. The error matches [ErrNotFound].
func (s *Store) EachVersion(ctx context.Context, at Path) (Model, iter.Seq2[Version, error], error) {
	const op = "get model"
	n, err := s.tree.parentOfList(ctx, op, at, 2)
	if err != nil {
		return Model{}, nil, err
	}
	return listedModel(at, n), each(ctx, s.tree, op, at, listedVersion), nil
}

// parentOfList returns the node whose children are listed.
func (t *tree) parentOfList(ctx context.Context, op string, at Path, depth int) (node, error) {
	n, err := t.find(ctx, at, depth)
	if errors.Is(err, errAbsent) {
		return n, notFound(op, at)
	}
	if err != nil {
		return n, failed(op, at, err)
	}
	return n, nil
}

// each yields the visible children of a node. It reads as many documents at a time as are
// about pageBytes: metadata can be large.
func each[T any](ctx context.Context, t *tree, op string, at Path, item func(Path, node) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		prefix, after, limit := at.childPrefix(), "", firstPage
		for {
			page, err := t.docs.List(ctx, prefix, after, limit)
			if err != nil {
				yield(none, failed(op, at, err))
				return
			}
			size := 1
			for _, doc := range page {
				size += len(doc.Data)
				child, err := peekNode(doc)
				if err != nil {
					yield(none, failed(op, at, err))
					return
				}
				if child.visible() && !yield(item(at.child(doc.Key[len(prefix):]), child), nil) {
					return
				}
			}
			if len(page) < limit {
				return
			}
			after = page[len(page)-1].Key
			limit = max(1, min(2*limit, storage.DefaultPage, len(page)*pageBytes/size))
		}
	}
}
