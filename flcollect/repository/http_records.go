package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxBody is the largest JSON body of a request in bytes.
const maxBody = 1 << 20

// readJSON reads the JSON document that is a request's body.
func readJSON(w http.ResponseWriter, req *http.Request) (any, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &httpapi.Error{Status: http.StatusRequestEntityTooLarge,
			Detail: fmt.Sprintf("The request body is larger than the limit of %d bytes.", maxBody)}
	case err != nil:
		return nil, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.", Err: err}
	case len(data) == 0:
		return nil, invalid("value_error.missing", "field required", "body")
	}
	if mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return nil, invalid("type_error.dict", "value is not a valid dict", "body")
	}
	if !utf8.Valid(data) {
		return nil, invalid("value_error.unicode", "the body is not valid UTF-8", "body")
	}
	document, err := decode(data)
	if err != nil {
		at := int64(len(data))
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return nil, invalid("value_error.jsondecode", err.Error(), "body", at)
	}
	return document, nil
}

// create answers requests that create a record.
func (r *rest) create(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		document, err := readJSON(w, req)
		if err != nil {
			return err
		}
		if err := r.store.create(req.Context(), c, document); err != nil {
			return err
		}
		answer(w, http.StatusCreated, nil)
		return nil
	}
}

// delete answers requests that delete a record and its file.
func (r *rest) delete(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		if err := r.store.delete(req.Context(), c, names(req, c.names)...); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// list answers with all records, or those with the first names of the path.
func (r *rest) list(c collection, members ...string) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		prefix := c.key(names(req, members)...) + "/"
		return answerList(w, visible(c, r.store.list(req.Context(), prefix)))
	}
}

// visible yields records as they are answered.
func visible(c collection, records iter.Seq2[record, error]) iter.Seq2[record, error] {
	if c.name != "transformation" {
		return records
	}
	return func(yield func(record, error) bool) {
		for r, err := range records {
			if !yield(r.without(c.file), err) {
				return
			}
		}
	}
}

// listModels answers with all models, or those that have results.
func (r *rest) listModels(w http.ResponseWriter, req *http.Request) error {
	query := req.URL.Query()
	if !query.Has("trained") {
		return r.list(models())(w, req)
	}
	var wrong faults
	trained := truth(query.Get("trained"), []any{"query", "trained"}, &wrong)
	switch {
	case len(wrong) > 0:
		return &InvalidError{Faults: wrong}
	case trained != true:
		return r.list(models())(w, req)
	}
	all := r.store.list(req.Context(), models().name+"/")
	return answerList(w, func(yield func(record, error) bool) {
		for model, err := range all {
			has := false
			if err == nil {
				prefix := results().key(model.text("model_name"), model.text("model_version")) + "/"
				page, listErr := r.store.docs.List(req.Context(), prefix, "", 1)
				has, err = len(page) > 0, listErr
			}
			if (has || err != nil) && !yield(model, err) {
				return
			}
		}
	})
}

func (r *rest) getModelMeta(w http.ResponseWriter, req *http.Request) error {
	query := req.URL.Query()
	var wrong faults
	for _, member := range models().names {
		if !query.Has(member) {
			wrong.missing([]any{"query", member})
		}
	}
	if len(wrong) > 0 {
		return &InvalidError{Faults: wrong}
	}
	c := models()
	c.missing = "model meta not found"
	model, _, err := r.store.get(req.Context(), c, query.Get("model_name"), query.Get("model_version"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, model)
	return nil
}

// changeRecord reads a body of the collection's form of changes and edits the
// record of the path with it.
func (r *rest) changeRecord(w http.ResponseWriter, req *http.Request, c collection, check func(body record) error,
	edit func(r *record, body record)) error {
	document, err := readJSON(w, req)
	if err != nil {
		return err
	}
	body, err := read(c.meta, document)
	if err == nil {
		err = check(body)
	}
	if err != nil {
		return err
	}
	if err := r.store.change(req.Context(), c, func(r *record) bool { edit(r, body); return true }, names(req, c.names)...); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func unchecked(record) error { return nil }

func (r *rest) putModelMeta(w http.ResponseWriter, req *http.Request) error {
	return r.changeRecord(w, req, models(), unchecked, func(r *record, body record) { r.set("meta", body) })
}

func (r *rest) putStrategyMeta(w http.ResponseWriter, req *http.Request) error {
	return r.changeRecord(w, req, strategies(), unchecked, func(r *record, body record) {
		r.set("meta", body[body.index("meta")].value)
	})
}

func (r *rest) putTransformationMeta(w http.ResponseWriter, req *http.Request) error {
	sameID := func(body record) error {
		if body.text("id") != req.PathValue("id") {
			return invalid("value_error", "the id is another than that of the path", "body", "id")
		}
		return nil
	}
	c := transformations()
	return r.changeRecord(w, req, c, sameID, func(r *record, body record) {
		for _, m := range body.without(c.file) {
			r.set(m.name, m.value)
		}
	})
}
