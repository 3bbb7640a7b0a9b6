package annotate

import (
	"encoding/json"
	"fmt"
)

// Prefixes of the keys of stored documents.
const (
	channelPrefix    = "channels/"
	annotationPrefix = "annotations/"
	claimPrefix      = "claims/"
	instancePrefix   = "instances/"
)

// wish is what is stored of a channel: what is wanted of it, whoever runs it.
type wish struct {
	ChannelConfig
	// Incarnation tells channels apart that had one identifier in turn.
	Incarnation string
	// Restarts counts the restarts that were asked for; who runs the channel
	// restarts it when the count goes up.
	Restarts uint64
	// Removing says that the channel is deleted for clients, and that who runs
	// it has yet to stop it and to tidy up at its broker.
	Removing bool
}

func (w wish) clone() wish {
	w.ChannelConfig = w.ChannelConfig.clone()
	return w
}

func (w *wish) keep(b bookkeeping) {
	w.Incarnation, w.Restarts, w.Removing = b.Incarnation, b.Restarts, b.Removing
}

// record is a wish as it is stored: the channel's output form, with the
// credentials apart, by the name of their topic.
type record struct {
	Settings    Settings          `json:"settings"`
	Metadata    Metadata          `json:"metadata"`
	Status      Status            `json:"status"`
	Credentials map[string]string `json:"credentials,omitempty"`
	bookkeeping
}

// bookkeeping is the part of a record that clients never see.
type bookkeeping struct {
	Incarnation string `json:"incarnation,omitempty"`
	Restarts    uint64 `json:"restarts,omitempty"`
	Removing    bool   `json:"removing,omitempty"`
}

// encodeRecord returns the stored form of a channel.
func encodeRecord(w wish, s sealer) ([]byte, error) {
	w = w.clone()
	r := record{w.Settings, w.Metadata, w.Status, map[string]string{}, bookkeeping{w.Incarnation, w.Restarts, w.Removing}}
	for _, topic := range r.Settings.topics() {
		for _, l := range topic.logins() {
			if *l.user == "" && *l.password == "" {
				continue
			}
			sealed, err := s.seal(w.Settings.ChannelID+" "+l.place, credentials{*l.user, *l.password})
			if err != nil {
				return nil, fmt.Errorf("encode channel %q: %w", w.Settings.ChannelID, err)
			}
			r.Credentials[l.place] = sealed
			*l.user, *l.password = "", ""
		}
	}
	return json.Marshal(r)
}

// decodeRecord reads the stored form of a channel. When only the credentials
// cannot be read it returns the channel without them, and an error that
// matches ErrSecret.
func decodeRecord(data []byte, s sealer) (wish, error) {
	var w wish
	var hidden struct {
		Credentials map[string]string `json:"credentials"`
		bookkeeping
	}
	if err := json.Unmarshal(data, &w.ChannelConfig); err != nil {
		return w, err
	}
	if err := json.Unmarshal(data, &hidden); err != nil {
		return w, err
	}
	w.keep(hidden.bookkeeping)
	for _, topic := range w.Settings.topics() {
		for _, l := range topic.logins() {
			stored, ok := hidden.Credentials[l.place]
			if !ok {
				continue
			}
			c, err := s.open(w.Settings.ChannelID+" "+l.place, stored)
			if err != nil {
				return w, fmt.Errorf("settings.%s: %w", l.field, err)
			}
			*l.user, *l.password = c.User, c.Password
		}
	}
	return w, nil
}

// decodeBookkeeping reads what every service can read of a record, whatever
// its secret.
func decodeBookkeeping(data []byte) bookkeeping {
	var b bookkeeping
	_ = json.Unmarshal(data, &b) // what cannot be read is empty
	return b
}

// markRemoving returns a record with the mark that the channel is deleted. It
// does so without reading the rest, which may be sealed under a secret that
// this service does not have.
func markRemoving(data []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		members = map[string]json.RawMessage{}
	}
	members["removing"] = json.RawMessage("true")
	return json.Marshal(members)
}
