package admin

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// kindNoun is the noun for a kind on pages.
func kindNoun(kind entity.Kind) string {
	if kind == entity.KindKey {
		return "key"
	}
	return string(kind)
}

// editView is the page of an entity.
type editView struct {
	frame
	Kind, Plural string
	Back         string // the page to return to
	Entity       *listed
	Fields       form.Fields
	Fingerprint  string
	Fault        string
	// ID is the ID of a new entity, so that sending a form twice creates one.
	ID string
	// Name is the kind of a plugin, Summary what it does.
	Name, Summary string
	// Raw reports whether the configuration of a plugin is shown as JSON, OnlyRaw whether there is no
	// other form of it.
	Raw, OnlyRaw bool
	// Locked says why the caller cannot change the entity. Empty means that the caller can.
	Locked string

	PartKind, PartPlural string // of what belongs to the entity
	Parts                []part
}

// fresh is an entity with the defaults that a form begins with.
func (t *table) fresh() row {
	yes := true
	e := t.blank()
	switch e := e.entity.(type) {
	case *entity.Service:
		e.Protocol = "http"
		e.Enabled = &yes
		e.TLSVerify = &yes
	case *entity.Route:
		e.StripPath = &yes
		e.HTTPSRedirectStatusCode = http.StatusUpgradeRequired
		e.PathHandling = "v0"
	case *entity.Plugin:
		e.Enabled = &yes
	case *entity.Upstream:
		e.Algorithm = "round-robin"
		e.HashOn = "none"
		e.HashFallback = "none"
	}
	return e
}

// entityValues are the values of an entity by the names of the fields of its form.
func entityValues(e row) (map[string]any, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, err
	}
	switch e := e.entity.(type) {
	case *entity.Plugin:
		values["config"] = shownConfig(e.Config)
	case *entity.Upstream:
		values[watched] = e.Healthchecks != nil
	}
	return values, nil
}

// newEditView is the page of an entity, which is new where isNew.
func (p *pages) newEditView(r *http.Request, t *table, config *entity.Config, e row, isNew bool) (editView, error) {
	v := editView{Kind: kindNoun(t.kind), Plural: t.plural, Back: t.back(e), Fields: p.inputs(e, config)}
	values, err := entityValues(e)
	if err != nil {
		return v, err
	}
	if isNew { // whose zeros stand for the defaults
		maps.DeleteFunc(values, func(_ string, value any) bool { return value == 0.0 })
	}
	if plugin, ok := e.entity.(*entity.Plugin); ok {
		kind, _ := p.store.gateway.Kind(plugin.Name)
		v.Name, v.Summary = plugin.Name, kind.Summary
		v.OnlyRaw = kind.Config == nil || isWhole(plugin.Config)
		v.Raw = v.OnlyRaw || r.PostForm.Has("config")
		if hasSecrets(plugin.Config) && !p.isAdmin(r) {
			v.Locked = "This plugin has secrets, so only an administrator may change it"
		}
	}
	if v.Raw {
		v.Fields = asJSON(v.Fields)
	}
	v.Fields.Show(values)
	nameReferences(v.Fields, config)
	trail := []shell.Crumb{gatewayCrumb()}
	list := t.plural
	if owner := ownerKind(t.kind); owner != "" {
		above := tableFor(owner)
		list = above.plural
		trail = append(trail, shell.Crumb{Name: upper(above.plural), Href: above.plural})
		if ref := e.ref(owner); *ref != nil {
			if found, ok := above.find(config, (*ref).ID); ok {
				trail = append(trail, shell.Crumb{Name: found.label(), Href: above.plural + "/" + found.meta().ID})
			}
		}
	} else {
		trail = append(trail, shell.Crumb{Name: upper(t.plural), Href: t.plural})
	}
	title := "New " + v.Kind
	if isNew {
		if v.Name != "" {
			title = "New " + v.Name
		}
		id, err := uuid.NewRandom()
		if err != nil {
			return v, err
		}
		v.ID = id.String()
	} else {
		l := newLister(config).describeRow(e)
		title = l.Label
		v.Entity = &l
		v.Fingerprint = fingerprint(e)
		if kind, parts := p.entityParts(config, e); kind != "" {
			v.PartKind = string(kind)
			v.PartPlural = tableFor(kind).plural
			v.Parts = parts
		}
	}
	v.frame = p.frame(r, title, list, trail...)
	return v, nil
}

// nameReferences shows references to one of very many entities by their names.
func nameReferences(inputs form.Fields, config *entity.Config) {
	for i := range inputs {
		if f := &inputs[i]; f.Kind == form.Reference && f.Options == nil && f.Value != "" {
			if found, ok := tableFor(entity.Kind(f.Name)).find(config, f.Value); ok {
				f.Value = found.label()
			}
		}
	}
}

// findReferences puts the identifiers of the entities that texts name into the values of a form.
func findReferences(inputs form.Fields, config *entity.Config, values map[string]any) {
	for i := range inputs {
		if f := &inputs[i]; f.Kind == form.Reference && f.Options == nil && values[f.Name] != nil {
			if found, ok := tableFor(entity.Kind(f.Name)).find(config, f.Value); ok {
				values[f.Name] = map[string]any{"id": found.meta().ID}
			}
		}
	}
}

func (p *pages) showNew(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		config, err := p.loadConfig(r.Context())
		if err != nil {
			return err
		}
		e := t.fresh()
		if plugin, ok := e.entity.(*entity.Plugin); ok {
			plugin.Name = r.URL.Query().Get("kind")
			if _, known := p.store.gateway.Kind(plugin.Name); !known {
				return p.chooseKind(w, r)
			}
		}
		// where the link is on the page of one
		for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer, entity.KindUpstream} {
			if id := r.URL.Query().Get(string(kind)); id != "" {
				if ref := e.ref(kind); ref != nil {
					*ref = &entity.Ref{ID: id}
				}
			}
		}
		v, err := p.newEditView(r, t, config, e, true)
		if err != nil {
			return err
		}
		return p.part.Show(w, r, http.StatusOK, "edit.html", &v)
	}
}

// named is the entity that the path names by its id.
func (p *pages) named(t *table, config *entity.Config, r *http.Request) (row, error) {
	e, ok := t.find(config, r.PathValue("id"))
	if !ok {
		return row{}, &problem{status: http.StatusNotFound, Message: "There is no such " + kindNoun(t.kind) + ", or not any more"}
	}
	return e, nil
}

func (p *pages) showEdit(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		config, err := p.loadConfig(r.Context())
		if err != nil {
			return err
		}
		e, err := p.named(t, config, r)
		if err != nil {
			return err
		}
		v, err := p.newEditView(r, t, config, e, false)
		if err != nil {
			return err
		}
		return p.part.Show(w, r, http.StatusOK, "edit.html", &v)
	}
}

// base is what a form changes: the entity that the path names, or a new one.
func (p *pages) base(t *table, config *entity.Config, r *http.Request) (e row, isNew bool, err error) {
	if r.PathValue("id") != "" {
		e, err = p.named(t, config, r)
		return e, false, err
	}
	e = t.fresh()
	if plugin, ok := e.entity.(*entity.Plugin); ok {
		plugin.Name = r.PostForm.Get("name")
		if _, known := p.store.gateway.Kind(plugin.Name); !known {
			return e, true, badRequest("There is no kind of plugin named %q", plugin.Name)
		}
	}
	return e, true, nil
}

// save creates the entity of a form, or changes that which the path names, unless it
// is not any more what the form was about.
func (p *pages) save(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		config, err := p.loadConfig(r.Context())
		if err != nil {
			return err
		}
		e, isNew, err := p.base(t, config, r)
		if err != nil {
			return err
		}
		id := r.PostForm.Get("id")
		hasID := isNew && uuid.Validate(id) == nil
		if t.kind == entity.KindKey && hasID {
			if made, ok := t.find(config, id); ok { // the form was sent again
				return p.see(w, r, t.back(made), "The key is created. It was shown once.")
			}
		}
		v, err := p.newEditView(r, t, config, e, isNew)
		if err != nil {
			return err
		}
		if v.Locked != "" {
			return forbidden(v.Locked)
		}
		v.Fingerprint = r.PostForm.Get("seen")
		if hasID {
			v.ID = id
		}
		values := map[string]any{}
		if plugin, ok := e.entity.(*entity.Plugin); ok {
			values["config"] = shownConfig(plugin.Config)
		}
		if !v.Fields.Read(r.PostForm, values) {
			v.Fields.Forget()
			v.Fault = "Nothing is saved: some fields have mistakes"
			return p.part.Show(w, r, http.StatusBadRequest, "edit.html", &v)
		}
		if view := r.PostForm.Get("show"); view != "" && t.kind == entity.KindPlugin {
			return p.showAs(w, r, &v, view, e, config, values)
		}
		findReferences(v.Fields, config, values)
		made, err := p.put(r, t, v, values)
		var wrong *problem
		if errors.As(err, &wrong) {
			v.blame(wrong)
			return p.part.Show(w, r, wrong.status, "edit.html", &v)
		}
		if err != nil {
			return err
		}
		if key, ok := made.entity.(*entity.Key); ok {
			return p.showKey(w, r, config, key)
		}
		return p.see(w, r, t.back(made), "Saved "+kindNoun(t.kind)+" “"+made.label()+"”")
	}
}

// blame puts what is wrong at the fields it is about, and the rest above the form.
func (v *editView) blame(wrong *problem) {
	if v.Fields.Blame(wrong.Fields) || len(wrong.Fields) == 0 {
		v.Fault = wrong.Message
	}
	v.Fields.Forget()
}

// see leads to a page, and says there what was done.
func (p *pages) see(w http.ResponseWriter, r *http.Request, page, text string) error {
	return shell.SeeOther(w, shell.Root(r)+page, text)
}

// showAs shows the form of a plugin in its other form, with what was entered and is not saved.
func (p *pages) showAs(
	w http.ResponseWriter, r *http.Request, v *editView, view string, e row, config *entity.Config, values map[string]any,
) error {
	if text, ok := values["config"].(json.RawMessage); ok {
		object := map[string]any{}
		if json.Unmarshal(text, &object) != nil || object == nil {
			v.Fields.Blame(map[string]any{"config": "is not a JSON object"})
			return p.part.Show(w, r, http.StatusBadRequest, "edit.html", v)
		}
		values["config"] = object
	}
	fields := p.inputs(e, config)
	v.Raw = view == "json" || v.OnlyRaw
	if v.Raw {
		fields = asJSON(fields)
	}
	fields.Show(values)
	v.Fields = fields
	return p.part.Show(w, r, http.StatusOK, "edit.html", v)
}

// put stores what a form has sent.
func (p *pages) put(r *http.Request, t *table, v editView, values map[string]any) (row, error) {
	if _, ok := values[watched]; ok {
		if values[watched] == false {
			values["healthchecks"] = nil
		} else if values["healthchecks"] == nil {
			values["healthchecks"] = map[string]any{}
		}
		delete(values, watched)
	}
	data, err := json.Marshal(values)
	if err != nil {
		return row{}, err
	}
	return p.store.put(r.Context(), t, func(config *entity.Config) (row, error) {
		e, isNew, err := p.base(t, config, r)
		if err != nil {
			return e, err
		}
		if !isNew && v.Fingerprint != fingerprint(e) {
			return e, &problem{status: http.StatusConflict, Message: "This was changed meanwhile. Load the page again"}
		}
		return e, p.apply(r, t, config, e, v, data, isNew)
	})
}

// apply decodes a form onto an entity.
func (p *pages) apply(r *http.Request, t *table, config *entity.Config, e row, v editView, data []byte, isNew bool) error {
	id := e.meta().ID
	var before json.RawMessage
	switch e := e.entity.(type) {
	case *entity.Plugin:
		before, e.Config = e.Config, nil
	case *entity.Upstream:
		e.Healthchecks = nil // the form has all of it
	}
	if err := decodeEntity(data, e); err != nil {
		return undecodable(err)
	}
	e.meta().ID = id
	if plugin, ok := e.entity.(*entity.Plugin); ok {
		if err := keepSecrets(plugin, before); err != nil {
			return err
		}
		if hasSecrets(plugin.Config) && !p.isAdmin(r) {
			return forbidden("Only an administrator may give a plugin secrets")
		}
	}
	if !isNew {
		return nil
	}
	e.meta().ID = v.ID
	return t.insert(config, e)
}

// deleteView asks whether an entity is to be deleted.
type deleteView struct {
	frame
	Entity      *listed
	Verb        string
	Back        string
	Consequence string
}

func (p *pages) showDelete(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		config, err := p.loadConfig(r.Context())
		if err != nil {
			return err
		}
		e, err := p.named(t, config, r)
		if err != nil {
			return err
		}
		l := newLister(config).describeRow(e)
		v := deleteView{Entity: &l, Verb: deleteVerb(t.kind), Back: t.back(e), Consequence: consequence(t.kind)}
		list := t.plural
		if owner := ownerKind(t.kind); owner != "" {
			list = tableFor(owner).plural
		} else {
			v.Back += "/" + l.ID
		}
		v.frame = p.frame(r, v.Verb+" "+kindNoun(t.kind)+" “"+l.Label+"”?", list, gatewayCrumb(),
			shell.Crumb{Name: upper(list), Href: list}, shell.Crumb{Name: l.Label, Href: v.Back})
		return p.part.Show(w, r, http.StatusOK, "delete.html", &v)
	}
}

// deleteVerb is the verb for deleting an entity.
func deleteVerb(kind entity.Kind) string {
	if kind == entity.KindKey {
		return "Revoke"
	}
	return "Delete"
}

func (p *pages) delete(t *table) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		var label, back string
		err := p.store.Change(r.Context(), func(config entity.Config) (entity.Config, error) {
			e, err := p.named(t, &config, r)
			if err != nil {
				return config, err
			}
			label, back = e.label(), t.back(e)
			return config, t.detach(&config, e.meta().ID)
		})
		var wrong *problem
		if errors.As(err, &wrong) && wrong.Code == codeForeign {
			return &problem{status: http.StatusConflict, Message: "The " + string(t.kind) + " “" + label + "” has routes. Delete them first"}
		}
		if err != nil {
			return err
		}
		return p.see(w, r, back, deleteVerb(t.kind)+"d "+kindNoun(t.kind)+" “"+label+"”")
	}
}

// query returns the parameters of a list's page as an address.
func query(words string, page int) string {
	values := url.Values{}
	if words != "" {
		values.Set("q", words)
	}
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	if len(values) == 0 {
		return "?"
	}
	return "?" + values.Encode()
}
