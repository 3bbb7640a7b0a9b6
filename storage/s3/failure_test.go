package s3_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func TestStore_reportsFailuresOfTheNetwork(t *testing.T) {
	server := start(t)
	t.Run("an upload goes on after cuts and refusals", func(t *testing.T) {
		gate := newGate(t, server)
		config := gate.through(configOf(server, "cut-upload"))
		config.Attempts = 10
		store := open(t, config)
		var parts atomic.Int64
		gate.set(func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case !uploadsPart(r):
				return false
			case parts.Add(1)%3 == 1:
				_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
				return hangUp()
			case parts.Load()%3 == 2:
				return refuse(w, http.StatusServiceUnavailable, "SlowDown")
			}
			return false
		})
		content := contentOf("upload", 12<<20)
		put(t, store, "blob", content)
		require.GreaterOrEqual(t, parts.Load(), int64(4))
		require.Equal(t, content, get(t, store, "blob"))
	})
	t.Run("a download goes on after cuts", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "cut-download")))
		content := contentOf("download", 3<<20)
		put(t, store, "blob", content)
		gate.set(func(w http.ResponseWriter, r *http.Request) bool {
			return readsBytes(r) && gate.cutAnswer(t, server, w, r, 1<<20)
		})
		require.Equal(t, content, get(t, store, "blob"))
		require.GreaterOrEqual(t, gate.cuts.Load(), int64(2))
	})
	t.Run("a download that gets nowhere ends", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "stuck-download")))
		put(t, store, "blob", contentOf("stuck", 1<<20))
		gate.set(func(w http.ResponseWriter, r *http.Request) bool {
			return readsBytes(r) && gate.cutAnswer(t, server, w, r, 0)
		})
		reader, err := store.Blobs().Open(t.Context(), "blob")
		require.NoError(t, err)
		defer reader.Close()
		_, err = io.ReadAll(reader)
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.ErrorContains(t, err, `read blob "blob": `)
	})
	t.Run("a blob whose bytes are gone or cut is damaged", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "damaged")))
		put(t, store, "blob", contentOf("damaged", 1<<20))
		for code, status := range map[string]int{"NoSuchKey": http.StatusNotFound, "InvalidRange": http.StatusRequestedRangeNotSatisfiable} {
			gate.set(func(w http.ResponseWriter, r *http.Request) bool { return readsBytes(r) && refuse(w, status, code) })
			reader, err := store.Blobs().Open(t.Context(), "blob")
			require.NoError(t, err)
			_, err = reader.Seek(-1, io.SeekEnd)
			require.NoError(t, err)
			_, err = reader.Read(make([]byte, 1))
			require.ErrorIs(t, err, storage.ErrDamaged, code)
			require.NotErrorIs(t, err, storage.ErrNotFound, code)
			require.NoError(t, reader.Close())
		}
	})
	t.Run("a server that is too busy is unavailable", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "busy")))
		var asked atomic.Int64
		gate.set(func(w http.ResponseWriter, _ *http.Request) bool {
			asked.Add(1)
			return refuse(w, http.StatusServiceUnavailable, "SlowDown")
		})
		_, err := store.Blobs().Stat(t.Context(), "blob")
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.ErrorContains(t, err, `stat blob "blob": `)
		require.ErrorContains(t, err, "SlowDown: said by the gate")
		require.Equal(t, int64(3), asked.Load())
	})
	t.Run("a server that stands still is given up", func(t *testing.T) {
		gate := newGate(t, server)
		gate.set(func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return hangUp()
		})
		config := gate.through(configOf(server, "still"))
		config.Attempts = 1
		patient, err := s3.New(config)
		require.NoError(t, err)
		defer patient.Close()
		config.Timeout = 100 * time.Millisecond
		hasty, err := s3.New(config)
		require.NoError(t, err)
		defer hasty.Close()
		_, err = hasty.Blobs().Stat(t.Context(), "blob")
		require.ErrorIs(t, err, storage.ErrUnavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = patient.Blobs().Stat(ctx, "blob")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("a clock that is wrong is named", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "clock")))
		gate.set(func(w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, http.StatusForbidden, "RequestTimeTooSkewed")
		})
		_, err := store.Blobs().Stat(t.Context(), "blob")
		require.ErrorContains(t, err, "set the clock")
	})
	t.Run("a commit whose answer is lost may have happened", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "lost")))
		put(t, store, "blob", []byte("old"))
		gate.set(func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/") && hangUp()
		})
		writer, err := store.Blobs().Create(t.Context(), "blob")
		require.NoError(t, err)
		_, err = writer.Commit(t.Context())
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.Equal(t, "old", string(get(t, store, "blob")))
	})
}

func TestStore_reconnectsToARestartedServer(t *testing.T) {
	server := withBucket(t, s3test.StartMinIOProcess(t))
	config := configOf(server, "died")
	config.Attempts = 2
	store := open(t, config)
	content := contentOf("kept", 6<<20)
	put(t, store, "blob", content)
	writer, err := store.Blobs().Create(t.Context(), "other")
	require.NoError(t, err)
	_, err = writer.Write(contentOf("lost", 11<<20))
	require.NoError(t, err)

	server.Kill()
	_, err = writer.Commit(t.Context())
	require.ErrorIs(t, err, storage.ErrUnavailable)
	_, err = store.Blobs().Stat(t.Context(), "blob")
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorIs(t, store.Ping(t.Context()), storage.ErrUnavailable)

	server.Restart()
	require.Equal(t, content, get(t, store, "blob"))
	require.Equal(t, []string{"blob"}, keys(t, store, ""))
}

func TestOpen_namesTheFault(t *testing.T) {
	server := start(t)
	for want, change := range map[string]func(c *s3.Config){
		"refuses the credentials: SignatureDoesNotMatch": func(c *s3.Config) { c.SecretKey = "wrong-and-hidden" },
		"refuses the credentials: InvalidAccessKeyId":    func(c *s3.Config) { c.AccessKey = "unknown" },
		`the bucket "missing" does not exist at ` + server.Address(): func(c *s3.Config) {
			c.Bucket, c.CreateBucket = "missing", false
		},
		"connection refused":                func(c *s3.Config) { c.Endpoint, c.Attempts = s3test.UnusedAddress(t), 1 },
		"(set Config.Insecure for a server": func(c *s3.Config) { c.Insecure, c.Attempts = false, 1 },
	} {
		config := configOf(server, "wrong")
		change(&config)
		_, err := s3.Open(t.Context(), config)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "open s3://"+config.Endpoint+"/"+config.Bucket)
		require.NotContains(t, err.Error(), "hidden")
		require.NotContains(t, err.Error(), s3test.SecretKey)
		require.NotErrorIs(t, err, storage.ErrNotFound)
	}
}

func TestBlobs_distinguishesAMissingBucketFromAMissingBlob(t *testing.T) {
	server := start(t)
	config := configOf(server, "")
	config.Bucket, config.CreateBucket = "never-made", false
	store, err := s3.New(config)
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Blobs().Open(t.Context(), "blob")
	require.ErrorContains(t, err, `open blob "blob": the bucket "never-made" does not exist`)
	require.NotErrorIs(t, err, storage.ErrNotFound)
}

func TestOpen_readsCredentialsFromTheEnvironment(t *testing.T) {
	server := start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	config, err := s3.ParseURL("s3://" + server.Address() + "/" + server.bucket + "/part?insecure=true&create-bucket=true")
	require.NoError(t, err)
	store := open(t, config)
	put(t, store, "blob", []byte("content"))
	require.Equal(t, "content", string(get(t, store, "blob")))
}

func TestOpen_verifiesTLS(t *testing.T) {
	folder, roots := s3test.Certificate(t)
	server := withBucket(t, s3test.StartMinIOWithTLS(t, folder))
	config := configOf(server, "tls")
	config.Insecure = false
	config.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	store := open(t, config)
	content := contentOf("tls", 6<<20)
	put(t, store, "blob", content)
	require.Equal(t, content, get(t, store, "blob"))

	config.TLS = nil
	_, err := s3.Open(t.Context(), config)
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, "certificate")
}
