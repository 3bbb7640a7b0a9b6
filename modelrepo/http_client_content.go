package modelrepo

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// Upload is [Store.Upload]. The content streams, and is not read again when the
// connection breaks: it is up to the caller to try again. The SHA-256 digest of
// what was sent is compared with that of what was stored, and an error that matches
// [ErrDigest] says that they differ. MD5 is the one that the server has; empty for a
// server that names none beside an SHA-256 of the same bytes.
func (c *Client) Upload(ctx context.Context, at Path, format string, content io.Reader, opts *UploadOptions) (Uploaded, error) {
	const op = "upload content"
	if opts == nil {
		opts = &UploadOptions{}
	}
	source := &measured{from: content, hash: sha256.New()}
	body, contentType, wait := multipartBody(source, opts.ContentType)
	header := opts.Condition.header()
	header.Set("Content-Type", contentType)
	opts.Digests.announce(header)
	query := url.Values{"format": {format}}
	if opts.Overwrite {
		query.Set("overwrite", "1")
	}
	answer, err := c.send(ctx, call{op: op, at: at, method: http.MethodPost, more: "content", query: query, header: header, body: body})
	_ = body.Close() // the transport has, unless it never began
	wait()
	if source.failure != nil {
		return Uploaded{}, &Error{Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, source.failure),
			Text: "The content ended before it was complete. Nothing was stored."}
	}
	if err != nil {
		return Uploaded{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var said success
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return Uploaded{}, failed(op, at, fmt.Errorf("read the answer: %w", err))
	}
	result := Uploaded{
		File:       File{Size: source.size, SHA256: hex.EncodeToString(source.hash.Sum(nil)), ContentType: orBytes(opts.ContentType)},
		Overwrote:  slices.Contains(said.Warnings, overwritten),
		DefaultSet: slices.Contains(said.Warnings, fmt.Sprintf(defaultSet, format)),
	}
	if etag := strings.Trim(answer.Header.Get("ETag"), `"`); etag != "" && etag != result.SHA256 {
		return Uploaded{}, refuse(op, at, ErrDigest, "The server stored other bytes than were sent: their SHA-256 is %s.", etag)
	}
	result.MD5, err = c.storedMD5(ctx, at, format, answer.Header.Get(uploadDigest), opts.Digests, result.File)
	return result, err
}

// storedMD5 returns the MD5 digest that the server has of the content that was sent:
// out of the digests of its answer, which it checks, or else, from an older server,
// out of its record of the version. It is empty if neither has it.
func (c *Client) storedMD5(ctx context.Context, at Path, format, digests string, announced Digests, sent File) (string, error) {
	const op = "upload content"
	stored, err := ParseDigests("", digests)
	if err != nil {
		return "", failed(op, at, fmt.Errorf("read the answer: %s: %w", uploadDigest, err))
	}
	if stored.SHA256 != nil && hex.EncodeToString(stored.SHA256) != sent.SHA256 {
		return "", refuse(op, at, ErrDigest, "The server stored other bytes than were sent: their SHA-256 is %x.", stored.SHA256)
	}
	if stored.MD5 != nil && announced.MD5 != nil && string(stored.MD5) != string(announced.MD5) {
		return "", refuse(op, at, ErrDigest, "The server stored other bytes than were sent: their MD5 is %x.", stored.MD5)
	}
	if stored.MD5 != nil && (stored.SHA256 != nil || announced.MD5 != nil) {
		return hex.EncodeToString(stored.MD5), nil
	}
	// Without an answer the content is stored all the same. With one it may be that of
	// another upload since.
	if version, err := c.Version(ctx, at); err == nil {
		recorded := version.Formats[format]
		if recorded.SHA256 == sent.SHA256 || announced.MD5 != nil && recorded.MD5 == hex.EncodeToString(announced.MD5) {
			return recorded.MD5, nil
		}
	}
	return "", nil
}

// multipartBody returns the form that carries the content, its media type, and
// what waits until nobody reads the content any more.
func multipartBody(content io.Reader, contentType string) (body io.ReadCloser, formType string, wait func()) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="content"; filename="content"`},
			"Content-Type":        {orBytes(contentType)},
		})
		if err == nil {
			_, err = io.CopyBuffer(part, content, make([]byte, uploadBuffer))
		}
		if err == nil {
			err = form.Close()
		}
		_ = writer.CloseWithError(err) // always nil
	}()
	return reader, form.FormDataContentType(), func() { <-done }
}

// measured counts and hashes what is read, and remembers why reading failed.
type measured struct {
	from    io.Reader
	hash    hash.Hash
	size    int64
	failure error
}

// Read implements [io.Reader].
func (m *measured) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.hash.Write(p[:n]) // hashes never fail
	m.size += int64(n)
	if err != nil && err != io.EOF {
		m.failure = err
	}
	return n, err
}

// announce puts the digests into the header of a request.
func (d Digests) announce(header http.Header) {
	if d.MD5 != nil {
		header.Set("Content-MD5", base64.StdEncoding.EncodeToString(d.MD5))
	}
	if rest := (Digests{SHA256: d.SHA256, SHA512: d.SHA512}).field(); rest != "" {
		header.Set("Repr-Digest", rest)
	}
}

// Open is [Store.Open]. The Version and Format of the result are those that
// were asked for, and its MD5 digest is not known. Seeking makes a new request, for the same bytes: when
// the content was overwritten meanwhile, reading fails with [ErrPrecondition].
func (c *Client) Open(ctx context.Context, at Path, format string) (*Content, error) {
	const op = "open content"
	answer, err := c.send(ctx, download(op, http.MethodGet, at, format))
	if err != nil {
		return nil, err
	}
	content := &Content{File: fileOf(answer), Version: at, Format: format}
	content.Uploaded, _ = http.ParseTime(answer.Header.Get("Last-Modified")) // zero without
	content.ReadSeekCloser = &remote{ctx: ctx, client: c, call: download(op, http.MethodGet, at, format), file: content.File, body: answer.Body}
	return content, nil
}

// Stat is [Store.Stat]. The MD5 digest is not known.
func (c *Client) Stat(ctx context.Context, at Path, format string) (File, error) {
	answer, err := c.send(ctx, download("stat content", http.MethodHead, at, format))
	if err != nil {
		return File{}, err
	}
	return fileOf(answer), answer.Body.Close()
}

func download(op, method string, at Path, format string) call {
	k := call{op: op, at: at, method: method, more: "content", header: http.Header{"Accept-Encoding": {"identity"}}}
	if format != "" {
		k.query = url.Values{"format": {format}}
	}
	return k
}

func fileOf(answer *http.Response) File {
	return File{
		Size:        answer.ContentLength,
		SHA256:      strings.Trim(answer.Header.Get("ETag"), `"`),
		ContentType: answer.Header.Get("Content-Type"),
	}
}

// remote reads content over HTTP.
type remote struct {
	ctx    context.Context // of Open: it holds for reading too
	client *Client
	call   call
	file   File
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

// resume asks for the bytes from the offset on.
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
		return errors.Join(failed("read content", k.at, fmt.Errorf("asked for a range, the server answered %s", answer.Status)), answer.Body.Close())
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
		_ = r.body.Close() // the rest of it is not wanted
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
