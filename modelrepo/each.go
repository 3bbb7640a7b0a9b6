package modelrepo

import (
	"context"
	"errors"
	"iter"

	"github.com/iotenablers/enablers/storage"
)

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
