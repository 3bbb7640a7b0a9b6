package admin

import (
	"encoding/json"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// decodeEntity reads the text of a request onto an entity.
func decodeEntity(data []byte, into row) error {
	return entity.Decode(shortenRefs(data, into), into.entity)
}

// shortenRefs reduces references to other entities to an id, or else a
// name, which is a username for a consumer. Clients also send other members of
// the entity.
func shortenRefs(data []byte, into row) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil { // which the decoder explains
		return data
	}
	changed := false
	for _, t := range tables() {
		if into.ref(t.kind) == nil {
			continue
		}
		var reference struct {
			ID       *string `json:"id"`
			Name     *string `json:"name"`
			Username *string `json:"username"`
		}
		if json.Unmarshal(members[string(t.kind)], &reference) != nil {
			continue
		}
		short := map[string]string{}
		switch {
		case reference.ID != nil:
			short["id"] = *reference.ID
		case reference.Username != nil && t.kind == entity.KindConsumer:
			short["name"] = *reference.Username
		case reference.Name != nil:
			short["name"] = *reference.Name
		default:
			continue
		}
		if text, err := json.Marshal(short); err == nil {
			members[string(t.kind)], changed = text, true
		}
	}
	if !changed {
		return data
	}
	made, err := json.Marshal(members)
	if err != nil { // of raw messages that have been read, it never is
		return data
	}
	return made
}

// decodeChange decodes a change of some fields onto an entity. The configuration of a
// plugin is merged.
func decodeChange(data []byte, e row) error {
	plugin, ok := e.entity.(*entity.Plugin)
	if !ok {
		return decodeEntity(data, e)
	}
	before := plugin.Config
	plugin.Config = nil
	if err := decodeEntity(data, e); err != nil {
		return err
	}
	if plugin.Config == nil {
		plugin.Config = before
	} else {
		plugin.Config = mergeJSON(before, plugin.Config)
	}
	return nil
}
