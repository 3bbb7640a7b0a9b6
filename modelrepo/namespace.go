package modelrepo

import (
	"context"
	"errors"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// Namespace is a container of models.
type Namespace struct {
	// Name is unique in the repository.
	Name string `json:"name"`
	// Metadata describes the namespace.
	Metadata Metadata `json:"metadata,omitempty"`
	// Models are the models of the namespace. It is nil where the namespace is an item
	// of a set, and for a whole set that is empty.
	Models *Set[Model] `json:"models,omitempty"`
}

// NamespaceUpdate is what a namespace is created with or changed to.
type NamespaceUpdate struct {
	// Metadata are set, replaced or removed, each key by itself.
	Metadata Metadata `json:"metadata,omitempty"`
}

func listedNamespace(at Path, n node) Namespace {
	return Namespace{Name: at.Namespace, Metadata: n.Metadata}
}

const taken = "An entity with the same key already exists in the repository."

// Namespaces returns the namespaces of the repository, without their models.
func (s *Store) Namespaces(ctx context.Context, listing *Listing) (Set[Namespace], error) {
	const op = "list namespaces"
	listing, err := check(op, Path{}, listing, "namespace")
	if err != nil {
		return Set[Namespace]{}, err
	}
	root, _, err := s.tree.load(ctx, Path{})
	if err != nil && !errors.Is(err, errAbsent) {
		return Set[Namespace]{}, failed(op, Path{}, err)
	}
	set, err := children(ctx, s.tree, Path{}, root, listing, listedNamespace)
	if err != nil {
		return Set[Namespace]{}, failed(op, Path{}, err)
	}
	return *set, nil
}

// check returns the listing with its defaults, or nil for nil.
func check(op string, at Path, listing *Listing, children string) (*Listing, error) {
	if listing == nil {
		return nil, nil
	}
	normal, err := listing.normal(op, at, children)
	return &normal, err
}

// CreateNamespace adds an empty namespace. The error matches [ErrInvalid] or
// [ErrTooLarge] if the name or the metadata break the rules, and [ErrExists] if the
// name is taken.
func (s *Store) CreateNamespace(ctx context.Context, name string, with NamespaceUpdate) error {
	const op = "create namespace"
	at := Path{Namespace: name}
	if name == scrubName {
		return refuse(op, at, ErrInvalid, "Invalid namespace name. The name '%s' is reserved for the service itself, "+
			"which answers at /x/%s. Please choose another name.", name, name)
	}
	if !at.valid(1) {
		if slices.Contains(reservedNames(), name) {
			return refuse(op, at, ErrInvalid,
				"Invalid namespace name. The name '%s' is reserved for the service itself, which answers at /%s. Please choose another name.",
				name, name)
		}
		return refuse(op, at, ErrInvalid, "Invalid namespace name. Namespace names must match regex: %s", namespaceRule)
	}
	var n node
	if err := s.tree.describe(op, at, &n, with.Metadata); err != nil {
		return err
	}
	err := s.hooks.Record(ctx, func() error { return s.tree.add(ctx, op, at, n) }, newEvent(NamespaceCreate, at))
	if errors.Is(err, storage.ErrExists) {
		return refuse(op, at, ErrExists, taken)
	}
	if err != nil {
		return failed(op, at, err)
	}
	return nil
}

// Namespace returns a namespace with its models, all or one page; the models come
// without their versions. The error matches [ErrNotFound] if there is none.
func (s *Store) Namespace(ctx context.Context, name string, listing *Listing) (Namespace, error) {
	const op = "get namespace"
	at := Path{Namespace: name}
	listing, err := check(op, at, listing, "model")
	if err != nil {
		return Namespace{}, err
	}
	n, err := s.tree.find(ctx, at, 1)
	if errors.Is(err, errAbsent) {
		return Namespace{}, notFound(op, at)
	}
	if err != nil {
		return Namespace{}, failed(op, at, err)
	}
	models, err := children(ctx, s.tree, at, n, listing, listedModel)
	if err != nil {
		return Namespace{}, failed(op, at, err)
	}
	result := listedNamespace(at, n)
	result.Models = unlessEmpty(models)
	return result, nil
}

// UpdateNamespace changes a namespace and reports whether anything has changed. The
// error matches [ErrInvalid], [ErrTooLarge] or [ErrNotFound].
func (s *Store) UpdateNamespace(ctx context.Context, name string, to NamespaceUpdate) (changed bool, err error) {
	const op = "update namespace"
	at := Path{Namespace: name}
	if err := to.Metadata.check(op, at, false); err != nil {
		return false, err
	}
	return s.tree.update(ctx, op, at, 1,
		func(n *node) (bool, error) { return s.tree.setMetadata(op, at, n, to.Metadata) })
}

// unlessEmpty returns nil for a whole set without items.
func unlessEmpty[T any](set *Set[T]) *Set[T] {
	if set.TotalCount == 0 && set.Page == 0 {
		return nil
	}
	return set
}

// DeleteNamespace removes a namespace. The error matches [ErrNotFound] if there is none
// and [ErrNotEmpty] if it has models.
func (s *Store) DeleteNamespace(ctx context.Context, name string) error {
	return s.deleteContainer(ctx, Path{Namespace: name}, 1, "Please delete the models first.")
}

// deleteContainer removes a namespace or a model.
func (s *Store) deleteContainer(ctx context.Context, at Path, depth int, hint string) error {
	op := [...]string{1: "delete namespace", 2: "delete model"}[depth]
	err := errAbsent
	if at.valid(depth) {
		action := [...]Action{1: NamespaceDelete, 2: ModelDelete}[depth]
		err = s.hooks.Record(ctx, func() error {
			childless := func(ctx context.Context, _ *node) error { return s.tree.childless(ctx, at) }
			return s.tree.remove(ctx, at, childless, nil)
		}, newEvent(action, at))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errAbsent):
		return notFound(op, at)
	case errors.Is(err, ErrNotEmpty):
		return refuse(op, at, ErrNotEmpty, "%s '%s' is not empty. %s", at.title(), at, hint)
	}
	return failed(op, at, err)
}

func notFound(op string, at Path) error {
	return refuse(op, at, ErrNotFound, "%s '%s' not found.", at.title(), at)
}
