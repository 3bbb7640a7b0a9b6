package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// timed is an answer over a connection with deadlines.
type timed struct {
	*httptest.ResponseRecorder
	read, write []time.Duration // from now, at each extension
	copied      []int64         // by ReadFrom
}

func newTimed() *timed { return &timed{ResponseRecorder: httptest.NewRecorder()} }

func (t *timed) SetReadDeadline(at time.Time) error {
	t.read = append(t.read, time.Until(at))
	return nil
}

func (t *timed) SetWriteDeadline(at time.Time) error {
	t.write = append(t.write, time.Until(at))
	return nil
}

// Write takes ten seconds for each MiB.
func (t *timed) Write(p []byte) (int, error) {
	if len(p) == 1<<20 {
		time.Sleep(10 * time.Second)
	}
	return t.ResponseRecorder.Write(p)
}

func (t *timed) ReadFrom(from io.Reader) (int64, error) {
	n, err := io.Copy(struct{ io.Writer }{t.ResponseRecorder}, from)
	t.copied = append(t.copied, n)
	return n, err
}

func TestPatientBody_extendsTheDeadlinesWhileBytesComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := newTimed()
		body := httpapi.PatientBody(answer, strings.NewReader("abcdefgh"), time.Minute)
		for range 8 {
			_, err := io.ReadFull(body, make([]byte, 1))
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		require.Equal(t, []time.Duration{time.Minute, time.Minute, time.Minute}, answer.read, "after 0, 3 and 6 seconds")
		require.Equal(t, []time.Duration{2 * time.Minute, 2 * time.Minute, 2 * time.Minute}, answer.write)
		n, err := body.Read(make([]byte, 1))
		require.Zero(t, n)
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestPatientReader_extendsTheDeadlineOfReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := newTimed()
		data, err := io.ReadAll(httpapi.PatientReader(answer, strings.NewReader("text"), time.Minute))
		require.NoError(t, err)
		require.Equal(t, "text", string(data))
		require.Equal(t, []time.Duration{time.Minute}, answer.read)
		require.Empty(t, answer.write)
	})
}

func TestPatientBody_worksWithoutDeadlines(t *testing.T) {
	data, err := io.ReadAll(httpapi.PatientBody(httptest.NewRecorder(), strings.NewReader("text"), time.Minute))
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
}

func TestPatientWriter_extendsTheDeadlineForEachPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := newTimed()
		w := httpapi.PatientWriter(answer, time.Minute)
		data := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // 3 MiB
		n, err := w.Write(append(data, '!'))
		require.NoError(t, err)
		require.Equal(t, len(data)+1, n)
		require.True(t, bytes.Equal(append(data, '!'), answer.Body.Bytes()))
		minute := time.Minute
		require.Equal(t, []time.Duration{minute, minute, minute, minute}, answer.write)
		for range 10 {
			_, err = w.Write([]byte("small"))
			require.NoError(t, err)
		}
		require.Len(t, answer.write, 4, "small pieces extend the deadline seldom")
		require.Empty(t, answer.read)
		n, err = w.Write(nil)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Same(t, answer, w.(interface{ Unwrap() http.ResponseWriter }).Unwrap())
	})
}

func TestPatientWriter_ReadFrom_copiesPiecesToTheConnection(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 3<<15) // 1.5 MiB
	for name, from := range map[string]io.Reader{
		"all":    strings.NewReader(data),
		"a part": io.LimitReader(strings.NewReader(data+"rest"), int64(len(data))),
	} {
		answer := newTimed()
		n, err := io.Copy(httpapi.PatientWriter(answer, time.Minute), struct{ io.Reader }{from})
		require.NoError(t, err, name)
		require.Equal(t, int64(len(data)), n, name)
		require.True(t, data == answer.Body.String(), name)
		require.Equal(t, []int64{1 << 20, 1 << 19}, answer.copied[:2], name)
	}
}

func TestPatientWriter_returnsTheErrorOfTheConnection(t *testing.T) {
	w := httpapi.PatientWriter(closed{httptest.NewRecorder()}, time.Minute)
	n, err := w.Write(make([]byte, 2<<20))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Zero(t, n)
	_, err = io.Copy(w, struct{ io.Reader }{strings.NewReader("x")})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// closed is an answer whose client has gone.
type closed struct{ *httptest.ResponseRecorder }

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
