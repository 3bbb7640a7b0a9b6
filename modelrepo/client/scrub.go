package client

import (
	"context"
	"net/http"

	"github.com/iotenablers/enablers/modelrepo"
)

// Scrub is [modelrepo.Store.Scrub].
func (c *Client) Scrub(ctx context.Context) (state modelrepo.Scrub, err error) {
	err = c.read(ctx, call{op: "request a scrub", method: http.MethodPost, before: "x/scrub"}, &state)
	return state, err
}

// Integrity is [modelrepo.Store.Integrity].
func (c *Client) Integrity(ctx context.Context) (known modelrepo.Integrity, err error) {
	err = c.read(ctx, call{op: "read the integrity of the content", method: http.MethodGet, before: "i"}, &known)
	return known, err
}
