package rest

import (
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// exportArchive answers with an OCI image layout. When it fails half-way it aborts the
// connection, so that clients do not take the half for the whole.
func (r *rest) exportArchive(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	if req.Method == http.MethodHead {
		if err := r.store.Exists(req.Context(), at); err != nil {
			return err
		}
		w.Header().Set("Content-Type", wire.TarMediaType)
		return nil
	}
	w.Header().Set("Content-Type", wire.TarMediaType)
	answer := r.newServing(w)
	err := r.store.Export(req.Context(), at, answer, nil)
	if err != nil && answer.sent > 0 {
		if req.Context().Err() == nil {
			r.options.Logger.Error("an export failed half-way", "path", at.String(), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		w.Header().Del("Content-Type")
	}
	return err
}

func (r *rest) importArchive(w http.ResponseWriter, req *http.Request) error {
	mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || mediaType != wire.TarMediaType {
		return web.Invalid(http.StatusUnsupportedMediaType, web.WrongType)
	}
	at := web.RequestPath(req)
	body := &brokenOff{from: httpapi.PatientBody(w, req.Body, web.Patience)}
	result, err := r.store.Import(req.Context(), body, &modelrepo.ImportOptions{
		Namespace: at.Namespace, Overwrite: req.URL.Query().Get("overwrite") == "1",
	})
	if err == nil {
		// The rest of the body is read, so that the connection can be used again.
		_, err = io.Copy(io.Discard, io.LimitReader(body, wire.MaxBody))
	}
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Imported namespace '%s': %d created, %d identical, %d overwritten.",
		at, result.Created, result.Identical, result.Overwritten)
	return httpapi.WriteJSON(w, wire.Imported{Success: wire.Success{Message: message}, Imported: result})
}

// brokenOff turns the failure of a request's body into an error of the interface.
type brokenOff struct{ from io.Reader }

// Read implements [io.Reader].
func (b *brokenOff) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		err = &modelrepo.Error{Op: "import", Err: fmt.Errorf("%w: %w", modelrepo.ErrIncomplete, err),
			Text: "The archive ended before it was complete."}
	}
	return n, err
}
