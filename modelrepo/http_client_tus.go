package modelrepo

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// BeginUpload is [Store.BeginUpload].
func (c *Client) BeginUpload(ctx context.Context, at Path, format string, length int64, opts *PartialOptions) (Partial, error) {
	const op = "begin upload"
	if opts == nil {
		opts = &PartialOptions{}
	}
	metadata := opts.Metadata
	if opts.ContentType != "" {
		metadata = strings.TrimPrefix(metadata+",contentType "+base64.StdEncoding.EncodeToString([]byte(opts.ContentType)), ",")
	}
	header := opts.Condition.header()
	header.Set("Upload-Length", strconv.FormatInt(length, 10))
	if metadata != "" {
		header.Set("Upload-Metadata", metadata)
	}
	opts.Digests.announce(header)
	query := url.Values{"format": {format}}
	if opts.Overwrite {
		query.Set("overwrite", "1")
	}
	h, err := c.tus(ctx, call{op: op, at: at, method: http.MethodPost, more: "content", query: query, header: header})
	if err != nil {
		return Partial{}, err
	}
	p := Partial{ID: path.Base(h.Get("Location")), Version: at, Format: format, Length: length, Metadata: metadata}
	if !partialIDs.MatchString(p.ID) {
		return Partial{}, failed(op, at, fmt.Errorf("the server answered with the location %.200q", h.Get("Location")))
	}
	return p, p.read(op, h)
}

// PartialUpload is [Store.PartialUpload]. The result has neither the version
// nor the format.
func (c *Client) PartialUpload(ctx context.Context, id string) (Partial, error) {
	const op = "get upload"
	h, err := c.onUpload(ctx, call{op: op, method: http.MethodHead}, id)
	if err != nil {
		return Partial{}, err
	}
	p := Partial{ID: id, Metadata: h.Get("Upload-Metadata")}
	if p.Length, err = strconv.ParseInt(h.Get("Upload-Length"), 10, 64); err != nil {
		return Partial{}, failed(op, Path{}, fmt.Errorf("read the answer: Upload-Length: %w", err))
	}
	return p, p.read(op, h)
}

// ContinueUpload is [Store.ContinueUpload]. The result has neither the version
// nor the format, nor the length unless the content was published.
func (c *Client) ContinueUpload(ctx context.Context, id string, offset int64, content io.Reader, checksum Checksum) (Partial, error) {
	const op = "continue upload"
	header := http.Header{"Content-Type": {tusMediaType}, "Upload-Offset": {strconv.FormatInt(offset, 10)}}
	if text := checksum.String(); text != "" {
		header.Set("Upload-Checksum", text)
	}
	h, err := c.onUpload(ctx, call{op: op, method: http.MethodPatch, header: header, body: content}, id)
	if err != nil {
		return Partial{}, err
	}
	p := Partial{ID: id}
	if err := p.read(op, h); err != nil {
		return Partial{}, err
	}
	if p.Result != nil {
		p.Length = p.Offset
	}
	return p, nil
}

// CancelUpload is [Store.CancelUpload].
func (c *Client) CancelUpload(ctx context.Context, id string) error {
	_, err := c.onUpload(ctx, call{op: "cancel upload", method: http.MethodDelete}, id)
	return err
}

// onUpload makes a request about an upload.
func (c *Client) onUpload(ctx context.Context, k call, id string) (http.Header, error) {
	if !partialIDs.MatchString(id) {
		return nil, missingPartial(k.op)
	}
	k.more = "u/" + id
	return c.tus(ctx, k)
}

// tus makes a request of the protocol and returns the header of its answer.
func (c *Client) tus(ctx context.Context, k call) (http.Header, error) {
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set("Tus-Resumable", tusVersion)
	answer, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return answer.Header, answer.Body.Close()
}

// read takes what an answer says about the upload.
func (p *Partial) read(op string, h http.Header) error {
	var err error
	if text := h.Get("Upload-Offset"); text != "" {
		if p.Offset, err = strconv.ParseInt(text, 10, 64); err != nil {
			return failed(op, p.Version, fmt.Errorf("read the answer: Upload-Offset: %w", err))
		}
	}
	p.Expires, _ = http.ParseTime(h.Get("Upload-Expires")) // zero without
	message := h.Get("X-Upload-Message")
	if message == "" {
		return nil
	}
	all := h.Values("X-Upload-Warning")
	stored, err := ParseDigests("", h.Get(uploadDigest))
	if err != nil {
		return failed(op, p.Version, fmt.Errorf("read the answer: %s: %w", uploadDigest, err))
	}
	p.Result = &Uploaded{
		File:      File{Size: max(p.Offset, p.Length), MD5: hex.EncodeToString(stored.MD5), SHA256: strings.Trim(h.Get("ETag"), `"`)},
		Overwrote: slices.Contains(all, overwritten),
		DefaultSet: slices.ContainsFunc(all, func(warning string) bool {
			return strings.HasPrefix(warning, strings.SplitN(defaultSet, "%s", 2)[0])
		}),
	}
	return nil
}
