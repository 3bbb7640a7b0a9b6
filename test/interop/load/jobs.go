package load

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// Rounds is how many each job has.
const Rounds = 20

// JobConfiguration is that of every job.
const JobConfiguration = `{"strategy": "avg", "model_name": "m", "model_version": "1", "configuration_id": 7,
	"server_conf": {"num_rounds": 20}, "privacy-mechanisms": {}, "client_conf": [{"epochs": 1}],
	"strategy_conf": {"min_fit_clients": 2, "min_evaluate_clients": 2, "min_available_clients": 2}}`

// Jobs reads the jobs of training collectors in their storage.
type Jobs struct {
	t         *testing.T
	documents storage.Documents
	blobs     storage.Blobs
}

// Job is the part of a job's document that tests read.
type Job struct {
	Run   int64        `json:"run"`
	State report.State `json:"state"`
	Round int          `json:"round"`
	Error string       `json:"error"`
}

// OpenJobs opens the storage of collectors until the test ends. The bucket is created.
func OpenJobs(t *testing.T, uri, database string, server *s3test.MinIO, bucket string) *Jobs {
	t.Helper()
	store, err := mongo.Open(t.Context(), mongo.Config{URI: uri, Database: database, SelectTimeout: Patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	objects, err := s3.Open(t.Context(), s3.Config{
		Endpoint: server.Address(), Bucket: bucket, CreateBucket: true, Insecure: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, SweepInterval: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	return &Jobs{t: t, documents: storage.Prefixed(store.Documents(), "collector/"),
		blobs: storage.PrefixedBlobs(objects.Blobs(), "collector/")}
}

// Find returns a job. The error matches storage.ErrNotFound if it is not stored.
func (j *Jobs) Find(id string) (Job, error) {
	var found Job
	doc, err := j.documents.Get(j.t.Context(), "job/"+id)
	if err == nil {
		err = json.Unmarshal(doc.Data, &found)
	}
	return found, err
}

// Get returns a job that is stored.
func (j *Jobs) Get(id string) Job {
	j.t.Helper()
	found, err := j.Find(id)
	require.NoError(j.t, err, id)
	return found
}

// Conductor returns which of the collectors with these folders conducts a job, -1 where there
// is none at the moment.
func (j *Jobs) Conductor(id string, folders []string) int {
	j.t.Helper()
	var entry, holder struct {
		Session string `json:"session"`
	}
	doc, err := j.documents.Get(j.t.Context(), "active/"+id)
	if errors.Is(err, storage.ErrNotFound) {
		return -1
	}
	require.NoError(j.t, err)
	require.NoError(j.t, json.Unmarshal(doc.Data, &entry))
	for at, folder := range folders {
		name, err := os.ReadFile(filepath.Join(folder, "instance"))
		require.NoError(j.t, err)
		doc, err := j.documents.Get(j.t.Context(), "server/"+strings.TrimSpace(string(name)))
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		require.NoError(j.t, err)
		require.NoError(j.t, json.Unmarshal(doc.Data, &holder))
		if holder.Session == entry.Session {
			return at
		}
	}
	return -1
}

// Results returns how many results of each job are in the repository of a collector.
func Results(client *http.Client, collector string) (map[string]int, error) {
	answer, err := client.Get(collector + "/training-results/m/1")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	var records []struct {
		Job string `json:"training_id"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&records); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, r := range records {
		found[r.Job]++
	}
	return found, nil
}

// Check looks at a job that has ended as a server does that is alone with what the others have
// left: each round is there once, and each that has aggregated has added one to every number,
// whichever clients took part.
func (j *Jobs) Check(id string) {
	t := j.t
	t.Helper()
	server, err := flcollect.NewServer(flcollect.Config{Documents: j.documents, Blobs: j.blobs})
	require.NoError(t, err)
	status, err := server.Status(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, report.Finished, status.State, "%s: %s", id, status.Error)
	require.Equal(t, int64(1), status.Run, id)
	records, err := server.Rounds(t.Context(), id, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, Rounds, id)
	aggregated := 0
	for i, r := range records {
		require.Equal(t, i+1, r.Number, id)
		if r.Aggregated {
			aggregated++
		}
	}
	require.Equal(t, aggregated, status.Aggregated, id)
	result, err := server.Result(t.Context(), id)
	require.NoError(t, err)
	numbers := result.Weights[0].Float64s()
	require.Len(t, numbers, size)
	for _, n := range numbers {
		require.Equal(t, float64(aggregated), n, id)
	}
	require.Greater(t, aggregated, Rounds/2, id)
	last := int64(0)
	for line, err := range server.Audit(t.Context(), id, 0) {
		require.NoError(t, err)
		require.NotEmpty(t, line)
		last++
	}
	require.GreaterOrEqual(t, last, int64(Rounds), id) // and one for each round that was lost
}
