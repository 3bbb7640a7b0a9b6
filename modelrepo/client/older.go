package client

import (
	"context"
	"net/http"
	"reflect"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Older servers do not send the Result field. The client then compares the record after
// the write with the record before, which it reads unless it knows that the server
// sends the field.

// noteResult remembers whether the server sends the Result field.
func (c *Client) noteResult(header http.Header) { c.sendsResult.Store(header.Get(wire.Result) != "") }

// versionBefore returns the record of a version before an upload, or nil if the server
// sends the Result field or has no such record.
func (c *Client) versionBefore(ctx context.Context, at modelrepo.Path) *modelrepo.Version {
	if c.sendsResult.Load() {
		return nil
	}
	version, err := c.Version(ctx, at)
	if err != nil {
		return nil // the upload returns why
	}
	return &version
}

// uploadResult returns whether an upload replaced content and set the default format.
func (c *Client) uploadResult(
	header http.Header, before *modelrepo.Version, format string,
) (overwrote, defaultSet bool) {
	c.noteResult(header)
	overwrote, found := wire.ReadResult(header, wire.Overwrote)
	defaultSet, _ = wire.ReadResult(header, wire.DefaultSet)
	if found || before == nil {
		return overwrote, defaultSet
	}
	_, overwrote = before.Formats[format]
	return overwrote, before.DefaultFormat == ""
}

// update sends an update and reports whether anything has changed. The function record
// reads what is updated.
func (c *Client) update(
	ctx context.Context, op string, at modelrepo.Path, to any, record func() (any, error),
) (changed bool, err error) {
	var before any
	if !c.sendsResult.Load() {
		if before, err = record(); err != nil {
			before = nil // the update returns why
		}
	}
	header, err := c.write(ctx, op, at, http.MethodPatch, to)
	if err != nil {
		return false, err
	}
	c.noteResult(header)
	if changed, found := wire.ReadResult(header, wire.Changed); found {
		return changed, nil
	}
	after, err := record()
	if err != nil || before == nil {
		return true, nil // the update is durable, and may have made a difference
	}
	return !reflect.DeepEqual(before, after), nil
}
