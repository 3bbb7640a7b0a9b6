package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Upload is [modelrepo.Store.Upload]. The content streams and cannot be read again, so
// the client does not retry when the connection breaks. The error matches
// [modelrepo.ErrDigest] if the SHA-256 digest of what was stored is not that of what
// was sent. The MD5 of the result is the server's; it is empty for a server that names
// none beside the SHA-256 of the same bytes.
//
// A server that does not report whether content was replaced and a default format set
// is an older one: then the version's record before the upload decides.
func (c *Client) Upload(
	ctx context.Context, at modelrepo.Path, format string, content io.Reader, opts *modelrepo.UploadOptions,
) (modelrepo.Uploaded, error) {
	const op = "upload content"
	if opts == nil {
		opts = &modelrepo.UploadOptions{}
	}
	before := c.versionBefore(ctx, at)
	source := &measured{from: content, hash: sha256.New()}
	body, contentType, wait := multipartBody(source, opts.ContentType)
	header := conditionHeader(opts.Condition)
	header.Set("Content-Type", contentType)
	announce(opts.Digests, header)
	query := url.Values{"format": {format}}
	if opts.Overwrite {
		query.Set("overwrite", "1")
	}
	answer, err := c.send(ctx, call{
		op: op, at: at, method: http.MethodPost, more: "content", query: query, header: header, body: body,
	})
	_ = body.Close() // the transport has, unless it never began
	wait()
	if source.failure != nil {
		return modelrepo.Uploaded{}, &modelrepo.Error{
			Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", modelrepo.ErrIncomplete, source.failure),
			Text: "The content ended before it was complete. Nothing was stored.",
		}
	}
	if err != nil {
		return modelrepo.Uploaded{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := decode(answer, new(wire.Success)); err != nil {
		return modelrepo.Uploaded{}, failed(op, at, err)
	}
	result := modelrepo.Uploaded{File: modelrepo.File{
		Size: source.size, SHA256: hex.EncodeToString(source.hash.Sum(nil)), ContentType: mediaType(opts.ContentType),
	}}
	result.Overwrote, result.DefaultSet = c.uploadResult(answer.Header, before, format)
	if etag := strings.Trim(answer.Header.Get("ETag"), `"`); etag != "" && etag != result.SHA256 {
		return modelrepo.Uploaded{}, otherBytes(at, "SHA-256", etag)
	}
	result.MD5, err = c.storedMD5(ctx, at, format, answer.Header.Get(wire.UploadDigest), opts.Digests, result.File)
	return result, err
}

// otherBytes refuses the answer of a server that stored other bytes than were sent.
func otherBytes(at modelrepo.Path, algorithm, sum string) error {
	return refuse("upload content", at, modelrepo.ErrDigest,
		"The server stored other bytes than were sent: their %s is %s.", algorithm, sum)
}

// mediaType returns the media type that the server stores for content.
func mediaType(contentType string) string { return cmp.Or(contentType, "application/octet-stream") }

// storedMD5 returns the MD5 digest that the server has of the content that was sent:
// from the digests of its answer, which are verified, or, for an older server, from its
// record of the version. It is empty if neither has it.
func (c *Client) storedMD5(
	ctx context.Context, at modelrepo.Path, format, digests string, announced modelrepo.Digests, sent modelrepo.File,
) (string, error) {
	const op = "upload content"
	stored, err := wire.ParseDigests("", digests)
	if err != nil {
		return "", failed(op, at, fmt.Errorf("read the answer: %s: %w", wire.UploadDigest, err))
	}
	if stored.SHA256 != nil && hex.EncodeToString(stored.SHA256) != sent.SHA256 {
		return "", otherBytes(at, "SHA-256", hex.EncodeToString(stored.SHA256))
	}
	if stored.MD5 != nil && announced.MD5 != nil && string(stored.MD5) != string(announced.MD5) {
		return "", otherBytes(at, "MD5", hex.EncodeToString(stored.MD5))
	}
	if stored.MD5 != nil && (stored.SHA256 != nil || announced.MD5 != nil) {
		return hex.EncodeToString(stored.MD5), nil
	}
	// The content is stored even if the record cannot be read. Another upload may have
	// replaced it since.
	if version, err := c.Version(ctx, at); err == nil {
		recorded := version.Formats[format]
		if recorded.SHA256 == sent.SHA256 || (announced.MD5 != nil && recorded.MD5 == hex.EncodeToString(announced.MD5)) {
			return recorded.MD5, nil
		}
	}
	return "", nil
}

// multipartBody returns the form that carries the content, its media type, and a
// function that waits until the content is no longer read.
func multipartBody(content io.Reader, contentType string) (body io.ReadCloser, formType string, wait func()) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="content"; filename="content"`},
			"Content-Type":        {mediaType(contentType)},
		})
		if err == nil {
			_, err = io.CopyBuffer(part, content, make([]byte, transfer.BufferSize))
		}
		if err == nil {
			err = form.Close()
		}
		_ = writer.CloseWithError(err) // always nil
	}()
	return reader, form.FormDataContentType(), func() { <-done }
}

// measured counts and hashes what is read, and keeps the error of the reader.
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

// announce sets the digests in the header of a request.
func announce(d modelrepo.Digests, header http.Header) {
	if d.MD5 != nil {
		header.Set("Content-MD5", base64.StdEncoding.EncodeToString(d.MD5))
	}
	if text := wire.FormatDigests(modelrepo.Digests{SHA256: d.SHA256, SHA512: d.SHA512}); text != "" {
		header.Set("Repr-Digest", text)
	}
}

// conditionHeader returns the condition as fields of a request.
func conditionHeader(c modelrepo.Condition) http.Header {
	header := http.Header{}
	for name, tags := range map[string][]string{"If-Match": c.Match, "If-None-Match": c.NoneMatch} {
		for _, tag := range tags {
			if tag != "*" {
				tag = quoted(tag)
			}
			header.Add(name, tag)
		}
	}
	return header
}

// quoted returns an entity tag as a header field has it.
func quoted(etag string) string { return `"` + etag + `"` }
