package modelrepo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// mediaTypeTar is the media type of an archive of an image layout.
const mediaTypeTar = "application/x-tar"

// exportArchive answers with an OCI image layout. When it fails half-way the
// connection breaks off, so that nobody takes the half for the whole.
func (r *rest) exportArchive(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	if _, err := r.store.find(req.Context(), at, max(at.depth(), 1)); err != nil {
		if err == errAbsent {
			return notFound("export", at)
		}
		return failed("export", at, err)
	}
	w.Header().Set("Content-Type", mediaTypeTar)
	answer := newServing(w)
	if req.Method == http.MethodHead {
		return nil
	}
	err := r.store.Export(req.Context(), at, answer, nil)
	if err != nil && answer.sent > 0 {
		if req.Context().Err() == nil {
			r.store.log.Error("an export broke off", "path", at.String(), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		w.Header().Del("Content-Type")
	}
	return err
}

// importAnswer is what a successful import answers.
type importAnswer struct {
	success
	Imported
}

func (r *rest) importArchive(w http.ResponseWriter, req *http.Request) error {
	if mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || mediaType != mediaTypeTar {
		return invalid(http.StatusUnsupportedMediaType, wrongType)
	}
	at := pathOf(req)
	body := &brokenOff{from: &patientBody{body: req.Body, control: http.NewResponseController(w)}}
	result, err := r.store.Import(req.Context(), body, &ImportOptions{
		Namespace: at.Namespace, Overwrite: req.URL.Query().Get("overwrite") == "1",
	})
	if err == nil {
		// What follows the archive is read, so that the connection can go on.
		_, err = io.Copy(io.Discard, io.LimitReader(body, maxBody))
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, importAnswer{success{Message: fmt.Sprintf(
		"Imported namespace '%s': %d created, %d identical, %d overwritten.", at, result.Created, result.Identical, result.Overwritten)}, result})
}

// brokenOff gives the failure of a request's body the words of the interface.
type brokenOff struct{ from io.Reader }

// Read implements [io.Reader].
func (b *brokenOff) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		err = &Error{Op: "import", Err: fmt.Errorf("%w: %w", ErrIncomplete, err), Text: "The archive ended before it was complete."}
	}
	return n, err
}

// Export is [Store.Export]; there is no progress to be told about. When the
// server fails half-way, so does reading its answer.
func (c *Client) Export(ctx context.Context, at Path, to io.Writer) error {
	const op = "export"
	answer, err := c.send(ctx, archive(op, at, http.MethodGet))
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, answer.Body, make([]byte, uploadBuffer)); err != nil {
		return failed(op, at, err)
	}
	return nil
}

// Import is [Store.Import]. The options' Namespace is required, and there is no
// progress to be told about.
func (c *Client) Import(ctx context.Context, from io.Reader, opts ImportOptions) (Imported, error) {
	const op = "import"
	at := Path{Namespace: opts.Namespace}
	k := archive(op, at, http.MethodPost)
	k.header, k.body = http.Header{"Content-Type": {mediaTypeTar}}, from
	if opts.Overwrite {
		k.query = url.Values{"overwrite": {"1"}}
	}
	answer, err := c.send(ctx, k)
	if err != nil {
		return Imported{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var said importAnswer
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return Imported{}, failed(op, at, fmt.Errorf("read the answer: %w", err))
	}
	return said.Imported, nil
}

// archive is a request about an image layout.
func archive(op string, at Path, method string) call {
	return call{op: op, at: at, method: method, before: "x"}
}
