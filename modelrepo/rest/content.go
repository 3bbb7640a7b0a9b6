package rest

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

func (r *rest) uploadContent(w http.ResponseWriter, req *http.Request) error {
	if req.Header.Get("Tus-Resumable") != "" {
		return resumable(r.createUpload)(w, req)
	}
	at, format := web.RequestPath(req), queryFormat(req)
	form, err := openForm(w, req)
	if err != nil {
		return err
	}
	options := modelrepo.UploadOptions{
		ContentType: form.Part.Header.Get("Content-Type"),
		Overwrite:   req.URL.Query().Get("overwrite") == "1",
	}
	if options.Condition, err = readCondition(req.Header); err != nil {
		return err
	}
	if options.Digests, err = formDigests(http.Header(form.Part.Header), req.Header); err != nil {
		return err
	}
	result, err := r.store.Upload(req.Context(), at, format, form, &options)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", httpapi.EntityTag{Value: result.ETag()}.String())
	w.Header().Set(wire.UploadDigest, wire.FormatDigests(wire.FileDigests(result.File)))
	setUploaded(w.Header(), result)
	return httpapi.WriteJSON(w, wire.Success{
		Message:  uploadedMessage(at, format, result),
		Warnings: warnings(format, result),
	})
}

// queryFormat returns the parameter format. A plus sign in a query means a space by the rules of
// forms, which no format has: clients that write format=application/rdf+xml mean the plus sign.
func queryFormat(req *http.Request) string {
	query, _ := url.ParseQuery(strings.ReplaceAll(req.URL.RawQuery, "+", "%2B")) // as far as it is valid, as Query does
	return query.Get("format")
}

// setUploaded sets the result of an upload in the header of the answer.
func setUploaded(header http.Header, result modelrepo.Uploaded) {
	wire.SetResult(header, wire.Overwrote, result.Overwrote)
	wire.SetResult(header, wire.DefaultSet, result.DefaultSet)
}

func uploadedMessage(at modelrepo.Path, format string, result modelrepo.Uploaded) string {
	return fmt.Sprintf("Uploaded content in format '%s' for model '%s'. Checksum: %s", format, at, result.MD5)
}

// The warnings of an upload. The extra quotation mark is part of the interface.
const (
	defaultSet  = "The default format of this model version was set to '%s'.'"
	overwritten = "Overwrote an earlier version of the content."
)

// warnings returns the warnings of an upload: effects that the client may not expect.
func warnings(format string, result modelrepo.Uploaded) []string {
	var all []string
	if result.DefaultSet {
		all = append(all, fmt.Sprintf(defaultSet, format))
	}
	if result.Overwrote {
		all = append(all, overwritten)
	}
	if segments := strings.Split(format, "/"); slices.Contains(segments, ".") || slices.Contains(segments, "..") {
		all = append(all, fmt.Sprintf("The specified format ('%s') has dot segments, which clients remove from paths. "+
			"Please download it with the 'format' query parameter.", format))
	}
	mediaType, _, err := mime.ParseMediaType(format)
	switch sent, _, _ := mime.ParseMediaType(result.ContentType); {
	case err != nil || !strings.Contains(mediaType, "/"):
		all = append(all, fmt.Sprintf("The specified format ('%s') is not a valid Media Type.", format))
	case sent != mediaType:
		all = append(all, fmt.Sprintf("The Media Type specified in the URL query parameter ('%s') "+
			"does not match the one in the body of the request ('%s').", format, result.ContentType))
	}
	return all
}

func (r *rest) downloadContent(w http.ResponseWriter, req *http.Request) error {
	return r.serve(w, req, web.RequestPath(req), queryFormat(req))
}

// downloadShort answers the short form of a download: without a version the latest one,
// without a format the default.
func (r *rest) downloadShort(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	if at.Version == "" {
		at.Version = modelrepo.Latest
	}
	return r.serve(w, req, at, strings.TrimSuffix(req.PathValue("format"), "/"))
}

// serve answers with content, whole or in ranges, if the conditions of the request are
// met (RFC 9110 sections 13 and 14). Whole content is compared with its digest while it is
// sent. The digest of a range is unknown: see integrity.Reader for what is compared then.
func (r *rest) serve(w http.ResponseWriter, req *http.Request, at modelrepo.Path, format string) error {
	content, err := r.store.Open(req.Context(), at, format)
	if err != nil {
		if errors.Is(err, modelrepo.ErrDamaged) {
			r.failed(req, err)
		}
		return err
	}
	defer func() { _ = content.Close() }()
	h := w.Header()
	h.Set("Content-Type", content.ContentType)
	h.Set("ETag", httpapi.EntityTag{Value: content.ETag()}.String())
	h.Set("Repr-Digest", reprDigest(content.SHA256))
	h.Set("Cache-Control", "no-cache") // caches revalidate by the ETag
	// Content is not trusted and must not run as a page of this origin.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	body := &body{ReadSeeker: content, size: content.Size}
	body.stored, _ = content.ReadSeekCloser.(stored)
	sent, err := r.serveContent(w, req, content.Uploaded, body)
	if err != nil {
		return err
	}
	r.downloads.Add(1)
	r.downloadedBytes.Add(uint64(sent))
	return nil
}

func (r *rest) deleteContent(w http.ResponseWriter, req *http.Request) error {
	at, format := web.RequestPath(req), queryFormat(req)
	condition, err := readCondition(req.Header)
	if err == nil {
		err = r.store.DeleteContent(req.Context(), at, format, condition)
	}
	return done(w, err, "Deleted file with format '%s' in model version '%s'.", format, at)
}

// reprDigest returns the value of a Repr-Digest field (RFC 9530).
func reprDigest(sha256 string) string {
	sum, _ := hex.DecodeString(sha256) // a stored digest is hex
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

// readCondition returns the conditions of a write. Weak tags count in If-None-Match only
// (section 13.1.2).
func readCondition(header http.Header) (modelrepo.Condition, error) {
	match, err := entityTags(header, "If-Match")
	if err != nil {
		return modelrepo.Condition{}, err
	}
	none, err := entityTags(header, "If-None-Match")
	if err != nil {
		return modelrepo.Condition{}, err
	}
	return modelrepo.Condition{Match: match.Strong(), NoneMatch: none.Weak()}, nil
}

// entityTags reads a list of entity tags. It refuses the tag "*": no content has it,
// and a client that sends it most likely means * without quotation marks.
func entityTags(header http.Header, name string) (httpapi.EntityTags, error) {
	tags, err := httpapi.ReadEntityTags(header, name)
	star := func(tag httpapi.EntityTag) bool { return tag.Value == "*" }
	if err != nil || slices.ContainsFunc(tags.List, star) {
		return tags, web.Malformed(fmt.Sprintf("The '%s' header is not a list of entity tags.", name))
	}
	return tags, nil
}
