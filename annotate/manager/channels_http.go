package manager

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// channelView is what GET shows of a channel; the query says which members.
type channelView struct {
	Status   *statusView   `json:"status,omitempty"`
	Metadata *metadataForm `json:"metadata,omitempty"`
	Settings *settingsForm `json:"settings,omitempty"`
}

// statusView is the status with counts of failures. The counts are those of this instance
// since it has the channel.
type statusView struct {
	statusForm
	MessagesWithoutStatements uint64 `json:"messagesWithoutStatements,omitempty"`
	Unmatched                 uint64 `json:"unmatched,omitempty"`
	Invalid                   uint64 `json:"invalid,omitempty"`
	Warned                    uint64 `json:"warned,omitempty"`
	IllTypedLiterals          uint64 `json:"illTypedLiterals,omitempty"`
	IrregularRows             uint64 `json:"irregularRows,omitempty"`
}

func (r *rest) viewChannel(c Channel, req *http.Request) channelView {
	var view channelView
	all := flag(req, "all")
	if all || flag(req, "status") {
		s := r.noticed(c.ID)
		view.Status = &statusView{
			statusForm:                statusOf(&c.ChannelConfig.ChannelConfig, c.Status),
			MessagesWithoutStatements: s.Empty, Unmatched: s.Unmatched, Invalid: s.Invalid, Warned: s.Warned,
			IllTypedLiterals: s.IllTyped, IrregularRows: s.IrregularRows,
		}
	}
	if all || flag(req, "settings") {
		settings := r.manager.records.forms.settings(c.ChannelConfig)
		view.Settings = &settings
	}
	if all || flag(req, "metadata") {
		metadata := metadataOf(c.ChannelConfig, all || flag(req, "rml"))
		view.Metadata = &metadata
	}
	return view
}

// noticed returns the counts of a channel that its status shows.
func (r *rest) noticed(id string) annotate.Stats {
	e, err := r.manager.channels.find(id)
	if err != nil {
		return annotate.Stats{}
	}
	return e.stats()
}

func (r *rest) listChannels(w http.ResponseWriter, req *http.Request) error {
	views := map[string]channelView{}
	for _, c := range r.manager.List() {
		views[c.ID] = r.viewChannel(c, req)
	}
	return httpapi.WriteJSON(w, views)
}

func (r *rest) getChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	c, err := r.manager.Get(id)
	if err != nil {
		return channelError(err, id)
	}
	return httpapi.WriteJSON(w, r.viewChannel(c, req))
}

func (r *rest) createChannel(w http.ResponseWriter, req *http.Request) error {
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	config, _, err := r.manager.records.forms.read(data)
	if err != nil {
		return err
	}
	id, err := r.manager.Create(req.Context(), config)
	if err != nil {
		return channelError(err, config.ID)
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
	update, empty, err := decodeUpdate(data)
	if err != nil {
		return err
	}
	if _, err := r.manager.Get(id); err != nil {
		return channelError(err, id)
	}
	if empty {
		return &httpapi.Error{Status: http.StatusUnprocessableEntity,
			Detail: "Wrong settings: ChannelStatus object was empty, so no updates were made."}
	}
	outcome, err := r.manager.Patch(req.Context(), id, update)
	if err != nil {
		return channelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, outcome.text()+" channel with ID: "+id)
	return nil
}

func (o Outcome) text() string {
	switch o {
	case Updated:
		return "Updated settings for"
	case Stopped:
		return "Updated settings and stopped"
	case Started:
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
		return channelError(err, id)
	}
	return httpapi.WriteJSON(w, mappingOf(c.Mapping, true))
}

func (r *rest) replaceMapping(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	if _, err := r.manager.Get(id); err != nil {
		return channelError(err, id)
	}
	mapping, err := decodeMapping(data)
	if err != nil {
		return err
	}
	if err := r.manager.SetMapping(req.Context(), id, mapping); err != nil {
		return channelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Replaced mapping of channel with ID: "+id)
	return nil
}

// stopError is channelError for operations that stop a channel, which the original service
// names in the text for a missing one.
func stopError(err error, id string) error {
	if errors.Is(err, ErrChannelNotFound) {
		return &httpapi.Error{Status: http.StatusNotFound, Err: err,
			Detail: "Channel ID not found: Cannot stop channel. No channel with ID " + id}
	}
	return channelError(err, id)
}

// channelError maps errors about a channel to those of the REST contract.
func channelError(err error, id string) error {
	switch {
	case errors.Is(err, ErrChannelNotFound):
		return &httpapi.Error{Status: http.StatusNotFound, Detail: "Channel ID not found: No channel with ID: " + id, Err: err}
	case errors.Is(err, ErrChannelExists):
		return &httpapi.Error{Status: http.StatusBadRequest, Err: err,
			Detail: "Channel ID exception: Cannot create new channel with given ID. Found existing channel with ID " + id}
	}
	if known := classify(err); known != nil {
		return known
	}
	return &httpapi.Error{Status: http.StatusInternalServerError, Detail: "Channel management error: " + err.Error()}
}
