package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Namespaces is [modelrepo.Store.Namespaces].
func (c *Client) Namespaces(
	ctx context.Context, listing *modelrepo.Listing,
) (modelrepo.Set[modelrepo.Namespace], error) {
	var root wire.Root
	err := c.read(ctx, call{op: "list namespaces", method: http.MethodGet, query: listingQuery(listing)}, &root)
	return root.Namespaces, err
}

// CreateNamespace is [modelrepo.Store.CreateNamespace].
func (c *Client) CreateNamespace(ctx context.Context, name string, with modelrepo.NamespaceUpdate) error {
	_, err := c.write(ctx, "create namespace", modelrepo.Path{Namespace: name}, http.MethodPost, with)
	return err
}

// UpdateNamespace is [modelrepo.Store.UpdateNamespace].
func (c *Client) UpdateNamespace(
	ctx context.Context, name string, to modelrepo.NamespaceUpdate,
) (changed bool, err error) {
	return c.update(ctx, "update namespace", modelrepo.Path{Namespace: name}, to, func() (any, error) {
		record, err := c.Namespace(ctx, name, &modelrepo.Listing{PageSize: 1})
		return record.Metadata, err
	})
}

// Namespace is [modelrepo.Store.Namespace].
func (c *Client) Namespace(ctx context.Context, name string, listing *modelrepo.Listing) (modelrepo.Namespace, error) {
	var namespace modelrepo.Namespace
	err := c.read(ctx, call{op: "get namespace", at: modelrepo.Path{Namespace: name}, method: http.MethodGet,
		query: listingQuery(listing)}, &namespace)
	return namespace, err
}

// DeleteNamespace is [modelrepo.Store.DeleteNamespace].
func (c *Client) DeleteNamespace(ctx context.Context, name string) error {
	_, err := c.write(ctx, "delete namespace", modelrepo.Path{Namespace: name}, http.MethodDelete, nil)
	return err
}

// CreateModel is [modelrepo.Store.CreateModel].
func (c *Client) CreateModel(ctx context.Context, at modelrepo.Path, with modelrepo.ModelUpdate) error {
	_, err := c.write(ctx, "create model", at, http.MethodPost, with)
	return err
}

// Model is [modelrepo.Store.Model].
func (c *Client) Model(ctx context.Context, at modelrepo.Path, listing *modelrepo.Listing) (modelrepo.Model, error) {
	var model modelrepo.Model
	err := c.read(ctx, call{op: "get model", at: at, method: http.MethodGet, query: listingQuery(listing)}, &model)
	return model, err
}

// UpdateModel is [modelrepo.Store.UpdateModel].
func (c *Client) UpdateModel(
	ctx context.Context, at modelrepo.Path, to modelrepo.ModelUpdate,
) (changed bool, err error) {
	return c.update(ctx, "update model", at, to, func() (any, error) {
		record, err := c.Model(ctx, at, &modelrepo.Listing{PageSize: 1})
		record.Versions = nil
		return record, err
	})
}

// DeleteModel is [modelrepo.Store.DeleteModel].
func (c *Client) DeleteModel(ctx context.Context, at modelrepo.Path) error {
	_, err := c.write(ctx, "delete model", at, http.MethodDelete, nil)
	return err
}

// CreateVersion is [modelrepo.Store.CreateVersion].
func (c *Client) CreateVersion(ctx context.Context, at modelrepo.Path, with modelrepo.VersionUpdate) error {
	_, err := c.write(ctx, "create model version", at, http.MethodPost, with)
	return err
}

// Version is [modelrepo.Store.Version].
func (c *Client) Version(ctx context.Context, at modelrepo.Path) (modelrepo.Version, error) {
	var version modelrepo.Version
	err := c.read(ctx, call{op: "get model version", at: at, method: http.MethodGet}, &version)
	return version, err
}

// UpdateVersion is [modelrepo.Store.UpdateVersion].
func (c *Client) UpdateVersion(
	ctx context.Context, at modelrepo.Path, to modelrepo.VersionUpdate,
) (changed bool, err error) {
	return c.update(ctx, "update model version", at, to, func() (any, error) {
		return c.Version(ctx, at)
	})
}

// RemoveVersion is [modelrepo.Store.RemoveVersion].
func (c *Client) RemoveVersion(
	ctx context.Context, at modelrepo.Path, opts *modelrepo.RemoveOptions,
) (modelrepo.Removed, error) {
	k := call{op: "delete model version", at: at, method: http.MethodDelete}
	if opts != nil && opts.Force {
		k.query = url.Values{"force": {"1"}}
	}
	var answer wire.Removed
	err := c.read(ctx, k, &answer)
	return modelrepo.Removed{Aliases: answer.Aliases, WasLatest: answer.WasLatest}, err
}

// DeleteVersion is [modelrepo.Store.DeleteVersion].
func (c *Client) DeleteVersion(ctx context.Context, at modelrepo.Path) error {
	_, err := c.RemoveVersion(ctx, at, nil)
	return err
}

// DeleteImmutable is [modelrepo.Store.DeleteImmutable].
func (c *Client) DeleteImmutable(ctx context.Context, at modelrepo.Path) error {
	_, err := c.RemoveVersion(ctx, at, &modelrepo.RemoveOptions{Force: true})
	return err
}

// listingQuery returns the parameters of a list.
func listingQuery(l *modelrepo.Listing) url.Values {
	values := url.Values{}
	if l != nil {
		values.Set("page", strconv.Itoa(max(l.Page, 1)))
		if l.PageSize != 0 {
			values.Set("page_size", strconv.Itoa(l.PageSize))
		}
		if l.SortBy != "" {
			values.Set("sort_by", l.SortBy)
		}
		if l.Descending {
			values.Set("order", wire.Descending)
		}
		for _, f := range l.Filters {
			values.Add("f."+f.Field, f.Value)
		}
	}
	return values
}
