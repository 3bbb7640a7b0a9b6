package devidp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/storage"
)

// slowDocuments take a while to read the keys.
type slowDocuments struct {
	storage.Documents
	takes atomic.Int64
	reads atomic.Int32
}

func (d *slowDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	if takes := time.Duration(d.takes.Load()); takes > 0 && key == "signing" {
		d.reads.Add(1)
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return storage.Document{}, ctx.Err()
		}
	}
	return d.Documents.Get(ctx, key)
}

func TestProvider_certs_readsOnceForAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &slowDocuments{Documents: storage.NewMemoryDocuments()}
		p := open(t, func(c *devidp.Config) { c.Documents = docs })
		docs.takes.Store(int64(10 * time.Millisecond))
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() {
				recorder := httptest.NewRecorder()
				p.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/auth/realms/OpenAPI/protocol/openid-connect/certs", nil))
				require.Equal(t, http.StatusOK, recorder.Code)
			})
		}
		asking.Wait()
		require.EqualValues(t, 2, docs.reads.Load(), "the first one, and one for all that came during it")
	})
}

func TestProvider_certs_answersWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &slowDocuments{Documents: storage.NewMemoryDocuments()}
		p := open(t, func(c *devidp.Config) { c.Documents = docs })
		want := publishedKeys(t, p)
		docs.takes.Store(int64(time.Hour))
		begun := time.Now()
		require.Equal(t, want, publishedKeys(t, p))
		require.Equal(t, time.Second, time.Since(begun))
	})
}
