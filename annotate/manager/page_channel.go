package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// entry returns the channel of a request.
func (p *pages) entry(r *http.Request) (*entry, error) {
	id := r.PathValue("id")
	e, err := p.manager.channels.find(id)
	if err != nil {
		return nil, channelError(err, id)
	}
	return e, nil
}

// find returns the channel of a request as a row.
func (p *pages) find(r *http.Request) (row, error) {
	e, err := p.entry(r)
	if err != nil {
		return row{}, err
	}
	one := rowOf(e).stateOf(e).withCounts(e.stats())
	one.HasWarned = len(e.warned()) > 0
	return one, nil
}

// channelPage is the page of a channel.
type channelPage struct {
	shell.Frame
	Row      row
	Channel  Channel
	Topics   []topicView
	Settings string // as JSON
	Failures int    // kept ones
}

func (p *pages) channel(w http.ResponseWriter, r *http.Request) error {
	e, err := p.entry(r)
	if err != nil {
		return err
	}
	c := e.view()
	settings, err := json.MarshalIndent(p.manager.records.forms.settings(c.ChannelConfig), "", "  ")
	if err != nil {
		return fmt.Errorf("show channel %q: %w", e.id, err)
	}
	one := rowOf(e).withStatus(c.Status).withWarning(e.warning()).withCounts(e.stats())
	one.HasWarned = len(e.warned()) > 0
	view := channelPage{p.part.Frame(r, one.Name, crumbsOf(one)...), one, c, topicsOf(c), string(settings), len(e.failures())}
	return p.part.Show(w, r, http.StatusOK, "channel.html", &view)
}

// crumbsOf leads to a page of the channel.
func crumbsOf(one row, below ...shell.Crumb) []shell.Crumb {
	return append([]shell.Crumb{{Name: one.Name, Href: channelHref(one.ID)}}, below...)
}

// topicView is a topic of a channel as its page shows it.
type topicView struct {
	Role, Name, Broker, At string
	Off                    bool
}

func topicsOf(c Channel) []topicView {
	var views []topicView
	for _, t := range c.Topics() {
		off := t.Role == annotate.MonitorInputTopic && c.Status.Off.MonitorInput ||
			t.Role == annotate.MonitorOutputTopic && c.Status.Off.MonitorOutput || t.Role == annotate.ErrorTopic && c.Status.Off.Error
		view := topicView{Role: roleText(t.Role), Name: t.Name, Broker: string(t.Broker), Off: off}
		if t.Settings != nil {
			view.At = t.Settings.String()
		}
		views = append(views, view)
	}
	return views
}

func roleText(role annotate.TopicRole) string {
	return map[annotate.TopicRole]string{annotate.InputTopic: "Input", annotate.OutputTopic: "Output",
		annotate.MonitorInputTopic: "Notes about input", annotate.MonitorOutputTopic: "Notes about output", annotate.ErrorTopic: "Errors"}[role]
}

func (p *pages) state(w http.ResponseWriter, r *http.Request) error {
	one, err := p.find(r)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, one)
}

func startNow(m *Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, Update{Run: On})
	return err
}

func stopNow(m *Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, Update{Run: Off})
	return err
}

// act returns the handler of a form that changes a channel, and leads back to its page.
func (p *pages) act(do func(m *Manager, ctx context.Context, id string) error, done string) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if err := do(p.manager, r.Context(), id); err != nil {
			return channelError(err, id)
		}
		return shell.SeeOther(w, "../"+url.PathEscape(id), "The channel is "+done+".")
	}
}

func (p *pages) remove(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.manager.Delete(r.Context(), id); err != nil {
		return channelError(err, id)
	}
	return shell.SeeOther(w, "../../", "The channel "+id+" is removed, and so is its subscription.")
}
