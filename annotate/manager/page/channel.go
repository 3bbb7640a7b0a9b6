package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// get returns the channel of a request.
func (p *pages) get(r *http.Request) (manager.Channel, error) {
	id := r.PathValue("id")
	c, err := p.manager.Get(id)
	if err != nil {
		return c, rest.ChannelError(err, id)
	}
	return c, nil
}

// row returns a channel as a row, with its counts.
func (p *pages) row(c manager.Channel) row {
	did := p.manager.Activity(c.ID)
	return newRow(c).withWarning(did.Warning()).withCounts(did.Stats())
}

// wholeRow returns a channel as a row that says whether messages with warnings are kept.
func (p *pages) wholeRow(c manager.Channel) row {
	one := p.row(c)
	one.HasWarned = len(p.manager.Activity(c.ID).Warned()) > 0
	return one
}

// channelPage is the page of a channel.
type channelPage struct {
	shell.Frame
	Row      row
	Channel  manager.Channel
	Topics   []topicView
	Settings string // as JSON
	Failures int    // kept ones
}

func (p *pages) channel(w http.ResponseWriter, r *http.Request) error {
	c, err := p.get(r)
	if err != nil {
		return err
	}
	settings, err := json.MarshalIndent(p.forms.Settings(c.Form()), "", "  ")
	if err != nil {
		return fmt.Errorf("show channel %q: %w", c.ID, err)
	}
	one := p.wholeRow(c)
	view := channelPage{
		Frame:    p.part.Frame(r, one.Name, channelCrumbs(one)...),
		Row:      one,
		Channel:  c,
		Topics:   newTopicViews(c),
		Settings: string(settings),
		Failures: len(p.manager.Activity(c.ID).Failures()),
	}
	return p.part.Show(w, r, http.StatusOK, "channel.html", &view)
}

// channelCrumbs leads to a page of the channel.
func channelCrumbs(one row, below ...shell.Crumb) []shell.Crumb {
	return append([]shell.Crumb{{Name: one.Name, Href: channelHref(one.ID)}}, below...)
}

// topicView is a topic of a channel as its page shows it.
type topicView struct {
	Role, Name, Broker, At string
	Off                    bool
}

func newTopicViews(c manager.Channel) []topicView {
	var views []topicView
	for _, t := range c.Topics() {
		off := (t.Role == annotate.MonitorInputTopic && c.Status.Off.MonitorInput) ||
			(t.Role == annotate.MonitorOutputTopic && c.Status.Off.MonitorOutput) || (t.Role == annotate.ErrorTopic && c.Status.Off.Error)
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
	c, err := p.get(r)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.wholeRow(c))
}

func startNow(m *manager.Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, manager.Update{Run: manager.On})
	return err
}

func stopNow(m *manager.Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, manager.Update{Run: manager.Off})
	return err
}

// act returns the handler of a form that changes a channel, and leads back to its page.
func (p *pages) act(do func(m *manager.Manager, ctx context.Context, id string) error, done string) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if err := do(p.manager, r.Context(), id); err != nil {
			return rest.ChannelError(err, id)
		}
		return shell.SeeOther(w, "../"+url.PathEscape(id), "The channel is "+done+".")
	}
}

func (p *pages) remove(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.manager.Delete(r.Context(), id); err != nil {
		return rest.ChannelError(err, id)
	}
	return shell.SeeOther(w, "../../", "The channel "+id+" is removed, and so is its subscription.")
}
