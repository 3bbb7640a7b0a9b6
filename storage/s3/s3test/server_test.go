package s3test_test

import (
	"net/http"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func TestStartMinIOProcess_answersAgainAfterAKill(t *testing.T) {
	server := s3test.StartMinIOProcess(t)
	ready := func() error {
		answer, err := http.Get("http://" + server.Address() + "/")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	require.NoError(t, ready())
	server.Kill()
	require.Error(t, ready())
	server.Kill() // does nothing
	server.Restart()
	require.NoError(t, ready())
}

// buckets returns the names of the buckets of a server that no other test uses.
func buckets(t *testing.T, server *s3test.MinIO) []string {
	t.Helper()
	client, err := minio.New(server.Address(),
		&minio.Options{Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, "")})
	require.NoError(t, err)
	found, err := client.ListBuckets(t.Context())
	require.NoError(t, err)
	names := []string{}
	for _, bucket := range found {
		names = append(names, bucket.Name)
	}
	return names
}

func TestStartMinIO_leavesNothingOnASharedServer(t *testing.T) {
	shared := s3test.StartMinIOProcess(t)
	t.Setenv(s3test.AddressVariable, shared.Address())
	t.Run("a test", func(t *testing.T) {
		server := s3test.StartMinIO(t)
		require.Equal(t, shared.Address(), server.Address())
		unused := server.Bucket(t)
		for range 2 { // neither has what the other stores
			blobs := server.Open(t).Blobs()
			for info, err := range blobs.List(t.Context(), "") {
				require.NoError(t, err)
				require.Fail(t, "it is not empty", info.Key)
			}
			writer, err := blobs.Create(t.Context(), "key")
			require.NoError(t, err)
			_, err = writer.Write(make([]byte, 11<<20)) // of which two parts are sent
			require.NoError(t, err)
			_, err = writer.Commit(t.Context())
			require.NoError(t, err)
			forgotten, err := blobs.Create(t.Context(), "other")
			require.NoError(t, err)
			_, err = forgotten.Write(make([]byte, 11<<20))
			require.NoError(t, err)
		}
		require.Len(t, buckets(t, shared), 2)
		require.NotContains(t, buckets(t, shared), unused)
	})
	require.Empty(t, buckets(t, shared))
}

// refusal is a test that keeps why it failed.
type refusal struct {
	testing.TB
	failed string
}

func (r *refusal) Helper() {}

func (r *refusal) Fatal(args ...any) {
	r.failed = args[0].(string)
	panic(r)
}

func TestMinIO_Kill_sparesASharedServer(t *testing.T) {
	if peertest.Excluded() {
		t.Skip(peertest.ErrExcluded)
	}
	t.Setenv(s3test.AddressVariable, "127.0.0.1:1")
	r := &refusal{TB: t}
	server := s3test.StartMinIO(r)
	require.PanicsWithValue(t, r, server.Kill)
	require.Contains(t, r.failed, "StartMinIOProcess")
}
