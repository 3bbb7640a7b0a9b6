package admin

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

// Snapshot is the configuration of a [Store] for a gateway in another process: see package
// follow.
type Snapshot struct {
	// Config is the configuration.
	Config entity.Config `json:"config"`
	// Secret is the secret of [Secret].
	Secret string `json:"secret"`
}

// DataPlanePath is where [API.Handler] answers gateways that follow with a [Snapshot] in JSON:
// role "admin", since it has every secret. The answer has an ETag, and 304 says that it is
// still the one that If-None-Match names. 503 says that this process cannot serve what is stored.
const DataPlanePath = "/data-plane"

// NothingStored is the ETag while no configuration was ever stored.
const NothingStored = `""`

const secretKey = "secret" // a document beside the configuration

// Secret returns the secret that gateways with the configuration of these documents share, as
// in plugin.Options. The first call makes it, of several at once one.
func Secret(ctx context.Context, docs storage.Documents) (string, error) {
	var kept struct {
		Secret string `json:"secret"`
	}
	doc, err := storage.Change(ctx, docs, secretKey, func(found storage.Document) ([]byte, error) {
		if found.Revision != 0 {
			return nil, nil
		}
		kept.Secret = rand.Text() + rand.Text()
		return json.Marshal(kept)
	})
	if err != nil {
		return "", fmt.Errorf("read the secret of gateways: %w", err)
	}
	if _, err := keep.Unmarshal(doc.Data, &kept); err != nil || len(kept.Secret) < 32 {
		return "", fmt.Errorf("read %q: it has no secret: %w", secretKey, ErrRecord)
	}
	return kept.Secret, nil
}

// dataPlane answers a gateway that follows with what is stored, which is the same at all
// instances. What this process serves while it cannot read or serve that may be older than what
// another instance has answered.
func (a *API) dataPlane(w http.ResponseWriter, r *http.Request) error {
	now, err := a.store.current(r.Context())
	if err != nil { // Run logs why
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "What is stored is not served here; the log says why"}
	}
	tag := `"` + now.head.Text + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-store")
	if strings.TrimPrefix(r.Header.Get("If-None-Match"), "W/") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	secret, err := Secret(r.Context(), a.store.record.docs)
	if err != nil {
		return err
	}
	snapshot := Snapshot{Config: now.config, Secret: secret}
	w.Header().Add("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		writeJSON(w, http.StatusOK, snapshot)
		return nil
	}
	text, err := a.snapshots.of(now, snapshot)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text) // a gateway that went away is not an error of this server
	return nil
}

// snapshots keeps the newest snapshot as it is sent: after a change all gateways ask for it
// within seconds.
type snapshots struct {
	mu   sync.Mutex
	made *state
	text []byte // of made, compressed
}

func (s *snapshots) of(now *state, snapshot Snapshot) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == now {
		return s.text, nil
	}
	var text bytes.Buffer
	packed := gzip.NewWriter(&text)
	err := json.NewEncoder(packed).Encode(snapshot)
	if err := errors.Join(err, packed.Close()); err != nil {
		return nil, fmt.Errorf("write the configuration for gateways: %w", err)
	}
	s.made, s.text = now, text.Bytes()
	return s.text, nil
}
