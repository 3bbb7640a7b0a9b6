package repository

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The names that the files of weights have in a form.
const (
	pickleName = "aggregated-weights.pkl"
	npzName    = "aggregated-weights.npz"
)

func (r remote) upload(ctx context.Context, document record, weights strategy.Model) error {
	boundary := multipart.NewWriter(io.Discard).Boundary()
	parts := []formPart{{partFile, pickleName}}
	if r.client.config.NPZ {
		parts = append(parts, formPart{partNPZ, npzName})
	}
	write := func(w io.Writer) error { return writeForm(w, boundary, parts, weights) }
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

// formPart is a file in a form.
type formPart struct{ field, file string }

// writeForm writes the weights as a form. The same weights make the same bytes.
func writeForm(w io.Writer, boundary string, parts []formPart, weights strategy.Model) error {
	form := multipart.NewWriter(w)
	if err := form.SetBoundary(boundary); err != nil {
		return err
	}
	for _, p := range parts {
		part, err := form.CreateFormFile(p.field, p.file)
		if err != nil {
			return err
		}
		if err := writeWeights(part, p.field, weights); err != nil {
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
