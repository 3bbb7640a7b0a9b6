package annotate

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// channelView is what GET shows of a channel; the query says which members.
type channelView struct {
	Status   *statusView   `json:"status,omitempty"`
	Metadata *metadataView `json:"metadata,omitempty"`
	Settings *Settings     `json:"settings,omitempty"`
}

// statusView is Status with the counts of what deserves a look. They are those
// of this instance since it has the channel.
type statusView struct {
	Status
	MessagesWithoutStatements uint64 `json:"messagesWithoutStatements,omitempty"`
	IllTypedLiterals          uint64 `json:"illTypedLiterals,omitempty"`
}

// metadataView is Metadata with or without the text of the mapping.
type metadataView struct {
	Name        string          `json:"name,omitempty"`
	Author      string          `json:"author,omitempty"`
	Description string          `json:"description,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Mapping     json.RawMessage `json:"mapping"`
}

func (r *rest) viewChannel(config ChannelConfig, req *http.Request) (channelView, error) {
	var view channelView
	all := flag(req, "all")
	if all || flag(req, "status") {
		empty, illTyped := r.manager.noticed(config.Settings.ChannelID)
		view.Status = &statusView{config.Status, empty, illTyped}
	}
	if all || flag(req, "settings") {
		view.Settings = &config.Settings
	}
	if all || flag(req, "metadata") {
		mapping, err := config.Metadata.Mapping.encode(all || flag(req, "rml"))
		if err != nil {
			return view, err
		}
		d := config.Metadata
		view.Metadata = &metadataView{d.Name, d.Author, d.Description, d.Tags, mapping}
	}
	return view, nil
}

func (r *rest) listChannels(w http.ResponseWriter, req *http.Request) error {
	views := map[string]channelView{}
	for _, config := range r.manager.List() {
		view, err := r.viewChannel(config, req)
		if err != nil {
			return channelError(err, config.Settings.ChannelID)
		}
		views[config.Settings.ChannelID] = view
	}
	return httpapi.WriteJSON(w, views)
}

func (r *rest) getChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	config, err := r.manager.Get(id)
	if err != nil {
		return channelError(err, id)
	}
	view, err := r.viewChannel(config, req)
	if err != nil {
		return channelError(err, id)
	}
	return httpapi.WriteJSON(w, view)
}

func (r *rest) createChannel(w http.ResponseWriter, req *http.Request) error {
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	var config ChannelConfig
	if err := config.UnmarshalJSON(data); err != nil {
		return err
	}
	id, err := r.manager.Create(req.Context(), config)
	if err != nil {
		return channelError(err, config.Settings.ChannelID)
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
	var update StatusUpdate
	if err := update.UnmarshalJSON(data); err != nil {
		return err
	}
	if _, err := r.manager.Get(id); err != nil {
		return channelError(err, id)
	}
	if update.IsEmpty() {
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
		return channelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Restarted channel with ID: "+id)
	return nil
}

func (r *rest) deleteChannel(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	if err := r.manager.Delete(req.Context(), id); err != nil {
		return channelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Stopped and removed channel with ID: "+id)
	return nil
}

func (r *rest) getMapping(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("channelId")
	config, err := r.manager.Get(id)
	if err != nil {
		return channelError(err, id)
	}
	return httpapi.WriteJSON(w, config.Metadata.Mapping)
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
	var mapping Mapping
	if err := mapping.UnmarshalJSON(data); err != nil {
		return err
	}
	if err := r.manager.SetMapping(req.Context(), id, mapping); err != nil {
		return channelError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Replaced mapping of channel with ID: "+id)
	return nil
}

// channelError gives errors about a channel the words that clients know.
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
