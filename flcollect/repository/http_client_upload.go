package repository

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/iotenablers/enablers/flcollect"
)

// The names that the files of weights have in a form.
const (
	pickleName = "aggregated-weights.pkl"
	npzName    = "aggregated-weights.npz"
)

func (r remote) upload(ctx context.Context, document record, result flcollect.Result) error {
	boundary := multipart.NewWriter(io.Discard).Boundary()
	write := func(w io.Writer) error { return writeForm(w, boundary, parts(result, r.client.config.NPZ), result) }
	var length byteCount
	if err := write(&length); err != nil {
		return err
	}
	path := append([]string{"training-results"}, trainingNames(document)...)
	answer, err := r.client.send(ctx, call{
		method: http.MethodPut, path: append(path, document.text("configuration_id")),
		contentType: "multipart/form-data; boundary=" + boundary, length: int64(length), body: write,
	})
	if err != nil {
		return err
	}
	defer answer.close()
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, answer.failure())
	}
	return answer.failure()
}

// writeForm writes the weights as a form. The same weights make the same bytes.
func writeForm(w io.Writer, boundary string, parts []string, result flcollect.Result) error {
	form := multipart.NewWriter(w)
	if err := form.SetBoundary(boundary); err != nil {
		return err
	}
	for _, field := range parts {
		name := pickleName
		if field == partNPZ {
			name = npzName
		}
		part, err := form.CreateFormFile(field, name)
		if err != nil {
			return err
		}
		if err := writeWeights(part, field, result); err != nil {
			return err
		}
	}
	return form.Close()
}

// byteCount counts bytes.
type byteCount int64

// Write implements io.Writer.
func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}
