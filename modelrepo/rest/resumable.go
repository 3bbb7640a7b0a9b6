package rest

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// resumable answers a request of the protocol tus if its version is supported.
func resumable(answer httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		w.Header().Set("Tus-Resumable", wire.TusVersion)
		w.Header().Set("Cache-Control", "no-store")
		if req.Header.Get("Tus-Resumable") != wire.TusVersion {
			w.Header().Set("Tus-Version", wire.TusVersion)
			return web.Invalid(http.StatusPreconditionFailed, "The 'Tus-Resumable' header must be '"+wire.TusVersion+"'.")
		}
		return answer(w, req)
	}
}

// tusOptions answers with the version and the extensions that the server supports.
func (r *rest) tusOptions(w http.ResponseWriter, req *http.Request) error {
	h := w.Header()
	h.Set("Tus-Resumable", wire.TusVersion)
	h.Set("Tus-Version", wire.TusVersion)
	h.Set("Tus-Extension", wire.TusExtensions)
	h.Set("Tus-Checksum-Algorithm", tus.Algorithms)
	h.Set("Allow", "DELETE, GET, HEAD, OPTIONS, POST")
	if req.PathValue("upload") != "" {
		h.Set("Allow", "DELETE, HEAD, OPTIONS, PATCH, POST")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// createUpload begins a resumable upload.
func (r *rest) createUpload(w http.ResponseWriter, req *http.Request) error {
	at, query := web.RequestPath(req), req.URL.Query()
	if req.Header.Get("Upload-Defer-Length") != "" {
		return web.Malformed("An upload needs its length at the beginning: 'Upload-Defer-Length' is not supported.")
	}
	length, err := byteCount(req.Header, "Upload-Length")
	if err != nil {
		return err
	}
	options := modelrepo.ResumableOptions{Metadata: req.Header.Get("Upload-Metadata")}
	options.Overwrite = query.Get("overwrite") == "1"
	if options.ContentType, err = readContentType(options.Metadata); err != nil {
		return err
	}
	if options.Condition, err = readCondition(req.Header); err != nil {
		return err
	}
	if options.Digests, err = wire.ParseDigests(req.Header.Get("Content-MD5"),
		joined(req.Header, "Repr-Digest")); err != nil {
		return web.Malformed(err.Error())
	}
	p, err := r.store.Uploads().Begin(req.Context(), at, queryFormat(req), length, &options)
	if err != nil {
		return err
	}
	// The location is relative, so that it works behind the prefix of a proxy.
	up := strings.Repeat("../", strings.Count(strings.TrimLeft(req.URL.Path, "/"), "/"))
	w.Header().Set("Location", up+"u/"+p.ID)
	describe(w.Header(), p)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// readContentType returns the media type that an upload's metadata have as "contentType"
// or "filetype", or "".
func readContentType(metadata string) (string, error) {
	pairs, err := wire.ParseMetadata(metadata)
	if err != nil {
		return "", web.Malformed(err.Error())
	}
	for _, key := range []string{"contentType", "filetype"} {
		value := pairs[key]
		if value == "" {
			continue
		}
		if _, _, err := mime.ParseMediaType(value); err != nil || strings.ContainsFunc(value,
			func(r rune) bool { return r < ' ' || r > '~' }) {
			return "", web.Malformed(fmt.Sprintf("The '%s' in the 'Upload-Metadata' header is not a media type.", key))
		}
		return value, nil
	}
	return "", nil
}

// byteCount reads a header that is a number of bytes.
func byteCount(header http.Header, name string) (int64, error) {
	text := header.Get(name)
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count < 0 || strings.HasPrefix(text, "+") {
		return 0, web.Malformed(fmt.Sprintf("The '%s' header must be a number of bytes.", name))
	}
	return count, nil
}

// describe sets the state and the result of an upload in the header of an answer.
func describe(h http.Header, p modelrepo.ResumableUpload) {
	h.Set("Upload-Expires", p.Expires.UTC().Format(http.TimeFormat))
	if p.Result == nil {
		return
	}
	if p.Result.SHA256 != "" {
		h.Set("ETag", httpapi.EntityTag{Value: p.Result.ETag()}.String())
	}
	if digests := wire.FormatDigests(wire.FileDigests(p.Result.File)); digests != "" {
		h.Set(wire.UploadDigest, digests)
	}
	setUploaded(h, *p.Result)
	h.Set("X-Upload-Message", uploadedMessage(p.Version, p.Format, *p.Result))
	for _, warning := range warnings(p.Format, *p.Result) {
		h.Add("X-Upload-Warning", warning)
	}
}

// headUpload answers with the state of an upload.
func (r *rest) headUpload(w http.ResponseWriter, req *http.Request) error {
	p, err := r.store.Uploads().Get(req.Context(), req.PathValue("upload"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Upload-Offset", strconv.FormatInt(p.Offset, 10))
	h.Set("Upload-Length", strconv.FormatInt(p.Length, 10))
	if p.Metadata != "" {
		h.Set("Upload-Metadata", p.Metadata)
	}
	describe(h, p)
	w.WriteHeader(http.StatusOK)
	return nil
}

// patchUpload adds bytes to an upload.
func (r *rest) patchUpload(w http.ResponseWriter, req *http.Request) error {
	if req.Header.Get("Content-Type") != wire.PieceMediaType {
		return web.Invalid(http.StatusUnsupportedMediaType,
			"The content type of the request must be '"+wire.PieceMediaType+"'.")
	}
	offset, err := byteCount(req.Header, "Upload-Offset")
	if err != nil {
		return err
	}
	checksum, err := wire.ParseChecksum(req.Header.Get("Upload-Checksum"))
	if err != nil {
		return web.Malformed(err.Error())
	}
	id := req.PathValue("upload")
	if req.ContentLength > 0 { // a piece that is announced as too long is not read
		p, err := r.store.Uploads().Get(req.Context(), id)
		switch {
		case err != nil:
			return err
		case offset == p.Offset && req.ContentLength > p.Length-offset:
			text := fmt.Sprintf("The content is longer than the %d bytes that the upload was made for.", p.Length)
			return &modelrepo.Error{Op: "continue upload", Path: p.Version.String(), Err: modelrepo.ErrTooLong,
				Text: text}
		}
	}
	p, err := r.store.Uploads().Continue(req.Context(), id, offset,
		httpapi.PatientBody(w, req.Body, web.Patience), checksum)
	if err != nil {
		return err
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(p.Offset, 10))
	describe(w.Header(), p)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// cancelUpload removes an upload.
func (r *rest) cancelUpload(w http.ResponseWriter, req *http.Request) error {
	if err := r.store.Uploads().Cancel(req.Context(), req.PathValue("upload")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// overrideUpload is for clients that can only send POST.
func (r *rest) overrideUpload(w http.ResponseWriter, req *http.Request) error {
	switch req.Header.Get("X-HTTP-Method-Override") {
	case http.MethodPatch:
		return r.patchUpload(w, req)
	case http.MethodDelete:
		return r.cancelUpload(w, req)
	case http.MethodHead:
		return r.headUpload(w, req)
	}
	w.Header().Set("Allow", "DELETE, HEAD, OPTIONS, PATCH, POST")
	return web.Invalid(http.StatusMethodNotAllowed, "POST needs the header 'X-HTTP-Method-Override' here.")
}
