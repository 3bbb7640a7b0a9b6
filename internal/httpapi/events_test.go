package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestEventStream_writesEvents(t *testing.T) {
	w := httptest.NewRecorder()
	s := httpapi.NewEventStream(w)
	require.NoError(t, s.Flush())
	require.False(t, w.Flushed, "nothing to send")
	s.Begin()
	require.NoError(t, s.Event("round", "1.2", map[string]string{"text": "two\nlines"}))
	require.NoError(t, s.Event("status", "", json.RawMessage("{\n\"a\": 1}")))
	s.Comment()
	require.Error(t, s.Event("bad", "3", func() {}))
	require.Empty(t, w.Body.String(), "before the flush")
	require.NoError(t, s.Flush())
	require.True(t, w.Flushed)
	require.Equal(t, "retry: 2000\n\n"+
		"event: round\nid: 1.2\ndata: {\"text\":\"two\\nlines\"}\n\n"+
		"event: status\ndata: {\"a\":1}\n\n"+
		":\n\n", w.Body.String())
	require.Equal(t, http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-store"}, "X-Accel-Buffering": {"no"},
	}, w.Header())
}

// deadlines records those of a connection whose client does not read.
type deadlines struct {
	http.ResponseWriter
	read  []time.Time
	write []time.Time
}

var errUnread = errors.New("the client does not read")

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = append(d.read, t); return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }
func (d *deadlines) Write([]byte) (int, error)          { return 0, errUnread }

func TestEventStream_Flush_waitsForASlowClientForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{ResponseWriter: httptest.NewRecorder()}
		s := httpapi.NewEventStream(d)
		s.Begin()
		require.Equal(t, []time.Time{{}}, d.read, "the request has been read")
		require.ErrorIs(t, s.Flush(), errUnread)
		require.Equal(t, []time.Time{time.Now().Add(30 * time.Second)}, d.write)
	})
}
