package admin

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// viewOf is what all pages of a session show.
func viewOf(title string, s session) view {
	return view{Title: title, User: s.user, CSRF: s.csrf, Notice: s.said, Secret: s.secret}
}

// nounOf is the noun for a kind on pages.
func nounOf(kind entity.Kind) string {
	if kind == entity.KindKey {
		return "key"
	}
	return string(kind)
}

// overview shows the live traffic and the health of the upstreams.
func (p *pages) overview(w http.ResponseWriter, r *http.Request, s session) error {
	config, err := p.configOf(r.Context())
	if err != nil {
		return err
	}
	v := viewOf("Gateway", s)
	for i := range config.Upstreams {
		u := &config.Upstreams[i]
		v.Upstreams = append(v.Upstreams, upstreamView{Name: u.Name, Targets: p.store.healthOf(config, u)})
	}
	return p.show(w, r, http.StatusOK, "overview", v)
}

func (p *pages) list(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		config, err := p.configOf(r.Context())
		if err != nil {
			return err
		}
		v := viewOf(strings.ToUpper(t.plural[:1])+t.plural[1:], s)
		v.Kind, v.Plural = string(t.kind), t.plural
		for e := range t.rows(config) {
			v.Rows = append(v.Rows, listedOf(config, e))
		}
		slices.SortStableFunc(v.Rows, func(a, b listed) int { return cmp.Compare(a.Label, b.Label) })
		return p.show(w, r, http.StatusOK, "list", v)
	}
}

// listedOf is an entity as lists show it.
func listedOf(config *entity.Config, e row) listed {
	l := listed{ID: e.meta().ID, Label: e.label(), Enabled: true}
	for _, tag := range e.meta().Tags {
		if strings.Contains(tag, ":") && l.Owner == "" {
			l.Owner = tag
		}
	}
	name := func(kind entity.Kind) string {
		if ref := e.ref(kind); ref != nil && *ref != nil {
			if found, ok := tableFor(kind).find(config, (*ref).ID); ok {
				return found.label()
			}
		}
		return ""
	}
	switch e := e.entity.(type) {
	case *entity.Service:
		l.Enabled = *e.Enabled
		l.Cells = []cell{{"Address", urlOf(e)}}
	case *entity.Route:
		l.Cells = []cell{{"Service", name(entity.KindService)}, {"Methods", strings.Join(e.Methods, " ")},
			{"Matches", strings.Join(slices.Concat(e.Hosts, e.Paths), "  ")}}
	case *entity.Plugin:
		l.Enabled = *e.Enabled
		on := []string{}
		for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer} {
			if found := name(kind); found != "" {
				on = append(on, string(kind)+" "+found)
			}
		}
		if len(on) == 0 {
			on = []string{"everything"}
		}
		l.Cells = []cell{{"On", strings.Join(on, ", ")}}
	case *entity.Consumer:
		keys := 0
		for i := range config.Keys {
			if (row{&config.Keys[i]}).refersTo(entity.KindConsumer, e.ID) {
				keys++
			}
		}
		l.Cells = []cell{{"Custom ID", e.CustomID}, {"Keys", strconv.Itoa(keys)}}
	case *entity.Upstream:
		targets := []string{}
		for i := range config.Targets {
			if (row{&config.Targets[i]}).refersTo(entity.KindUpstream, e.ID) {
				targets = append(targets, config.Targets[i].Target)
			}
		}
		l.Cells = []cell{{"Algorithm", e.Algorithm}, {"Targets", strings.Join(targets, "  ")}}
	}
	return l
}

// formView is the page of a form.
func (p *pages) formView(t *table, s session, config *entity.Config, e row) (view, error) {
	v := viewOf("New "+nounOf(t.kind), s)
	v.Back = t.back(e)
	v.Kind, v.Plural, v.Fields = string(t.kind), t.plural, inputs(t.kind, config, p.store.gateway.Kinds())
	if err := fill(v.Fields, e); err != nil {
		return v, err
	}
	if e.meta().ID == "" {
		for i := range v.Fields { // a number that is left empty is the default
			if v.Fields[i].Value == "0" {
				v.Fields[i].Value = ""
			}
		}
	} else {
		l := listedOf(config, e)
		v.Title, v.Entity, v.Fingerprint = l.Label, &l, fingerprint(e)
		if kind, parts := p.partsOf(config, e); kind != "" {
			v.PartKind, v.PartPlural, v.Parts = string(kind), tableFor(kind).plural, parts
		}
	}
	return v, nil
}

// fresh is an entity with the defaults that a form begins with.
func (t *table) fresh() row {
	yes := true
	e := t.blank()
	switch e := e.entity.(type) {
	case *entity.Service:
		e.Protocol, e.Enabled, e.TLSVerify = "http", &yes, &yes
	case *entity.Route:
		e.StripPath = &yes
	case *entity.Plugin:
		e.Enabled = &yes
	}
	return e
}

func (p *pages) showNew(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		config, err := p.configOf(r.Context())
		if err != nil {
			return err
		}
		e := t.fresh()
		// where the link is on the page of one
		for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer, entity.KindUpstream} {
			if id := r.URL.Query().Get(string(kind)); id != "" {
				if ref := e.ref(kind); ref != nil {
					*ref = &entity.Ref{ID: id}
				}
			}
		}
		v, err := p.formView(t, s, config, e)
		if err != nil {
			return err
		}
		return p.show(w, r, http.StatusOK, "edit", v)
	}
}

// named is the entity that the path names by its id.
func (p *pages) named(t *table, config *entity.Config, r *http.Request) (row, error) {
	e, ok := t.find(config, r.PathValue("id"))
	if !ok {
		return row{}, &problem{status: http.StatusNotFound, Message: "There is no such " + string(t.kind) + ", or not any more"}
	}
	return e, nil
}

func (p *pages) showEdit(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		config, err := p.configOf(r.Context())
		if err != nil {
			return err
		}
		e, err := p.named(t, config, r)
		if err != nil {
			return err
		}
		v, err := p.formView(t, s, config, e)
		if err != nil {
			return err
		}
		return p.show(w, r, http.StatusOK, "edit", v)
	}
}

// save creates the entity of a form, or changes that which the path names, unless it
// is not any more what the form was about.
func (p *pages) save(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		config, err := p.configOf(r.Context())
		if err != nil {
			return err
		}
		shown := t.fresh()
		isNew := r.PathValue("id") == ""
		if !isNew {
			if shown, err = p.named(t, config, r); err != nil {
				return err
			}
		}
		v, err := p.formView(t, s, config, shown)
		if err != nil {
			return err
		}
		v.Fingerprint = r.PostForm.Get("seen")
		data, err := entityOf(v.Fields, r.PostForm)
		var made row
		if err == nil {
			made, err = p.store.put(r.Context(), t, func(config *entity.Config) (row, error) { return p.apply(t, config, r, data, v.Fingerprint) })
		}
		var wrong *problem
		if errors.As(err, &wrong) {
			v.Fault = blame(v.Fields, wrong)
			return p.show(w, r, wrong.status, "edit", v)
		}
		if err != nil {
			return err
		}
		if key, ok := made.entity.(*entity.Key); ok {
			p.admin.notice(secretOf(r), "This is the new key. Keep it: it is not shown again", key.Key)
		} else {
			p.admin.notice(secretOf(r), "Saved "+string(t.kind)+" “"+made.label()+"”", "")
		}
		return redirect(w, r, t.back(made))
	}
}

// apply decodes a form onto a new entity, or onto the one that the path names.
func (p *pages) apply(t *table, config *entity.Config, r *http.Request, data []byte, seen string) (row, error) {
	e := t.fresh()
	isNew := r.PathValue("id") == ""
	if !isNew {
		var err error
		if e, err = p.named(t, config, r); err != nil {
			return e, err
		}
		if seen != fingerprint(e) {
			return e, &problem{status: http.StatusConflict, Message: "This was changed meanwhile. Load the page again"}
		}
	}
	id := e.meta().ID
	plugin, isPlugin := e.entity.(*entity.Plugin)
	var before []byte
	if isPlugin {
		before = plugin.Config
	}
	if upstream, ok := e.entity.(*entity.Upstream); ok {
		upstream.Healthchecks = nil // the form has all of it
	}
	if err := decodeEntity(data, e); err != nil {
		return e, undecodable(err)
	}
	e.meta().ID = id
	if isPlugin && len(before) > 0 {
		kept, err := entity.KeepSecrets(plugin.Config, before)
		if err != nil {
			return e, schemaViolation("config", err.Error())
		}
		plugin.Config = kept
	}
	if !isNew {
		return e, nil
	}
	made, err := uuid.NewRandom()
	if err != nil {
		return e, err
	}
	e.meta().ID = made.String()
	return e, t.insert(config, e)
}

func (p *pages) showDelete(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		config, err := p.configOf(r.Context())
		if err != nil {
			return err
		}
		e, err := p.named(t, config, r)
		if err != nil {
			return err
		}
		l := listedOf(config, e)
		v := viewOf("Delete "+nounOf(t.kind)+" “"+l.Label+"”?", s)
		v.Kind, v.Plural, v.Entity = string(t.kind), t.plural, &l
		v.Back, v.Consequence = t.back(e), consequence(t.kind)
		if ownerKind(t.kind) == "" {
			v.Back += "/" + l.ID
		}
		return p.show(w, r, http.StatusOK, "delete", v)
	}
}

func (p *pages) delete(t *table) sessionFunc {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
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
		p.admin.notice(secretOf(r), "Deleted "+nounOf(t.kind)+" “"+label+"”", "")
		return redirect(w, r, back)
	}
}
