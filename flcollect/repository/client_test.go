package repository_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/repository/repositorytest"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// wire is a transport that fails at one request: before it is sent, while its
// body goes out, or when its answer is on the way.
type wire struct {
	at, mode int
	count    atomic.Int32
}

const (
	notSent = iota
	tornBody
	lostAnswer
	failures
)

var errWire = errors.New("the wire broke")

func (f *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if int(f.count.Add(1)) != f.at {
		return http.DefaultTransport.RoundTrip(request)
	}
	switch f.mode {
	case notSent:
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errWire
	case tornBody:
		if request.Body != nil {
			torn := request.Clone(request.Context())
			torn.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(request.Body, request.ContentLength/2), broken{}), request.Body}
			return http.DefaultTransport.RoundTrip(torn)
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		_ = answer.Body.Close()
	}
	return nil, errors.Join(errWire, err)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errWire }

func TestClient_Store_survivesABrokenConnectionAtEveryStep(t *testing.T) {
	result := repositorytest.Result()
	var want bytes.Buffer
	require.NoError(t, tensor.WritePickle(&want, result.Weights...))
	for _, before := range []bool{false, true} { // whether the result is there already
		for mode := range failures {
			steps := 0
			for at := 1; ; at++ {
				handler := repository.NewHandler(memory(t), nil)
				url := serve(t, handler)
				if before {
					require.NoError(t, client(t, repository.ClientConfig{BaseURL: url}).Store(t.Context(), result))
				}
				fault := &wire{at: at, mode: mode}
				c := client(t, repository.ClientConfig{BaseURL: url, HTTP: &http.Client{Transport: fault}, NPZ: true})
				first := c.Store(t.Context(), result)
				if int(fault.count.Load()) < at {
					require.NoError(t, first)
					break
				}
				steps++
				require.ErrorIs(t, first, errWire)
				require.NotErrorIs(t, first, flcollect.ErrRefused, "a broken wire is worth another try")
				require.NoError(t, c.Store(t.Context(), result), "mode %d, request %d", mode, at)
				r := rest{t, handler}
				require.Equal(t, 1, strings.Count(r.get("/training-results").Body.String(), "training_id"))
				require.Equal(t, base64.StdEncoding.EncodeToString(want.Bytes()),
					r.get("/training-results/weights/keras_test/version_1/12").Body.String())
				require.Equal(t, 1, strings.Count(r.get("/models/available").Body.String(), "length"))
			}
			require.Equal(t, map[bool]int{false: 2, true: 3}[before], steps, "requests of a delivery")
		}
	}
}

func TestClient_Store_saysWhetherToTryAgain(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		for status, refused := range map[int]bool{
			400: true, 404: true, 405: true, 409: method == http.MethodPut, 413: true, 422: true,
			401: false, 403: false, 302: false, 408: false, 425: false, 429: false, 500: false, 503: false,
		} {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch {
				case r.Method == method:
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"detail":"why not"}`+strings.Repeat(" ", 1<<16))
				case r.Method == http.MethodGet:
					w.WriteHeader(http.StatusInternalServerError)
				default:
					w.WriteHeader(http.StatusCreated)
				}
			}))
			err := client(t, repository.ClientConfig{BaseURL: url}).Store(t.Context(), repositorytest.Result())
			require.ErrorContains(t, err, `store result of training "12": `)
			if method == http.MethodPost && (status == 400 || status == 409) {
				refused = false // the list that would say whether it is the same cannot be read
			}
			require.Equal(t, refused, errors.Is(err, flcollect.ErrRefused), "%s %d: %v", method, status, err)
		}
	}
}

func TestClient_Store_reportsARefusedRecord(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"detail":"I do not like it"}`)
	}))
	err := client(t, repository.ClientConfig{BaseURL: url}).Store(t.Context(), repositorytest.Result())
	require.ErrorIs(t, err, flcollect.ErrRefused)
	require.ErrorContains(t, err, "I do not like it")
}

// original answers as the original does where a Store is friendlier.
func original(t *testing.T) (url string, requests func() []string) {
	t.Helper()
	store := repository.NewHandler(memory(t), nil)
	var mu sync.Mutex
	var seen []string
	url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		line := r.Method + " " + r.URL.Path
		if r.Header.Get("Content-Type") == "application/json" {
			line += " " + string(body)
		}
		seen = append(seen, line)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch r.URL.Path {
		case "/model/unknown/1":
			http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		case "/model/bare/1":
			_, _ = io.WriteString(w, "null")
		default:
			store.ServeHTTP(w, r)
		}
	}))
	return url, func() []string { mu.Lock(); defer mu.Unlock(); return seen }
}

func TestClient_Store_sendsOnlyMembersOfTheOriginal(t *testing.T) {
	url, requests := original(t)
	c := client(t, repository.ClientConfig{BaseURL: url})
	require.NoError(t, c.Store(t.Context(), repositorytest.Result()))
	require.Equal(t, []string{
		`POST /training-results {"model_name":"keras_test","model_version":"version_1","training_id":"12",` +
			`"results":{"accept_failures":true,"accuracy":0.21299999952316284,"final_loss":"78.94696807861328",` +
			`"fraction_fit":0.5,"min_available_clients":2,"min_fit_clients":"1","rounds":"3","whole":1.0},"configuration_id":"10"}`,
		`PUT /training-results/keras_test/version_1/12/10`,
	}, requests())
}

func TestClient_Store_uploadsAFormWithOneFile(t *testing.T) {
	var got []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			length := r.ContentLength
			require.NoError(t, r.ParseMultipartForm(1<<20))
			for field, files := range r.MultipartForm.File {
				got = append(got, fmt.Sprint(field, " ", files[0].Filename, " ", len(files), " ", length > files[0].Size))
			}
		}
		w.WriteHeader(http.StatusCreated)
	}))
	require.NoError(t, client(t, repository.ClientConfig{BaseURL: url}).Store(t.Context(), repositorytest.Result()))
	require.Equal(t, []string{"file aggregated-weights.pkl 1 true"}, got)
}

func TestClient_Model_readsTheAnswersOfTheOriginal(t *testing.T) {
	url, _ := original(t)
	c := client(t, repository.ClientConfig{BaseURL: url})
	for _, name := range []string{"missing", "bare", "unknown"} {
		_, err := c.Model(t.Context(), name, "1")
		require.ErrorIs(t, err, flcollect.ErrNoModel, name)
	}
}

func TestClient_Model_isNoneInARepositoryForResults(t *testing.T) {
	for status, none := range map[int]bool{
		400: true, 404: true, 405: true, 410: true, 422: true, 501: true,
		401: false, 403: false, 429: false, 500: false, 503: false,
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := client(t, repository.ClientConfig{BaseURL: url}).Model(t.Context(), "m", "1")
		require.ErrorContains(t, err, fmt.Sprint(status))
		require.Equal(t, none, errors.Is(err, flcollect.ErrNoModel), "%d: %v", status, err)
		require.Equal(t, status >= 500 && !none || status == 429, errors.Is(err, repository.ErrUnavailable), "%d: %v", status, err)
		_, err = client(t, repository.ClientConfig{BaseURL: url}).Strategy(t.Context(), "s", nil)
		require.Equal(t, none, errors.Is(err, flcollect.ErrNoStrategy), "%d: %v", status, err)
	}
}

func TestClient_Model_doesNotTakeAFailedDownloadAsMissing(t *testing.T) {
	store := repository.NewHandler(memory(t), nil)
	r := rest{t, store}
	r.is(201, `null`, r.json("POST", "/model", `{"model_name":"m","model_version":"1"}`))
	r.is(204, "", r.put("/model/m/1", "file", "parameters"))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/model/m/1" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		store.ServeHTTP(w, r)
	}))
	_, err := client(t, repository.ClientConfig{BaseURL: url}).Model(t.Context(), "m", "1")
	require.ErrorContains(t, err, "the model is there")
	for _, other := range []error{flcollect.ErrNoModel, flcollect.ErrRefused, repository.ErrUnavailable} {
		require.NotErrorIs(t, err, other)
	}
}

func TestClient_Model_doesNotTakeAFailureAsMissing(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	c := client(t, repository.ClientConfig{BaseURL: url})
	_, err := c.Model(t.Context(), "base", "1")
	require.ErrorContains(t, err, "502")
	require.NotErrorIs(t, err, flcollect.ErrNoModel)
	_, err = c.Strategy(t.Context(), "s", nil)
	require.ErrorContains(t, err, "502")
	require.NotErrorIs(t, err, flcollect.ErrNoStrategy)
}

func TestClient_Model_refusesOtherAnswersThanLists(t *testing.T) {
	for _, body := range []string{"", "null", "{}", "[", `[{"strategy_name":"x"`, `[7]`} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		_, err := client(t, repository.ClientConfig{BaseURL: url}).Strategy(t.Context(), "s", nil)
		require.ErrorContains(t, err, `get strategy "s": look through "/strategy"`, body)
		require.NotErrorIs(t, err, flcollect.ErrNoStrategy, body)
	}
}

func TestClient_Model_refusesALargeFile(t *testing.T) {
	handler := repository.NewHandler(memory(t), nil)
	r := rest{t, handler}
	r.is(201, `null`, r.json("POST", "/model", `{"model_name":"m","model_version":"1"}`))
	var archive bytes.Buffer
	require.NoError(t, tensor.WriteNPZ(&archive, tensor.Named{Name: "arr_0", Tensor: tensor.FromFloat64s(make([]float64, 1000))}))
	for _, file := range []string{archive.String(), string(bytes.Join(tensor.Encode(tensor.FromFloat64s(make([]float64, 1000))), nil))} {
		r.is(204, "", r.put("/model/m/1", "file", file))
		_, err := client(t, repository.ClientConfig{BaseURL: serve(t, handler), MaxModel: 8000}).Model(t.Context(), "m", "1")
		require.ErrorIs(t, err, flcollect.ErrRefused)
		_, err = client(t, repository.ClientConfig{BaseURL: serve(t, handler), MaxModel: 10000}).Model(t.Context(), "m", "1")
		require.NoError(t, err)
	}
}

// saying returns a client of a repository in memory that says so much after each request, and no more.
func saying(t *testing.T, text string) *repository.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			requests := bufio.NewReader(theirs)
			if _, err := http.ReadRequest(requests); err == nil {
				_, _ = io.WriteString(theirs, text)
			}
			_, _ = io.Copy(io.Discard, requests) // until the client closes the connection
		}()
		return ours, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return client(t, repository.ClientConfig{BaseURL: "http://repository", Timeout: time.Minute, HTTP: &http.Client{Transport: transport}})
}

func TestClient_Store_endsWithTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := saying(t, "")
		err := c.Store(t.Context(), repositorytest.Result())
		require.ErrorContains(t, err, "silent")
		require.NotErrorIs(t, err, flcollect.ErrRefused)
		_, err = c.Model(t.Context(), "m", "1")
		require.ErrorContains(t, err, "silent")

		_, err = saying(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nPK\x03\x04").Model(t.Context(), "m", "1")
		require.ErrorContains(t, err, "silent")
		require.NotErrorIs(t, err, flcollect.ErrNoModel)
		require.NotErrorIs(t, err, repository.ErrUnavailable, "there is a model")
	})
}

func TestClient_Store_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	require.ErrorIs(t, client(t, repository.ClientConfig{BaseURL: url}).Store(ctx, repositorytest.Result()), context.Canceled)
}

func TestClient_Store_copiesNoWeights(t *testing.T) {
	var received atomic.Int64
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n)
		w.WriteHeader(http.StatusCreated)
	}))
	result := repositorytest.Result()
	result.Weights = strategy.Model{tensor.FromFloat32s(make([]float32, 16<<20))} // 64 MiB
	c := client(t, repository.ClientConfig{BaseURL: url})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, c.Store(t.Context(), result))
	runtime.ReadMemStats(&after)
	require.Greater(t, received.Load(), int64(64<<20))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

func TestNewClient_namesInvalidFields(t *testing.T) {
	for field, config := range map[string]repository.ClientConfig{
		"BaseURL": {}, "expected http": {BaseURL: "ftp://u:secret@host"}, "not a URL": {BaseURL: "http://u:secret@host\x7f"},
		"Timeout": {BaseURL: "http://h", Timeout: -1}, "MaxModel": {BaseURL: "http://h", MaxModel: -1},
	} {
		_, err := repository.NewClient(config)
		require.ErrorContains(t, err, field)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestClient_followsBasePathAndRedirects(t *testing.T) {
	handler := http.StripPrefix("/fl/repo", repository.NewHandler(memory(t), nil))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, found := strings.CutPrefix(r.URL.EscapedPath(), "/old"); found {
			http.Redirect(w, r, "/fl/repo"+rest, http.StatusPermanentRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	for i, base := range []string{"/fl/repo", "/fl/repo/", "/old"} {
		result := repositorytest.Result()
		result.TrainingID = fmt.Sprint("a/", i)
		require.NoError(t, client(t, repository.ClientConfig{BaseURL: url + base}).Store(t.Context(), result))
	}
}

func TestClient_sendsTheTokenToTheRepositoryAlone(t *testing.T) {
	reached := false
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	handler := repository.NewHandler(memory(t), nil)
	away := false
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case away:
			http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	result := repositorytest.Result()
	c := client(t, repository.ClientConfig{BaseURL: url, Token: "s3cret"})
	require.NoError(t, c.Store(t.Context(), result))
	err := client(t, repository.ClientConfig{BaseURL: url}).Store(t.Context(), result)
	require.ErrorContains(t, err, "401")
	require.NotErrorIs(t, err, flcollect.ErrRefused, "the result waits for a token")

	away = true
	err = c.Store(t.Context(), result)
	require.ErrorContains(t, err, "redirected to another server")
	require.ErrorIs(t, err, repository.ErrUnavailable, "a result waits until the address is right")
	_, err = c.Model(t.Context(), "m", "1")
	require.ErrorContains(t, err, "redirected to another server")
	require.NotContains(t, err.Error(), "s3cret")
	require.False(t, reached)

	_, err = repository.NewClient(repository.ClientConfig{BaseURL: url, Token: "s3 cret"})
	require.ErrorContains(t, err, "ClientConfig.Token: ")
	require.NotContains(t, err.Error(), "cret")
}
