package ngsild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
)

// errorTypes is how the types of errors of NGSI-LD begin (section 6.3.2).
const errorTypes = "https://uri.etsi.org/ngsi-ld/errors/"

// writer is a sink.Writer of one broker.
type writer struct {
	endpoint.Endpoint
	topic, url string
	header     http.Header
}

func newWriter(e endpoint.Endpoint, topic string, s Settings) *writer {
	w := &writer{
		Endpoint: e, topic: topic, url: strings.TrimRight(s.URL, "/") + "/ngsi-ld/v1/entityOperations/upsert",
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	}
	if s.Mode == Update {
		w.url += "?options=update"
	}
	if s.Tenant != "" {
		w.header["NGSILD-Tenant"] = []string{s.Tenant} // section 6.3.14; as it is written there
	}
	if s.Context != "" {
		w.header.Set("Link", "<"+s.Context+`>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"`)
	}
	return w
}

// probe sends a request without entities. Brokers answer it with success or BadRequestData.
func (w *writer) probe(ctx context.Context) error {
	_, _, err := w.Send(ctx, endpoint.Request{Method: http.MethodPost, URL: w.url, Header: w.header, Body: []byte("[]")})
	var answer *endpoint.AnswerError
	if errors.As(err, &answer) && answer.Status == http.StatusBadRequest {
		var p problem
		if json.Unmarshal(answer.Body, &p) == nil && strings.HasPrefix(p.Type, errorTypes) {
			return nil
		}
	}
	return err
}

// prepared is a message as entities, or why it has none.
type prepared struct {
	entities []entity
	trace    annotate.Trace
	outcome  error // why it is refused, if done
	done     bool
}

// Write implements sink.Writer. A message is written after those before it that have an entity
// of it, in a later request.
func (w *writer) Write(ctx context.Context, messages []annotate.Message) ([]error, error) {
	parts := make([]*prepared, len(messages))
	var rounds [][]*prepared
	last := map[string]int{} // the number of rounds until an entity is written
	for i, m := range messages {
		p := &prepared{trace: m.Trace}
		parts[i] = p
		p.entities, p.outcome = readEntities(m.Payload, w.topic)
		if p.done = p.outcome != nil || len(p.entities) == 0; p.done {
			continue
		}
		round := 0
		for _, e := range p.entities {
			round = max(round, last[e.id])
		}
		for _, e := range p.entities {
			last[e.id] = round + 1
		}
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], p)
	}
	var err error
	for _, round := range rounds {
		if err = w.write(ctx, round); err != nil {
			break
		}
	}
	var outcomes []error
	for _, p := range parts {
		if !p.done {
			return outcomes, endpoint.Unavailable(err)
		}
		outcomes = append(outcomes, p.outcome)
	}
	return outcomes, nil
}

// write writes messages that have no entity in common by one request, and divides them if the
// broker refuses it as a whole.
func (w *writer) write(ctx context.Context, parts []*prepared) error {
	body := []byte{'['}
	trace := parts[0].trace
	for _, p := range parts {
		if p.trace != trace {
			trace = annotate.Trace{} // a request has one
		}
		for _, e := range p.entities {
			if len(body) > 1 {
				body = append(body, ',')
			}
			body = append(body, e.json...)
		}
	}
	status, answer, err := w.Send(ctx, endpoint.Request{
		Method: http.MethodPost, URL: w.url, Header: w.header, Body: append(body, ']'), Trace: trace,
	})
	switch {
	case err == nil:
		return w.settle(ctx, parts, status, answer)
	case !endpoint.Refuses(err):
		return err
	}
	return w.refuse(ctx, parts, err)
}

// refuse divides a refused request, or refuses the message if it is only one.
func (w *writer) refuse(ctx context.Context, parts []*prepared, err error) error {
	if len(parts) == 1 {
		parts[0].done, parts[0].outcome = true, fmt.Errorf("refused by the broker: %w", err)
		return nil
	}
	half := len(parts) / 2
	if err := w.write(ctx, parts[:half]); err != nil {
		return err
	}
	return w.write(ctx, parts[half:])
}

// result is the answer to a batch of which not all succeeded (section 5.2.16).
type result struct {
	Success []string `json:"success"`
	Errors  []struct {
		Entity string          `json:"entityId"`
		Error  json.RawMessage `json:"error"`
	} `json:"errors"`
}

// problem is an error of NGSI-LD (RFC 7807).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Status int    `json:"status"`
}

// settle takes the answer to a request as the outcomes of its messages.
func (w *writer) settle(ctx context.Context, parts []*prepared, status int, answer []byte) error {
	if status == http.StatusCreated || status == http.StatusNoContent {
		for _, p := range parts {
			p.done = true
		}
		return nil
	}
	var r result
	if err := json.Unmarshal(answer, &r); err != nil {
		err = fmt.Errorf("the broker answered %d without the result of a batch: %s", status, w.Reason(answer))
		if len(parts) > 1 {
			return w.refuse(ctx, parts, err)
		}
		return err
	}
	success := map[string]bool{}
	for _, id := range r.Success {
		success[id] = true
	}
	failed := map[string]error{}
	var outage error
	for _, e := range r.Errors {
		text := fmt.Errorf("entity %q: %s", e.Entity, w.describe(e.Error))
		if isOutage(e.Error) {
			outage = text
			continue
		}
		failed[e.Entity] = text
	}
	unknown := 0
	for _, p := range parts {
		p.done = true
		for _, e := range p.entities {
			switch err, refused := failed[e.id]; {
			case refused:
				delete(failed, e.id)
				p.outcome = errors.Join(p.outcome, fmt.Errorf("refused by the broker: %w", err))
			case !success[e.id]:
				p.done = false
			}
		}
		// A message with a refused entity is refused, whatever became of the others.
		if p.done = p.done || p.outcome != nil; !p.done {
			unknown++
		}
	}
	switch {
	case unknown == 0:
		return nil
	case outage != nil:
		return outage
	case len(failed) > 0: // an entity that was not sent, or none: it is not known which message is meant
		var left []*prepared
		for _, p := range parts {
			if !p.done {
				left = append(left, p)
			}
		}
		for _, err := range failed {
			return w.refuse(ctx, left, err)
		}
	}
	return fmt.Errorf("the broker answered %d and confirmed only %d of %d messages", status, len(parts)-unknown, len(parts))
}

// describe returns an error of an entity as text.
func (w *writer) describe(text json.RawMessage) string {
	var p problem
	if json.Unmarshal(text, &p) != nil || (p.Title == "" && p.Detail == "") {
		return w.Reason(text)
	}
	kind := strings.TrimPrefix(p.Type, errorTypes)
	return w.Reason([]byte(strings.Trim(kind+": "+p.Title+": "+p.Detail, ": ")))
}

// isOutage reports whether an error of an entity is one that may pass.
func isOutage(text json.RawMessage) bool {
	var p problem
	if json.Unmarshal(text, &p) != nil {
		return false
	}
	return p.Status >= 500 || p.Status == http.StatusTooManyRequests || p.Status == http.StatusUnauthorized ||
		p.Status == http.StatusForbidden || p.Type == errorTypes+"InternalError"
}
