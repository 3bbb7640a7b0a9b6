package rest

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxContexts bounds the contexts that are received at once; each is in memory.
const maxContexts = 2

// The two forms of a context.
const (
	octets = "application/octet-stream"
	text64 = "text/plain; charset=us-ascii"

	// base64Mark ends the tag of the text, which has other bytes than the context.
	base64Mark = ".base64"
)

// publicContext answers with the public context of a job: the text of a key file, or its
// bytes.
func (r *rest) publicContext(w http.ResponseWriter, req *http.Request) error {
	release, err := r.downloads.Take()
	if err != nil {
		return err
	}
	defer release()
	content, stored, err := r.jobs.PublicContext(req.Context(), req.PathValue("id"))
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "no-cache") // a cache revalidates the tag
	h.Set("Last-Modified", stored.Stored.UTC().Format(http.TimeFormat))
	tag, kind, size := stored.SHA256, octets, stored.Size
	raw := wantsOctets(req.Header)
	if !raw {
		tag, kind, size = tag+base64Mark, text64, int64(base64.StdEncoding.EncodedLen(int(size)))
	}
	h.Set("ETag", httpapi.EntityTag{Value: tag}.String())
	none, err := httpapi.ReadEntityTags(req.Header, "If-None-Match")
	if err != nil {
		return err
	}
	if none.Any || slices.Contains(none.Weak(), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	if req.Method == http.MethodHead {
		return nil
	}
	out := httpapi.PatientWriter(w, patience)
	if raw {
		_, err = io.Copy(out, content)
	} else {
		encoder := base64.NewEncoder(base64.StdEncoding, out)
		if _, err = io.Copy(encoder, content); err == nil {
			err = encoder.Close()
		}
	}
	if err != nil {
		r.options.Logger.Debug("download ended early", "job", req.PathValue("id"), "error", err)
		panic(http.ErrAbortHandler) // a part of a context must not look like all of it
	}
	return nil
}

// wantsOctets reports whether a request accepts the bytes.
func wantsOctets(h http.Header) bool {
	for accepted := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, parameters, err := mime.ParseMediaType(accepted)
		if err == nil && kind == octets {
			weight, given := parameters["q"]
			return !given || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}

// setPublicContext stores the public context of a job.
func (r *rest) setPublicContext(w http.ResponseWriter, req *http.Request) error {
	if err := pathID(req); err != nil {
		return err
	}
	condition, err := readCondition(req.Header)
	if err != nil {
		return err
	}
	release, err := r.uploads.Take()
	if err != nil {
		return err
	}
	defer release()
	body := &upload{httpapi.PatientReader(w, req.Body, patience)}
	stored, err := r.jobs.SetPublicContext(req.Context(), req.PathValue("id"), body, condition)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", httpapi.EntityTag{Value: stored.SHA256}.String())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// upload gives a failure to read a request body the form of the interface.
type upload struct{ body io.Reader }

// Read implements [io.Reader].
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.", Err: err}
	}
	return n, err
}

// deletePublicContext deletes the public context of a job.
func (r *rest) deletePublicContext(w http.ResponseWriter, req *http.Request) error {
	condition, err := readCondition(req.Header)
	if err != nil {
		return err
	}
	if err := r.jobs.DeletePublicContext(req.Context(), req.PathValue("id"), condition); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readCondition reads the conditions of a change. The tags of both forms of a context name
// the same one. If-Match compares strongly and If-None-Match weakly (RFC 9110 sections
// 13.1.1 and 13.1.2).
func readCondition(h http.Header) (publiccontext.Condition, error) {
	match, err := httpapi.ReadEntityTags(h, "If-Match")
	if err != nil {
		return publiccontext.Condition{}, err
	}
	none, err := httpapi.ReadEntityTags(h, "If-None-Match")
	if err != nil {
		return publiccontext.Condition{}, err
	}
	for _, tags := range [][]httpapi.EntityTag{match.List, none.List} {
		for i := range tags {
			tags[i].Value = strings.TrimSuffix(tags[i].Value, base64Mark)
		}
	}
	return publiccontext.Condition{Match: match.Strong(), NoneMatch: none.Weak()}, nil
}

// classifyContext returns the HTTP form of an error about a public context, nil for any
// other error.
func classifyContext(err error) *httpapi.Error {
	switch {
	case errors.Is(err, ckks.ErrSecretKey):
		err = detail.Error{{
			Loc: []any{"body"}, Type: "value_error.secret_key",
			Msg: "the context holds a secret key, which is compromised now that it was sent: " +
				"make new keys for all clients, and send the public context only",
		}}
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Err: err}
	case errors.Is(err, publiccontext.ErrNotFound):
		return &httpapi.Error{Status: http.StatusNotFound, Detail: "There is no public context for this job.", Err: err}
	case errors.Is(err, publiccontext.ErrCondition):
		return &httpapi.Error{Status: http.StatusPreconditionFailed, Detail: "The stored context is another one.", Err: err}
	case errors.Is(err, publiccontext.ErrMismatch):
		return &httpapi.Error{Status: http.StatusConflict, Detail: err.Error(), Err: err}
	case errors.Is(err, publiccontext.ErrTooLarge):
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: err.Error(), Err: err}
	}
	return nil
}
