package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// getConfig answers with the whole configuration in the declarative format.
func (a *API) getConfig(w http.ResponseWriter, r *http.Request) error {
	now, err := a.store.current(r.Context())
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := now.config.WriteYAML(&text); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"config": text.String()})
	return nil
}

// postConfig replaces the whole configuration, that of publishers included.
func (a *API) postConfig(w http.ResponseWriter, r *http.Request) error {
	text, err := readDeclaration(r)
	if err != nil {
		return err
	}
	next, err := entity.Read(text, entity.Limits{})
	if err != nil {
		return undeclared(err)
	}
	before, err := a.store.current(r.Context())
	if err != nil {
		return err
	}
	if check := r.URL.Query().Get("check_hash"); check == "1" || check == "true" {
		if changes, err := entity.Diff(before.config, next); err == nil && len(changes) == 0 {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	now, err := a.store.change(r.Context(), func(entity.Config) (entity.Config, error) { return next.Clone(), nil })
	if err != nil {
		if errors.Is(err, entity.ErrInvalid) {
			return undeclared(err)
		}
		return err
	}
	answer := map[string]map[string]row{}
	for _, t := range tables() {
		for e := range t.rows(&now.config) {
			if answer[t.schema] == nil {
				answer[t.schema] = map[string]row{}
			}
			answer[t.schema][e.meta().ID] = e
		}
	}
	writeJSON(w, http.StatusCreated, answer)
	return nil
}

// undeclared reports what is wrong with a declarative configuration.
func undeclared(err error) error {
	p := &problem{status: http.StatusBadRequest, Code: codeDeclarative, Name: "invalid declarative configuration",
		Message: "declarative config is invalid: " + err.Error(), Fields: map[string]any{}}
	lists := map[string]map[string]any{}
	for _, f := range fieldErrors(err) {
		schema := tableFor(f.Kind).schema
		if lists[schema] == nil {
			lists[schema] = map[string]any{}
			p.Fields[schema] = lists[schema]
		}
		name := f.Name
		if name == "" {
			name = f.ID
		}
		fields, _ := lists[schema][name].(map[string]any)
		if fields == nil {
			fields = map[string]any{}
			lists[schema][name] = fields
		}
		fields[f.Field] = f.Reason
	}
	return p
}

// readDeclaration reads a configuration: as it is, in JSON or YAML, or as the field
// "config" of an object or a form.
func readDeclaration(r *http.Request) ([]byte, error) {
	media, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	data, err := httpapi.ReadBody(r, "", maxDeclaration)
	if err != nil {
		return nil, err
	}
	var fields []field
	switch {
	case media == "application/json":
		var wrapped map[string]json.RawMessage
		var text string
		if json.Unmarshal(data, &wrapped) == nil && json.Unmarshal(wrapped["config"], &text) == nil {
			return []byte(text), nil
		}
		return data, nil
	case media == "text/yaml" || strings.HasSuffix(media, "yaml"):
		return data, nil
	case media == "application/x-www-form-urlencoded":
		fields, err = urlFields(string(data))
	case media == "multipart/form-data":
		fields, err = partFields(r.Header, data)
	default:
		return nil, unsupported()
	}
	if err != nil {
		return nil, badRequest("Cannot parse the form: %s", err)
	}
	for _, f := range fields {
		if f.name == "config" {
			return []byte(f.value), nil
		}
	}
	return nil, badRequest("expected a declarative configuration")
}
