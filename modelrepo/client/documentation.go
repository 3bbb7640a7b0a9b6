package client

import (
	"bytes"
	"context"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// GenerateDocumentation is [modelrepo.Store.GenerateDocumentation].
func (c *Client) GenerateDocumentation(
	ctx context.Context, at modelrepo.Path, plugin string, files map[string][]byte, overwrite bool,
) (handle string, err error) {
	const op = "generate documentation"
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {mime.FormatMediaType("form-data",
				map[string]string{"name": "content", "filename": name})},
		})
		if err == nil {
			_, err = part.Write(files[name])
		}
		if err != nil {
			return "", failed(op, at, err)
		}
	}
	if err := form.Close(); err != nil {
		return "", failed(op, at, err)
	}
	query := url.Values{"plugin": {plugin}}
	if overwrite {
		query.Set("overwrite", "1")
	}
	var said wire.Generated
	answer, err := c.send(ctx, call{op: op, at: at, method: http.MethodPost, more: "doc_gen", query: query, body: &body,
		header: http.Header{"Content-Type": {form.FormDataContentType()}}})
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := decode(answer, &said); err != nil {
		return "", failed(op, at, err)
	}
	return said.Handle, nil
}

// OpenPage is [modelrepo.Store.OpenPage]. The page is read into memory.
func (c *Client) OpenPage(ctx context.Context, at modelrepo.Path, name string) (*modelrepo.Page, error) {
	const op = "open page"
	file := strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".html")
	if name != "" && docpages.FileNameFault(file) != "" {
		return nil, refuse(op, at, modelrepo.ErrNotFound,
			"There is no page '%.200s' in the documentation of model version '%s'.", name, at)
	}
	answer, err := c.send(ctx, call{op: op, at: at, method: http.MethodGet, more: "doc/" + docpages.EscapePath(name)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 2*docpages.MaxRendered))
	if err != nil {
		return nil, failed(op, at, err)
	}
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	page := &modelrepo.Page{
		ReadSeekCloser: inMemory{bytes.NewReader(data)}, Name: name,
		ContentType: answer.Header.Get("Content-Type"), ETag: strings.Trim(answer.Header.Get("ETag"), `"`),
	}
	page.Modified, _ = http.ParseTime(answer.Header.Get("Last-Modified")) // zero without
	return page, nil
}

// inMemory is a page in memory.
type inMemory struct{ *bytes.Reader }

// Close implements [io.Closer].
func (inMemory) Close() error { return nil }

// DeleteDocumentation is [modelrepo.Store.DeleteDocumentation].
func (c *Client) DeleteDocumentation(ctx context.Context, at modelrepo.Path) error {
	answer, err := c.send(ctx, call{op: "delete documentation", at: at, method: http.MethodDelete, more: "doc"})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
