package page

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// maxForm is the largest form of a channel in bytes; a mapping is most of it.
const maxForm = 8 << 20

// connectionTrials is how many forms have their connections tried at a time.
const connectionTrials = 4

// new shows the form of a channel, with what another page suggests.
func (p *pages) new(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if id := values.Get("annotation"); id != "" {
		m, err := p.manager.Annotations().Get(r.Context(), id)
		if err != nil {
			return rest.AnnotationError(err, id)
		}
		values.Set("mappingName", m.Name)
		values.Set("rml", m.RML)
		values.Set("shapes", m.Shapes)
		values.Set("language", string(m.Language))
		values.Set("inputFormat", string(m.InputFormat))
		values.Set("outputFormat", string(m.OutputFormat))
	}
	v, err := p.newForm(r, nil)
	if err != nil {
		return err
	}
	v.Fill(values)
	v.MappingName = values.Get("mappingName")
	return p.showForm(w, r, http.StatusOK, v)
}

// create creates a channel of the form, or shows it again: with a mapping that is suggested
// for its sample, with the result of its connections, with the mapping of the workbench, or
// with what is wrong.
func (p *pages) create(w http.ResponseWriter, r *http.Request) error {
	v, err := p.sentForm(w, r, nil)
	if err != nil {
		return err
	}
	switch r.PostForm.Get("action") {
	case "suggest":
		s, err := suggest.Mapping([]byte(r.PostForm.Get("sample")), nil)
		if err != nil {
			v.blame(v.Find("sample"), err)
			return p.showForm(w, r, http.StatusUnprocessableEntity, v)
		}
		v.Find("rml").Value = s.Mapping
		v.Find("language").Value = string(annotate.LanguageRML)
		v.Find("inputFormat").Value = string(s.Format)
		return p.showForm(w, r, http.StatusOK, v)
	case "connect":
		return p.showTried(w, r, v)
	case "create":
	default: // from the workbench, with a sample and a mapping
		return p.showForm(w, r, http.StatusOK, v)
	}
	config, err := p.read(v)
	if err == nil {
		var id string
		if id, err = p.manager.Create(r.Context(), config); err == nil {
			return shell.SeeOther(w, channelHref(id), "The channel is created.")
		}
	}
	return p.showWrong(w, r, v, err)
}

// edit shows the form with a channel.
func (p *pages) edit(w http.ResponseWriter, r *http.Request) error {
	c, err := p.get(r)
	if err != nil {
		return err
	}
	v, err := p.newForm(r, &c)
	if err != nil {
		return err
	}
	return p.showForm(w, r, http.StatusOK, v)
}

// change gives a channel what the form says, or shows it again.
func (p *pages) change(w http.ResponseWriter, r *http.Request) error {
	c, err := p.get(r)
	if err != nil {
		return err
	}
	v, err := p.sentForm(w, r, &c)
	if err != nil {
		return err
	}
	if r.PostForm.Get("action") == "connect" {
		return p.showTried(w, r, v)
	}
	config, err := p.read(v)
	if err == nil {
		err = p.manager.ReplaceIf(r.Context(), c.ID, config, func(now manager.ChannelConfig) error {
			if v.Base != p.fingerprint(now) {
				return errChanged
			}
			return nil
		})
	}
	switch {
	case errors.Is(err, errChanged):
		v.Fault = "The channel was changed meanwhile. Open its page again to see the change; saving this form now replaces it."
		now, err := p.get(r)
		if err != nil {
			return err
		}
		v.Base = p.fingerprint(now.ChannelConfig)
		return p.showForm(w, r, http.StatusConflict, v)
	case err != nil:
		return p.showWrong(w, r, v, err)
	}
	return shell.SeeOther(w, "../"+url.PathEscape(c.ID), "The channel has the new settings.")
}

// errChanged means that a channel is not as it was when its form was first
// shown.
var errChanged = errors.New("annotate: channel was changed meanwhile")

// fingerprint identifies the configuration of a channel.
func (p *pages) fingerprint(c manager.ChannelConfig) string {
	form := c.Form()
	text, err := json.Marshal([]any{form.Metadata(true), p.forms.Settings(form)})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// showWrong shows the form with what is wrong with it, or returns an error that is not about it.
func (p *pages) showWrong(w http.ResponseWriter, r *http.Request, v *formView, err error) error {
	e := &httpapi.Error{}
	if known := rest.ChannelError(err, cmp.Or(v.ID, v.Get("id"))); !errors.As(known, &e) || e.Status >= 500 {
		return known
	}
	v.blame(v.fieldOf(err), err)
	return p.showForm(w, r, http.StatusUnprocessableEntity, v)
}

// blame shows an error above the form, and at the field that it is about, which may be nil.
func (v *formView) blame(at *form.Field, err error) {
	v.Fault = sentence(err)
	if at != nil {
		at.Fault = v.Fault
	}
}

// triedView is what came of connecting to the broker of a topic.
type triedView struct {
	Topic  string `json:"topic"` // what it is for
	At     string `json:"at"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// showTried shows the form with the result of its connections.
func (p *pages) showTried(w http.ResponseWriter, r *http.Request, v *formView) error {
	tried, err := p.try(r.Context(), v)
	if err != nil {
		return p.showWrong(w, r, v, err)
	}
	v.Tried = tried
	return p.showForm(w, r, http.StatusOK, v)
}

// connect answers a script with the result of the connections of a form.
func (p *pages) connect(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	var channel *manager.Channel
	if id := r.PostForm.Get("channel"); id != "" {
		c, err := p.manager.Get(id)
		if err != nil {
			return rest.ChannelError(err, id)
		}
		channel = &c
	}
	v, err := p.sentForm(w, r, channel)
	if err != nil {
		return err
	}
	tried, err := p.try(r.Context(), v)
	if err != nil {
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Detail: sentence(err), Err: err}
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, tried)
}

// try connects to the brokers of a form as its channel would, all at once. It says what the
// status of the channel would say.
func (p *pages) try(ctx context.Context, v *formView) ([]triedView, error) {
	release, err := p.connections.Take()
	if err != nil {
		return nil, err
	}
	defer release()
	const open = "-" // stands for what is not needed yet
	for name, byDefault := range map[string]string{"rml": open, "outputTopic": open,
		"inputFormat": string(annotate.JSON), "outputFormat": string(annotate.Turtle)} {
		if f := v.Find(name); v.Get(name) == "" {
			f.Value = byDefault
			defer func() { f.Value = "" }()
		}
	}
	read, err := p.read(v)
	channel := read.Form()
	if err == nil && v.channel != nil {
		err = p.forms.KeepSecrets(v.channel.Form(), &channel)
	}
	if err != nil {
		return nil, err
	}
	config := p.env.Complete(channel.ChannelConfig)
	topics := slices.DeleteFunc(config.Topics(), func(t annotate.RoleTopic) bool { return t.Name == open })
	tried := make([]triedView, 0, len(topics)) // with room for all: their trials refer to them
	var trials sync.WaitGroup
	for _, topic := range topics {
		tried = append(tried, triedView{Topic: roleText(topic.Role)})
		view := &tried[len(tried)-1]
		if topic.Settings != nil {
			view.At, _, _ = strings.Cut(topic.Settings.String(), " (")
		}
		trials.Go(func() {
			err := p.env.TryConnection(ctx, *topic.Topic, topic.Role)
			if view.OK = err == nil; err != nil {
				view.Reason = sentence(err)
			}
		})
	}
	trials.Wait()
	return tried, nil
}
