package pair

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Connect configures two new instances over REST, as an operator does: it adds the
// links to both, provisions the client on the server, and attaches the client. The addresses are those of the two interfaces, such as
// http://127.0.0.1:3333.
func (p *Pair) Connect(ctx context.Context, server, client string) error {
	own := &http.Client{Transport: &http.Transport{}}
	if p.config.HTTPClient != nil {
		own = p.config.HTTPClient
	}
	caller := &caller{token: p.config.Token, client: &http.Client{Transport: own.Transport, Timeout: time.Minute}}
	defer caller.client.CloseIdleConnections()
	for i, l := range p.config.Links {
		record := map[string]any{"name": l.Name, "kind": l.Kind, "priority": 10 * (i + 1)}
		if p.config.Probe > 0 {
			record["probe"] = map[string]any{"interval_ms": float64(p.config.Probe) / float64(time.Millisecond)}
		}
		if err := caller.post(ctx, client+"/interfaces/add", record, nil); err != nil {
			return err
		}
		record["endpoint"] = l.Endpoint
		if err := caller.post(ctx, server+"/interfaces/add", record, nil); err != nil {
			return err
		}
	}
	var provisioned map[string]any
	_, address := Addresses()
	gateway := map[string]any{"name": "gateway", "addresses": []string{address.String()}}
	if err := caller.post(ctx, server+"/tunnel/client/add", gateway, &provisioned); err != nil {
		return err
	}
	provisioned["server"] = server
	return caller.post(ctx, client+"/tunnel/attach", provisioned, nil)
}

// caller sends requests to instances.
type caller struct {
	token  string
	client *http.Client
}

func (c *caller) post(ctx context.Context, url string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("post %q: %s: %s", url, answer.Status, content)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}
