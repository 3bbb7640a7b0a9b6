package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// Open is [modelrepo.Store.Open]. The Version and Format of the result are the
// arguments, and its MD5 digest is not known. Seeking sends a new request for the same
// bytes: if the content was overwritten meanwhile, reading fails with
// [modelrepo.ErrPrecondition].
func (c *Client) Open(ctx context.Context, at modelrepo.Path, format string) (*modelrepo.Content, error) {
	const op = "open content"
	answer, err := c.send(ctx, download(op, http.MethodGet, at, format))
	if err != nil {
		return nil, err
	}
	content := &modelrepo.Content{File: answeredFile(answer), Version: at, Format: format}
	content.Uploaded, _ = http.ParseTime(answer.Header.Get("Last-Modified")) // zero without
	content.ReadSeekCloser = &remote{
		ctx: ctx, client: c, call: download(op, http.MethodGet, at, format), file: content.File, body: answer.Body,
	}
	return content, nil
}

// Stat is [modelrepo.Store.Stat]. The MD5 digest is not known.
func (c *Client) Stat(ctx context.Context, at modelrepo.Path, format string) (modelrepo.File, error) {
	answer, err := c.send(ctx, download("stat content", http.MethodHead, at, format))
	if err != nil {
		return modelrepo.File{}, err
	}
	return answeredFile(answer), answer.Body.Close()
}

func download(op, method string, at modelrepo.Path, format string) call {
	k := call{op: op, at: at, method: method, more: "content", header: http.Header{"Accept-Encoding": {"identity"}}}
	if format != "" {
		k.query = url.Values{"format": {format}}
	}
	return k
}

func answeredFile(answer *http.Response) modelrepo.File {
	return modelrepo.File{
		Size:        answer.ContentLength,
		SHA256:      strings.Trim(answer.Header.Get("ETag"), `"`),
		ContentType: answer.Header.Get("Content-Type"),
	}
}

// remote reads content over HTTP.
type remote struct {
	ctx    context.Context // of Open, which also holds for reading
	client *Client
	call   call
	file   modelrepo.File
	body   io.ReadCloser // nil after Seek
	offset int64
	closed bool
}

// Read implements [io.Reader].
func (r *remote) Read(p []byte) (int, error) {
	switch {
	case r.closed:
		return 0, failed("read content", r.call.at, storage.ErrClosed)
	case r.body == nil && r.offset >= r.file.Size:
		return 0, io.EOF
	case r.body == nil:
		if err := r.resume(); err != nil {
			return 0, err
		}
	}
	n, err := r.body.Read(p)
	r.offset += int64(n)
	if err != nil && err != io.EOF {
		err = failed("read content", r.call.at, err)
	}
	return n, err
}

// resume requests the bytes from the offset on.
func (r *remote) resume() error {
	k := r.call
	k.header = k.header.Clone()
	k.header.Set("Range", fmt.Sprintf("bytes=%d-", r.offset))
	k.header.Set("If-Match", quoted(r.file.SHA256))
	answer, err := r.client.send(r.ctx, k)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusPartialContent {
		return errors.Join(failed("read content", k.at,
			fmt.Errorf("asked for a range, the server answered %s", answer.Status)), answer.Body.Close())
	}
	r.body = answer.Body
	return nil
}

// Seek implements [io.Seeker].
func (r *remote) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.file.Size
	}
	switch {
	case r.closed:
		return 0, failed("seek content", r.call.at, storage.ErrClosed)
	case offset < 0:
		return 0, failed("seek content", r.call.at, errSeek)
	case offset == r.offset:
		return offset, nil
	}
	r.offset = offset
	if r.body != nil {
		_ = r.body.Close() // the rest is not needed
		r.body = nil
	}
	return offset, nil
}

// Close implements [io.Closer].
func (r *remote) Close() error {
	r.closed = true
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	return body.Close()
}

// DeleteContent is [modelrepo.Store.DeleteContent].
func (c *Client) DeleteContent(
	ctx context.Context, at modelrepo.Path, format string, condition modelrepo.Condition,
) error {
	answer, err := c.send(ctx, call{
		op: "delete content", at: at, method: http.MethodDelete, more: "content",
		query: url.Values{"format": {format}}, header: conditionHeader(condition),
	})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
