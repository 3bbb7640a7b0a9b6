package kong

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

func marshal(value any) (json.RawMessage, error) { return json.Marshal(value) }

// replaceAll applies a changeSet to a Kong without a database: the whole
// configuration is read, changed and sent back. What is not an entity of ours
// stays as Kong wrote it.
func (g *Gateway) replaceAll(ctx context.Context, p changeSet) error {
	var answer struct {
		Config string `json:"config"`
	}
	const export = "export the configuration"
	err := g.client.make(ctx, call{do: export, method: http.MethodGet, path: "/config", answer: &answer})
	if err != nil {
		return err
	}
	root, _, err := document.Parse([]byte(answer.Config), document.Limits{Bytes: maxAnswer, Values: 10_000_000})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", export, ErrAnswer, err)
	}
	if root.Kind != document.Object {
		return fmt.Errorf("%s: %w: it is %s", export, ErrAnswer, root.Kind)
	}
	// What is prepared is only so that it can be shown later; here all is seen at once.
	secret := false
	final := map[entity.Kind]map[string]fields{}
	gone := map[entity.Kind]map[string]bool{}
	for _, kind := range kinds() {
		final[kind], gone[kind] = map[string]fields{}, map[string]bool{}
	}
	for _, steps := range [][]step{p.prepare, p.show} {
		for _, s := range steps {
			final[s.kind][s.id] = s.body
			secret = secret || g.call(s).secret
		}
	}
	for _, s := range append(slices.Clone(p.remove), p.cascade...) {
		gone[s.kind][s.id] = true
	}
	for _, kind := range kinds() {
		if err := edit(root, collection(kind), final[kind], gone[kind]); err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
	}
	var text bytes.Buffer
	if err := root.Write(&text, document.JSON); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return g.client.make(ctx, call{do: "load the configuration", method: http.MethodPost, path: "/config",
		body: map[string]string{"config": text.String()}, secret: secret})
}

// edit replaces, removes and adds entities of a section of a declarative configuration.
func edit(root *document.Node, section string, put map[string]fields, gone map[string]bool) error {
	if len(put)+len(gone) == 0 {
		return nil
	}
	list := &document.Node{Kind: document.Array}
	if there := root.Get(section); there != nil && there.Kind == document.Array {
		for _, item := range there.Items {
			id, _ := item.Get("id").Str()
			if _, replaced := put[id]; !replaced && !gone[id] {
				list.Append(item)
			}
		}
	}
	for _, body := range put {
		flat := make(fields, len(body))
		for name, value := range body {
			if id := body.ref(name); id != "" && name != "id" && isRef(name) {
				value = id
			}
			flat[name] = value
		}
		item, err := document.Marshal(flat)
		if err != nil {
			return err
		}
		list.Append(item)
	}
	root.Members = slices.DeleteFunc(root.Members, func(m document.Member) bool { return m.Key == section })
	if len(list.Items) > 0 {
		root.Put(section, list)
	}
	return nil
}

// isRef reports whether a field refers to another entity.
func isRef(name string) bool {
	return name == "service" || name == "route" || name == "consumer" || name == "upstream"
}
