package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/events"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/status"
)

// Times of a stream of events.
const (
	heartbeat  = 15 * time.Second // of silence, before a comment shows that the stream is alive
	statusPace = time.Second      // between two statuses
	eventBatch = 100
)

// events answers with a stream of events (HTML standard, section 9.2): those after
// Last-Event-ID, or the last ones of ?last=, and then those that come. With
// ?status=true a status follows every second. A client that reads slowly has its place
// among the kept events; what is gone by then is counted in an event "missed".
func (r *API) events(w http.ResponseWriter, req *http.Request) error {
	query := req.URL.Query()
	last, err := count(query.Get("last"))
	if err != nil {
		return err
	}
	withStatus, err := yes(query.Get("status"))
	if err != nil {
		return err
	}
	hub := r.node.Events()
	leave, ok := hub.Join()
	if !ok {
		return &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: fmt.Sprintf("there are %d streams of events already; please try again", events.MostReaders)}
	}
	defer leave()
	next := hub.Last(last)
	if id := req.Header.Get("Last-Event-ID"); id != "" {
		next = hub.After(id)
	}
	stream := httpapi.NewEventStream(w)
	if req.Method == http.MethodHead {
		return nil
	}
	s := &eventStream{node: r.node, authorize: r.options.Authorize, request: req, stream: stream, next: next, withStatus: withStatus}
	stream.Begin()
	_ = s.follow() // a client that goes away, or does not read, is not an error
	return nil
}

func count(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > events.Kept {
		return 0, fault.Wrong("last", "must be a number of events, %d at most, got %.40q", events.Kept, text)
	}
	return n, nil
}

func yes(text string) (bool, error) {
	switch text {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, fault.Wrong("status", "must be true or false, got %.40q", text)
}

// eventRecord is an event as it is shown.
type eventRecord struct {
	Time   time.Time    `json:"time"`
	Type   string       `json:"type"`
	Peer   string       `json:"peer,omitempty"`
	Link   string       `json:"link,omitempty"`
	From   string       `json:"from,omitempty"`
	State  status.State `json:"state,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Missed int          `json:"missed,omitempty"`
}

// eventStream sends the events to one client.
type eventStream struct {
	node       *node.Node
	authorize  func(r *http.Request, role string) error
	request    *http.Request
	stream     *httpapi.EventStream
	next       uint64 // number of the event that is sent next
	withStatus bool
}

func (s *eventStream) follow() error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	pace := time.NewTicker(statusPace)
	defer pace.Stop()
	if !s.withStatus {
		pace.Stop()
	} else if err := s.status(); err != nil {
		return err
	}
	for {
		more, ended, err := s.catchUp()
		if err != nil || ended {
			return err
		}
		select {
		case <-s.request.Context().Done():
			return nil
		case <-more:
			continue
		case <-beat.C:
			s.stream.Comment()
		case <-pace.C:
			err = s.status()
		}
		if err == nil && !s.admitted() {
			return nil // the session has ended
		}
		if err := s.stream.Flush(); err != nil {
			return err
		}
	}
}

// admitted reports whether the caller may still read. A caller whose token cannot be
// checked at the moment may.
func (s *eventStream) admitted() bool {
	var e *httpapi.Error
	err := s.authorize(s.request, string(httpapi.Reader))
	return err == nil || (errors.As(err, &e) && (e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests))
}

// catchUp sends everything up to now.
func (s *eventStream) catchUp() (more <-chan struct{}, ended bool, err error) {
	hub := s.node.Events()
	for {
		some, missed, changed, ended := hub.Read(s.next, eventBatch)
		if missed > 0 {
			s.next += missed
			if err := s.event("missed", s.next-1, eventRecord{Time: time.Now().UTC(), Type: "missed", Missed: int(missed)}); err != nil {
				return nil, false, err
			}
		}
		for _, e := range some {
			s.next = e.Number + 1
			record := eventRecord(e.Event)
			record.Time = record.Time.UTC()
			if err := s.event(record.Type, e.Number, record); err != nil {
				return nil, false, err
			}
		}
		if err := s.stream.Flush(); err != nil || len(some) < eventBatch {
			return changed, ended, err
		}
	}
}

// event adds an event to what the next flush sends.
func (s *eventStream) event(kind string, number uint64, record any) error {
	return s.stream.Event(kind, s.node.Events().ID(number), record)
}

// status adds the status, which has no id: it is not an event that a client could miss.
func (s *eventStream) status() error {
	return s.stream.Event("status", "", s.node.View(s.node.Settings()).Status())
}
