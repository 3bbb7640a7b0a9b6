package rest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// result answers with the model of a job as numpy.savez writes it. An encrypted model is
// the pickle that the repository gets: ciphertexts are no arrays of numbers.
func (r *rest) result(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	release, err := r.downloads.Take()
	if err != nil {
		return err
	}
	defer release()
	result, err := r.jobs.Result(req.Context(), id)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	write := func(w io.Writer) error { return writeNPZ(w, result.Weights) }
	if result.Encrypted {
		h.Set("Content-Type", "application/octet-stream")
		write = result.WriteWeights
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(result)}))
	if req.Method == http.MethodHead {
		return nil
	}
	out := httpapi.PatientWriter(w, patience)
	if err := write(out); err != nil {
		r.options.Logger.Debug("download ended early", "job", id, "error", err)
		panic(http.ErrAbortHandler) // a part of a model must not look like all of it
	}
	return nil
}

// writeNPZ writes a model as numpy.savez does.
func writeNPZ(w io.Writer, model strategy.Model) error {
	arrays := make([]tensor.Named, len(model))
	for i, array := range model {
		arrays[i] = tensor.Named{Name: fmt.Sprintf("arr_%d", i), Tensor: array}
	}
	return tensor.WriteNPZ(w, arrays...)
}

// fileName returns the name under which a browser saves the file.
func fileName(result flcollect.Result) string {
	plain := func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}
	name := strings.Map(plain, fmt.Sprintf("%s-%s-%s-%d", result.ModelName, result.ModelVersion, result.TrainingID, result.Rounds))
	if result.Encrypted {
		return name + ".pkl"
	}
	return name + ".npz"
}

// patience bounds the time in which a client sends or reads a piece of a body.
const patience = 30 * time.Second
