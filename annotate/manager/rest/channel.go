package rest

import (
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// channelView is what GET shows of a channel; the query says which members.
type channelView struct {
	Status   *statusView           `json:"status,omitempty"`
	Metadata *channelform.Metadata `json:"metadata,omitempty"`
	Settings *channelform.Settings `json:"settings,omitempty"`
}

// statusView is the status with counts of failures. The counts are those of this instance
// since it has the channel.
type statusView struct {
	channelform.Status
	MessagesWithoutStatements uint64 `json:"messagesWithoutStatements,omitempty"`
	Unmatched                 uint64 `json:"unmatched,omitempty"`
	Invalid                   uint64 `json:"invalid,omitempty"`
	Warned                    uint64 `json:"warned,omitempty"`
	IllTypedLiterals          uint64 `json:"illTypedLiterals,omitempty"`
	IrregularRows             uint64 `json:"irregularRows,omitempty"`
}

func (r *rest) viewChannel(c manager.Channel, query url.Values) channelView {
	var view channelView
	all := flag(query, "all")
	if all || flag(query, "status") {
		s := r.manager.Activity(c.ID).Stats()
		view.Status = &statusView{
			Status:                    channelform.StatusOf(&c.ChannelConfig.ChannelConfig, channelform.State(c.Status)),
			MessagesWithoutStatements: s.Empty, Unmatched: s.Unmatched, Invalid: s.Invalid, Warned: s.Warned,
			IllTypedLiterals: s.IllTyped, IrregularRows: s.IrregularRows,
		}
	}
	if all || flag(query, "settings") {
		settings := r.forms.Settings(c.Form())
		view.Settings = &settings
	}
	if all || flag(query, "metadata") {
		form := c.Form()
		metadata := form.Metadata(all || flag(query, "rml"))
		view.Metadata = &metadata
	}
	return view
}

func (r *rest) listChannels(w http.ResponseWriter, req *http.Request) error {
	views := map[string]channelView{}
	query := req.URL.Query()
	for c := range r.manager.All() {
		views[c.ID] = r.viewChannel(c, query)
	}
	return httpapi.WriteJSON(w, views)
}

func (r *rest) getChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	c, err := r.manager.Get(id)
	if err != nil {
		return ChannelError(err, id)
	}
	return httpapi.WriteJSON(w, r.viewChannel(c, req.URL.Query()))
}

func (r *rest) createChannel(w http.ResponseWriter, req *http.Request) error {
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	config, err := r.manager.ReadChannel(data)
	if err != nil {
		return err
	}
	id, err := r.manager.Create(req.Context(), config)
	if err != nil {
		return ChannelError(err, config.ID)
	}
	httpapi.WriteText(w, http.StatusOK, id)
	return nil
}

func (r *rest) patchChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	switches, empty, err := channelform.DecodeSwitches(data)
	if err != nil {
		return err
	}
	if _, err := r.manager.Get(id); err != nil {
		return ChannelError(err, id)
	}
	if empty {
		return &httpapi.Error{Status: http.StatusUnprocessableEntity,
			Detail: "Wrong settings: ChannelStatus object was empty, so no updates were made."}
	}
	outcome, err := r.manager.Patch(req.Context(), id, newUpdate(switches))
	if err != nil {
		return ChannelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, outcomeText(outcome)+" channel with ID: "+id)
	return nil
}

// newUpdate returns the change that a client asks for.
func newUpdate(s channelform.Switches) manager.Update {
	change := func(on *bool) manager.Switch {
		switch {
		case on == nil:
			return manager.Keep
		case *on:
			return manager.On
		}
		return manager.Off
	}
	return manager.Update{
		Run: change(s.Run), MonitorInput: change(s.MonitorInput), MonitorOutput: change(s.MonitorOutput), Error: change(s.Error),
	}
}

func outcomeText(o manager.Outcome) string {
	switch o {
	case manager.Updated:
		return "Updated settings for"
	case manager.Stopped:
		return "Updated settings and stopped"
	case manager.Started:
		return "Updated settings and started"
	}
	return "No updates were made to channel status for"
}

func (r *rest) restartChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	if err := r.manager.Restart(req.Context(), id); err != nil {
		return stopError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Restarted channel with ID: "+id)
	return nil
}

func (r *rest) deleteChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	if err := r.manager.Delete(req.Context(), id); err != nil {
		return stopError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Stopped and removed channel with ID: "+id)
	return nil
}

func (r *rest) getMapping(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	c, err := r.manager.Get(id)
	if err != nil {
		return ChannelError(err, id)
	}
	return httpapi.WriteJSON(w, channelform.MappingOf(c.Mapping, true))
}

func (r *rest) replaceMapping(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	if _, err := r.manager.Get(id); err != nil {
		return ChannelError(err, id)
	}
	mapping, err := channelform.DecodeMapping(data)
	if err != nil {
		return err
	}
	if err := r.manager.SetMapping(req.Context(), id, mapping); err != nil {
		return ChannelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Replaced mapping of channel with ID: "+id)
	return nil
}
