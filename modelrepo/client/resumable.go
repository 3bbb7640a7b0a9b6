package client

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Uploads are the resumable uploads of a repository, see [Client.Uploads].
type Uploads struct{ client *Client }

// Uploads is [modelrepo.Store.Uploads].
func (c *Client) Uploads() *Uploads { return &Uploads{c} }

// Begin is [modelrepo.Uploads.Begin].
func (u *Uploads) Begin(
	ctx context.Context, at modelrepo.Path, format string, length int64, opts *modelrepo.ResumableOptions,
) (modelrepo.ResumableUpload, error) {
	const op = "begin upload"
	if opts == nil {
		opts = &modelrepo.ResumableOptions{}
	}
	metadata := opts.Metadata
	if opts.ContentType != "" {
		contentType := base64.StdEncoding.EncodeToString([]byte(opts.ContentType))
		metadata = strings.TrimPrefix(metadata+",contentType "+contentType, ",")
	}
	header := conditionHeader(opts.Condition)
	header.Set("Upload-Length", strconv.FormatInt(length, 10))
	if metadata != "" {
		header.Set("Upload-Metadata", metadata)
	}
	announce(opts.Digests, header)
	query := url.Values{"format": {format}}
	if opts.Overwrite {
		query.Set("overwrite", "1")
	}
	h, err := u.tus(ctx, call{op: op, at: at, method: http.MethodPost, more: "content", query: query, header: header})
	if err != nil {
		return modelrepo.ResumableUpload{}, err
	}
	p := modelrepo.ResumableUpload{
		ID: path.Base(h.Get("Location")), Version: at, Format: format, Length: length, Metadata: metadata,
	}
	if !tus.ValidID(p.ID) {
		err := fmt.Errorf("the server answered with the location %.200q", h.Get("Location"))
		return modelrepo.ResumableUpload{}, failed(op, at, err)
	}
	err = readState(&p, op, h)
	return p, err
}

// Get is [modelrepo.Uploads.Get]. The result has neither the version nor the format.
func (u *Uploads) Get(ctx context.Context, id string) (modelrepo.ResumableUpload, error) {
	const op = "get upload"
	h, err := u.send(ctx, call{op: op, method: http.MethodHead}, id)
	if err != nil {
		return modelrepo.ResumableUpload{}, err
	}
	p := modelrepo.ResumableUpload{ID: id, Metadata: h.Get("Upload-Metadata")}
	if p.Length, err = strconv.ParseInt(h.Get("Upload-Length"), 10, 64); err != nil {
		return modelrepo.ResumableUpload{}, failed(op, modelrepo.Path{},
			fmt.Errorf("read the answer: Upload-Length: %w", err))
	}
	err = readState(&p, op, h)
	return p, err
}

// Continue is [modelrepo.Uploads.Continue]. The result has neither the version nor the
// format, nor the length unless the content was published. An older server does not
// report whether publishing replaced content and set a default format.
func (u *Uploads) Continue(
	ctx context.Context, id string, offset int64, content io.Reader, checksum modelrepo.Checksum,
) (modelrepo.ResumableUpload, error) {
	const op = "continue upload"
	header := http.Header{"Content-Type": {wire.PieceMediaType}, "Upload-Offset": {strconv.FormatInt(offset, 10)}}
	if text := wire.FormatChecksum(checksum); text != "" {
		header.Set("Upload-Checksum", text)
	}
	h, err := u.send(ctx, call{op: op, method: http.MethodPatch, header: header, body: content}, id)
	if err != nil {
		return modelrepo.ResumableUpload{}, err
	}
	p := modelrepo.ResumableUpload{ID: id}
	if err := readState(&p, op, h); err != nil {
		return modelrepo.ResumableUpload{}, err
	}
	if p.Result != nil {
		p.Length = p.Offset
	}
	return p, nil
}

// Cancel is [modelrepo.Uploads.Cancel].
func (u *Uploads) Cancel(ctx context.Context, id string) error {
	_, err := u.send(ctx, call{op: "cancel upload", method: http.MethodDelete}, id)
	return err
}

// send sends a request about an upload.
func (u *Uploads) send(ctx context.Context, k call, id string) (http.Header, error) {
	if !tus.ValidID(id) {
		return nil, refuse(k.op, modelrepo.Path{}, modelrepo.ErrNotFound,
			"There is no such upload, or it did not move for too long and was given up.")
	}
	k.more = "u/" + id
	return u.tus(ctx, k)
}

// tus sends a request of the protocol tus and returns the header of the answer.
func (u *Uploads) tus(ctx context.Context, k call) (http.Header, error) {
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set("Tus-Resumable", wire.TusVersion)
	answer, err := u.client.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return answer.Header, answer.Body.Close()
}

// readState reads the state of the upload from the header of an answer.
func readState(p *modelrepo.ResumableUpload, op string, h http.Header) error {
	var err error
	if text := h.Get("Upload-Offset"); text != "" {
		if p.Offset, err = strconv.ParseInt(text, 10, 64); err != nil {
			return failed(op, p.Version, fmt.Errorf("read the answer: Upload-Offset: %w", err))
		}
	}
	p.Expires, _ = http.ParseTime(h.Get("Upload-Expires")) // zero without
	if h.Get("X-Upload-Message") == "" {
		return nil // not published
	}
	stored, err := wire.ParseDigests("", h.Get(wire.UploadDigest))
	if err != nil {
		return failed(op, p.Version, fmt.Errorf("read the answer: %s: %w", wire.UploadDigest, err))
	}
	p.Result = &modelrepo.Uploaded{File: modelrepo.File{
		Size: max(p.Offset, p.Length), MD5: hex.EncodeToString(stored.MD5), SHA256: strings.Trim(h.Get("ETag"), `"`),
	}}
	p.Result.Overwrote, _ = wire.ReadResult(h, wire.Overwrote)
	p.Result.DefaultSet, _ = wire.ReadResult(h, wire.DefaultSet)
	return nil
}
