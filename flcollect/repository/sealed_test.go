package repository_test

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// The result of a training with both privacy mechanisms arrives whole, in the store
// and over the wire.
func TestStore_Store_keepsAnEncryptedResultAsFlowersParameters(t *testing.T) {
	for _, way := range []string{"store", "client"} {
		for epsilon, text := range map[float64]string{2.5: "2.5", math.Inf(1): "inf"} {
			t.Run(way+" "+text, func(t *testing.T) {
				store, err := repository.New(repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
				require.NoError(t, err)
				handler := repository.NewHandler(store, nil)
				server := httptest.NewServer(handler)
				defer server.Close()
				var to flcollect.Repository = store
				if way == "client" {
					to, err = repository.NewClient(repository.ClientConfig{BaseURL: server.URL, NPZ: true, Dir: t.TempDir()})
					require.NoError(t, err)
				}
				message, err := tensor.New(tensor.Uint8, []int{5}, []byte("seal"), []byte("x"))
				require.NoError(t, err)
				result := flcollect.Result{
					ModelName: "m", ModelVersion: "1", TrainingID: "t", ConfigurationID: "7", Rounds: 2,
					Metrics: map[string]float64{"epsilon": 99}, Privacy: &report.Privacy{Epsilon: report.Epsilon(epsilon), Delta: 1e-5},
					Weights: strategy.Model{message}, Encrypted: true,
				}
				require.NoError(t, to.Store(t.Context(), result))
				require.NoError(t, to.Store(t.Context(), result), "again")

				ask := func(path string) *httptest.ResponseRecorder {
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
					return w
				}
				var want bytes.Buffer
				require.NoError(t, result.WriteWeights(&want))
				require.Equal(t, want.Bytes(), ask("/training-results/weights/m/1/t?format=pickle").Body.Bytes())
				require.Equal(t, http.StatusNotFound, ask("/training-results/weights/m/1/t?format=npz").Code, "ciphertexts are no arrays")
				records := ask("/training-results/m/1").Body.String()
				require.Contains(t, records, text)
				require.NotContains(t, records, `"99"`, "no metric of a client stands for the account")
				require.Contains(t, records, `"delta":"1e-05"`)
			})
		}
	}
}
