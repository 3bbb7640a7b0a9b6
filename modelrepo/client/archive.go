package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Export is [modelrepo.Store.Export] without progress. When the server fails half-way,
// reading its answer fails.
func (c *Client) Export(ctx context.Context, at modelrepo.Path, to io.Writer) error {
	const op = "export"
	answer, err := c.send(ctx, archiveCall(op, at, http.MethodGet))
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, answer.Body, make([]byte, transfer.BufferSize)); err != nil {
		return failed(op, at, err)
	}
	return nil
}

// Import is [modelrepo.Store.Import] without progress. The Namespace of the options is
// required.
func (c *Client) Import(ctx context.Context, from io.Reader, opts modelrepo.ImportOptions) (modelrepo.Imported, error) {
	const op = "import"
	at := modelrepo.Path{Namespace: opts.Namespace}
	k := archiveCall(op, at, http.MethodPost)
	k.header, k.body = http.Header{"Content-Type": {wire.TarMediaType}}, from
	if opts.Overwrite {
		k.query = url.Values{"overwrite": {"1"}}
	}
	answer, err := c.send(ctx, k)
	if err != nil {
		return modelrepo.Imported{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var said wire.Imported
	if err := decode(answer, &said); err != nil {
		return modelrepo.Imported{}, failed(op, at, err)
	}
	return said.Imported, nil
}

// archiveCall returns a request about an image layout.
func archiveCall(op string, at modelrepo.Path, method string) call {
	return call{op: op, at: at, method: method, before: "x"}
}
