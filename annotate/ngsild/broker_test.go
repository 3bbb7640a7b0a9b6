package ngsild_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// broker is a stand-in for an NGSI-LD broker. It checks what ETSI GS CIM 009 V1.8.1 asks of a
// request, and keeps the entities as its section 5.6.8 says.
type broker struct {
	*httptest.Server
	mu       sync.Mutex
	entities map[string]map[string]any
	requests []*http.Request
	bodies   []string
	// answer may answer a request in place of the broker: with a status other than 0.
	answer func(entities []map[string]any) (status int, body string)
}

func startBroker(t *testing.T) *broker {
	b := &broker{entities: map[string]map[string]any{}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

func (b *broker) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := io.ReadAll(r.Body)
	var entities []map[string]any
	if err == nil {
		err = json.Unmarshal(text, &entities)
	}
	b.requests, b.bodies = append(b.requests, r), append(b.bodies, string(text))
	query := r.URL.RawQuery
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/ngsi-ld/v1/entityOperations/upsert":
		w.WriteHeader(http.StatusNotFound)
		return
	case (query != "" && query != "options=update") || r.Header.Get("Content-Type") != "application/json" || err != nil:
		refuse(w, fmt.Sprint("not a batch: ", query, err))
		return
	case len(entities) == 0:
		refuse(w, "the array is empty")
		return
	}
	if b.answer != nil {
		if status, body := b.answer(entities); status != 0 {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "CREDENTIALS", r.Header.Get("Authorization")))
			return
		}
	}
	var created, updated, wrong []string
	for _, e := range entities {
		id, _ := e["id"].(string)
		if err := checkEntity(e); err != nil {
			wrong = append(wrong, fmt.Sprintf(`{"entityId": %q, "error": {"type": "https://uri.etsi.org/ngsi-ld/errors/BadRequestData",
				"title": "Bad entity", "detail": %q, "status": 400}}`, id, err))
			continue
		}
		if slices.Contains(append(created, updated...), id) {
			refuse(w, "the entity "+id+" is there twice")
			return
		}
		if b.entities[id] == nil {
			created = append(created, id)
		} else {
			updated = append(updated, id)
		}
		b.keep(id, e, query == "")
	}
	switch {
	case len(wrong) > 0:
		success, _ := json.Marshal(append(created, updated...))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = fmt.Fprintf(w, `{"success": %s, "errors": [%s]}`, success, strings.Join(wrong, ","))
	case len(created) > 0:
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(created)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func refuse(w http.ResponseWriter, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"type": "https://uri.etsi.org/ngsi-ld/errors/BadRequestData", "title": "Bad request", "detail": %q}`, detail)
}

// keep adds the attributes of an entity, instance by instance.
func (b *broker) keep(id string, e map[string]any, replace bool) {
	old := b.entities[id]
	if old == nil || replace {
		b.entities[id] = e
		return
	}
	for name, value := range e {
		if name == "id" || name == "type" {
			old[name] = value
			continue
		}
		kept := instances(old[name])
		for _, added := range instances(value) {
			kept = slices.DeleteFunc(kept, func(k map[string]any) bool { return k["datasetId"] == added["datasetId"] })
			kept = append(kept, added)
		}
		old[name] = kept
	}
}

// instances returns the instances of an attribute.
func instances(value any) (list []map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []map[string]any:
		return v
	case []any:
		for _, element := range v {
			o, _ := element.(map[string]any)
			list = append(list, o)
		}
	}
	return list
}

func isURI(value any) bool {
	text, _ := value.(string)
	at, err := url.Parse(text)
	return err == nil && at.Scheme != ""
}

// checkEntity checks an entity in the normalised representation (section 5.2.4).
func checkEntity(e map[string]any) error {
	if !isURI(e["id"]) {
		return fmt.Errorf("id: not a URI: %v", e["id"])
	}
	switch types := e["type"].(type) {
	case string:
	case []any:
		if len(types) == 0 {
			return fmt.Errorf("type: empty")
		}
	default:
		return fmt.Errorf("type: %v", e["type"])
	}
	for name, value := range e {
		if name == "id" || name == "type" {
			continue
		}
		if !isURI(name) {
			return fmt.Errorf("%s: no URI, and no @context has it", name)
		}
		list := instances(value)
		if len(list) == 0 {
			return fmt.Errorf("%s: no attribute", name)
		}
		sets := map[any]bool{}
		for _, instance := range list {
			if set, there := instance["datasetId"]; sets[set] || (there && !isURI(set)) {
				return fmt.Errorf("%s: datasetId %v", name, set)
			}
			sets[instance["datasetId"]] = true
			if err := checkAttribute(instance); err != nil || instance["type"] != list[0]["type"] {
				return fmt.Errorf("%s: %v: %w", name, instance, err)
			}
		}
	}
	return nil
}

// checkAttribute checks an instance of an attribute (sections 5.2.5 to 5.2.7 and 5.2.32).
func checkAttribute(instance map[string]any) error {
	member, ok := map[any]string{
		"Property": "value", "GeoProperty": "value", "Relationship": "object", "LanguageProperty": "languageMap",
	}[instance["type"]]
	value := instance[member]
	switch {
	case !ok || value == nil:
		return fmt.Errorf("type or value is missing")
	case instance["type"] == "Relationship" && !isURI(value):
		return fmt.Errorf("object: no URI")
	}
	for name := range instance {
		if name != "type" && name != "datasetId" && name != member {
			return fmt.Errorf("%s: unknown", name)
		}
	}
	if shape, _ := value.(map[string]any); instance["type"] == "GeoProperty" && (shape["type"] == nil || shape["coordinates"] == nil) {
		return fmt.Errorf("value: no geometry")
	}
	return nil
}

// kept returns an entity.
func (b *broker) kept(id string) map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entities[id]
}

func (b *broker) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.bodies)
}
