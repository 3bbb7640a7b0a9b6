package repository

import (
	"encoding/base64"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// fileName is what the original calls the file that a request uploads.
func fileName(c collection, req *http.Request) (name, training string) {
	if c.name != "result" {
		return strings.Join(append([]string{c.name}, names(req, c.names)...), "/"), ""
	}
	members := []string{"model_name", "model_version", "configuration_id"}
	return strings.Join(append([]string{"weights"}, names(req, members)...), "/"), req.PathValue("training_id")
}

// maxDrained is how much is read of a body that is refused, in bytes.
const maxDrained = 64 << 20

// putFile answers requests that upload the file of a record.
func (r *rest) putFile(c collection) httpapi.HandlerFunc {
	fields := []string{partFile}
	if c.name == "result" {
		fields, c.missing = append(fields, partNPZ), "model not found"
	}
	longest := int64(len(fields))*r.store.config.MaxFile + maxBody // with what else a form may hold
	return func(w http.ResponseWriter, req *http.Request) error {
		ctx := req.Context()
		body := httpapi.PatientBody(w, io.LimitReader(req.Body, longest), patience)
		name, training := fileName(c, req)
		u, err := r.store.begin(ctx, c, name, training, names(req, c.names)...)
		if err != nil {
			httpapi.Drain(req, body, maxDrained)
			return err
		}
		defer u.abandon(ctx)
		if err := receive(ctx, body, req.Header, fields, u.write); err != nil {
			httpapi.Drain(req, body, maxDrained)
			return err
		}
		if err := u.commit(ctx); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// getFile answers with the file of a record, whole or in ranges.
func (r *rest) getFile(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		return r.serve(w, req, c, partFile)
	}
}

func (r *rest) serve(w http.ResponseWriter, req *http.Request, c collection, part string) error {
	reader, err := r.store.open(req.Context(), c, part, names(req, c.names)...)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	info := reader.Info()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("ETag", httpapi.EntityTag{Value: info.SHA256}.String())
	h.Set("Cache-Control", "no-cache") // a cache revalidates the ETag
	// Files are not trusted and must not run as a page of this origin.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	http.ServeContent(httpapi.PatientWriter(w, patience), req, "", info.Modified, reader)
	return nil
}

// getWeights answers with the weights of a result: as the original does, the
// pickle in base64, or with ?format= the pickle itself or .npz.
func (r *rest) getWeights(w http.ResponseWriter, req *http.Request) error {
	c := results()
	switch format := req.URL.Query().Get("format"); format {
	case "", "base64":
	case "pickle":
		return r.serve(w, req, c, partFile)
	case "npz":
		if _, _, err := r.store.get(req.Context(), c, names(req, c.names)...); err == nil {
			c.missing = "These weights were not stored as npz"
		}
		return r.serve(w, req, c, partNPZ)
	default:
		return invalid("value_error.const", "unexpected value; permitted: 'base64', 'pickle', 'npz'", "query", "format")
	}
	reader, err := r.store.open(req.Context(), c, partFile, names(req, c.names)...)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=us-ascii")
	size := (reader.Info().Size + 2) / 3 * 4
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if req.Method == http.MethodHead {
		return nil
	}
	encoder := base64.NewEncoder(base64.StdEncoding, httpapi.PatientWriter(w, patience))
	if _, err := io.CopyBuffer(encoder, reader, make([]byte, uploadBuffer)); err != nil {
		panic(http.ErrAbortHandler) // half the weights must not look like all of them
	}
	_ = encoder.Close() // a client that went away is no error of ours
	return nil
}

// fileDocument is a file as the original lists it.
type fileDocument struct {
	Name     string `json:"filename"`
	Training string `json:"training_id,omitempty"`
	Chunk    int    `json:"chunkSize"`
	Length   int64  `json:"length"`
	Uploaded string `json:"uploadDate"`
}

func newFileDocument(info fileInfo) fileDocument {
	return fileDocument{
		Name: info.Name, Training: info.Training, Length: info.Length,
		Chunk:    255 << 10, // that of GridFS; nothing here depends on it
		Uploaded: info.Begun.Format("2006-01-02T15:04:05.000000"),
	}
}

// listFiles answers with all files in the order of their uploads.
func (r *rest) listFiles(w http.ResponseWriter, req *http.Request) error {
	return answerList(w, r.fileDocuments(req, func(fileInfo) bool { return true }))
}

// findFile answers with a list of the newest file of a name, in which "_" stands
// for "/".
func (r *rest) findFile(w http.ResponseWriter, req *http.Request) error {
	name := strings.ReplaceAll(req.PathValue("filename"), "_", "/")
	found := []fileDocument{}
	for document, err := range r.fileDocuments(req, func(info fileInfo) bool { return strings.ReplaceAll(info.Name, "_", "/") == name }) {
		if err != nil {
			return err
		}
		found = []fileDocument{document}
	}
	answer(w, http.StatusOK, found)
	return nil
}

// fileDocuments yields the complete files that fit.
func (r *rest) fileDocuments(req *http.Request, fit func(fileInfo) bool) iter.Seq2[fileDocument, error] {
	return func(yield func(fileDocument, error) bool) {
		for info, err := range r.store.files(req.Context()) {
			if err == nil && (!info.Complete || info.Condemned || !fit(info)) {
				continue
			}
			if !yield(newFileDocument(info), err) {
				return
			}
		}
	}
}
