package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// The size of the largest JSON body of a request, in bytes: without its metadata, and
// what metadata can add.
const (
	maxBody         = wire.MaxBody
	maxMetadataBody = modelrepo.MaxMetadataSize + 2<<20
)

// readUpdate reads the body of a creation or an update. Without a body present is
// false.
func readUpdate(w http.ResponseWriter, req *http.Request, known fields) (present bool, err error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody+maxMetadataBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return false, tooLargeBody()
	case err != nil:
		return false, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.",
			Err: err}
	case len(bytes.TrimSpace(data)) == 0:
		return false, nil
	}
	if !isJSON(req) {
		return false, web.Invalid(http.StatusUnsupportedMediaType, web.WrongType)
	}
	rest := len(data)
	if read, has := known["metadata"]; has {
		known["metadata"] = func(raw json.RawMessage) string { rest -= len(raw); return read(raw) }
	}
	fault := decodeUpdate(data, known)
	switch {
	case rest > maxBody:
		return false, tooLargeBody()
	case fault != "":
		return false, web.Malformed(fault)
	}
	return true, nil
}

func tooLargeBody() error {
	return web.Invalid(http.StatusRequestEntityTooLarge, "The request body is too large.")
}

func isJSON(req *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	return err == nil && mediaType == "application/json"
}

// readNamespace reads the body that creates a namespace. Version 0.1 has no body there
// and ignores one, so only metadata in a JSON object are used.
func readNamespace(w http.ResponseWriter, req *http.Request) (u modelrepo.NamespaceUpdate, err error) {
	if !isJSON(req) {
		return u, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody+maxMetadataBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return u, tooLargeBody()
	case err != nil:
		return u, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.", Err: err}
	}
	var body struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(data, &body) != nil || body.Metadata == nil || string(body.Metadata) == "null" {
		return u, nil
	}
	if fault := metadataField(&u.Metadata)(body.Metadata); fault != "" {
		return u, web.Malformed(fault)
	}
	return u, nil
}
